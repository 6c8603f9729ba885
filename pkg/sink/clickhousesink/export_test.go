package clickhousesink

import (
	"bytes"
	"time"

	"github.com/spate-go/spate/pkg/clickhouse"
)

// Stale makes what the sink knows of its servers' columns old.
func Stale(s *Sink) {
	for _, sh := range s.shards {
		for _, r := range sh.replicas {
			r.looked = time.Time{}
		}
	}
}

// HashOf is a server's function on a value.
func HashOf(function string, t *clickhouse.Type, value []byte) (uint64, error) {
	f, err := hashOf(function, t)
	if err != nil {
		return 0, err
	}
	return f(value)
}

// LZ4Blocks are the blocks of data that comes in such pieces.
func LZ4Blocks(data []byte, piece int) []byte {
	var out bytes.Buffer
	z := newLZ4Writer()
	z.Reset(&out)
	for len(data) > 0 {
		n := min(piece, len(data))
		_, _ = z.Write(data[:n]) // to memory
		data = data[n:]
	}
	_ = z.Close()
	return out.Bytes()
}
