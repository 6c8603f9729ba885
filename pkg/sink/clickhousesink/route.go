package clickhousesink

import (
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/spate-go/spate/pkg/failure"
)

// part is a block's rows of one shard.
type part struct {
	shard *shard
	rows  rows
	token string
}

func shardMark(i int) string { return fmt.Sprintf("s%d.", i) }

// route divides a block among the shards, rows in their order. With one shard
// its rows are one part, under their own token.
func (s *Sink) route(w *writing) ([]part, error) {
	b := w.block
	given, token, err := s.objects(w)
	if err != nil || given.count() == 0 {
		return nil, err
	}
	if len(s.shards) == 1 {
		return []part{{s.shards[0], given, token}}, nil
	}
	if s.key == nil {
		// Any shard will do, but the same one each time: repeats are recognised by
		// the servers of one shard only. Its token says which.
		i := s.slots[xxhash.Sum64String(b.Token)%uint64(len(s.slots))]
		return []part{{s.shards[i], given, token}}, nil
	}
	index := make([][]int, len(s.shards))
	for row := range b.Rows {
		h, err := s.key.of(b.Row(row))
		if err != nil {
			return nil, failure.Errorf(failure.Unit, failure.SinkRejected, "write %s: sharding key of row %d: %w", b.Token, row, err)
		}
		i := s.slots[h%uint64(len(s.slots))]
		index[i] = append(index[i], row)
	}
	var parts []part
	for i, of := range index {
		if len(of) == 0 {
			continue
		}
		r := rows{block: b, index: of, hi: len(of)}
		parts = append(parts, part{s.shards[i], r, r.token(b.Token, s.shards[i].mark+"all")})
	}
	return parts, nil
}
