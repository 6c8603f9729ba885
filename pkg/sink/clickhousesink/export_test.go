package clickhousesink

import (
	"bytes"
	"fmt"
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

// KeyOf is a sharding key of rows.
func KeyOf(text string, made clickhouse.Rows) (func(row []byte) (uint64, error), error) {
	f, ok := parseFormula(text)
	if !ok {
		return nil, fmt.Errorf("%s is no key", text)
	}
	k, err := f.key(made)
	if err != nil {
		return nil, err
	}
	return k.of, nil
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
