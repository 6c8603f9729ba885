package clickhousesink_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/spate-go/spate/pkg/sink/clickhousesink"
)

// BenchmarkWrite is what a block of 500,000 rows costs before the network.
func BenchmarkWrite(b *testing.B) {
	rows := block(0, 0, 500_000)
	for _, format := range []clickhousesink.Format{clickhousesink.RowBinary, clickhousesink.Native} {
		for _, c := range []clickhousesink.Compression{clickhousesink.None, clickhousesink.LZ4, clickhousesink.Zstd, clickhousesink.Gzip} {
			b.Run(fmt.Sprintf("%s %s", format, c), func(b *testing.B) {
				s := newServer(nil, wide()...)
				s.script = func(int, *http.Request) step {
					return step{before: func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }}
				}
				o := options(s)
				o.Format, o.Compression = format, c
				opened, err := clickhousesink.New(b.Context(), o)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(rows.Data)))
				b.ReportAllocs()
				for b.Loop() {
					if err := opened.Write(b.Context(), rows); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
