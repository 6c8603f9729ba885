package clickhousesink

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
)

// rows are some of a block's, in its order: what one insert holds.
type rows struct {
	block *sink.Block
	index []int // of the rows in the block; nil: all from lo up to hi
	lo    int   // of index, if there is one
	hi    int
}

func all(b *sink.Block) rows { return rows{block: b, hi: b.Rows} }

func (r rows) count() int { return r.hi - r.lo }

// of is the index in the block of row i.
func (r rows) of(i int) int {
	if r.index == nil {
		return r.lo + i
	}
	return r.index[r.lo+i]
}

// part is the rows from i up to j.
func (r rows) part(i, j int) rows {
	r.lo, r.hi = r.lo+i, r.lo+j
	return r
}

// stretch is the longest run from row i on, of at most limit rows, that lies in
// one piece, and the row after it.
func (r rows) stretch(i, limit int) (data []byte, next int) {
	if i == 0 && r.count() == r.block.Rows && limit >= r.block.Rows {
		return r.block.Data, r.block.Rows // of a block without ends, too
	}
	first := r.of(i)
	next = i + 1
	if r.index == nil {
		next = min(i+limit, r.count())
	}
	for next < r.count() && next-i < limit && r.of(next) == first+next-i {
		next++
	}
	return r.block.Span(first, first+next-i), next
}

// bytes is the number of bytes that they have.
func (r rows) bytes() int64 {
	var n int64
	for i := 0; i < r.count(); {
		data, next := r.stretch(i, r.count())
		n, i = n+int64(len(data)), next
	}
	return n
}

// token names rows of a block, by where they are and what they are, so that a
// repeat has it again, and rows that another configuration put in their place
// have not.
func (r rows) token(block, place string) string {
	h := xxhash.New()
	for i := 0; i < r.count(); {
		data, next := r.stretch(i, r.count())
		_, _ = h.Write(data)
		i = next
	}
	return fmt.Sprintf("%s-%s-%016x", block, place, h.Sum64())
}

// source yields their bytes, one row after the other, after a header. Its
// pieces are views.
func (r rows) source(header []byte) source { return &rowsSource{rows: r, data: header} }

type rowsSource struct {
	rows
	at   int
	data []byte
}

func (r *rowsSource) next(limit int) (p []byte, err error) {
	for len(r.data) == 0 {
		if r.at >= r.count() {
			return nil, io.EOF
		}
		r.data, r.at = r.stretch(r.at, r.count())
	}
	p, r.data = cutAt(r.data, limit)
	return p, nil
}

// cutAt is the first limit bytes of b, and the others.
func cutAt(b []byte, limit int) (first, rest []byte) {
	n := min(limit, len(b))
	return b[:n], b[n:]
}

// within is how many of the rows from i on stay within limit rows and so many
// bytes; at least one.
func (r rows) within(i, limit, bytes int) int {
	limit = min(limit, r.count()-i)
	n := 1
	for size := len(r.block.Row(r.of(i))); n < limit; n++ {
		if size += len(r.block.Row(r.of(i + n))); size > bytes {
			break
		}
	}
	return n
}

// bounded is b with the ends of its rows, which it has unless it was made by
// hand.
func (s *Sink) bounded(b *sink.Block) (*sink.Block, error) {
	if len(b.Ends) == b.Rows {
		return b, nil
	}
	c := *b
	c.Base, c.Ends = 0, make([]int, 0, b.Rows)
	for at := 0; at < len(b.Data); {
		n, err := s.skip(b.Data[at:])
		if err != nil {
			return nil, failure.Errorf(failure.Unit, failure.SinkRejected, "write %s: row %d: %w", b.Token, len(c.Ends), err)
		}
		at += n
		c.Ends = append(c.Ends, at)
	}
	if len(c.Ends) != b.Rows {
		return nil, failure.Errorf(failure.Unit, failure.SinkRejected, "write %s: its data is of %d rows, not %d", b.Token, len(c.Ends), b.Rows)
	}
	return &c, nil
}

// skip is the length of the first row of data.
func (s *Sink) skip(data []byte) (int, error) {
	if s.o.Format != JSONEachRow {
		return s.made.Skip(data)
	}
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, nil
	}
	return len(data), nil
}

// text is a row as a person reads it.
func (s *Sink) text(row []byte) []byte {
	if s.o.Format == JSONEachRow {
		return bytes.TrimRight(slices.Clone(row), "\r\n")
	}
	text, err := s.made.AppendJSON(nil, row)
	if err != nil {
		return nil // what the encoder made, it reads
	}
	return text
}
