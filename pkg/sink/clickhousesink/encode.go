package clickhousesink

import (
	"encoding/binary"
	"io"

	"github.com/spate-go/spate/pkg/clickhouse"
	"github.com/spate-go/spate/pkg/failure"
)

// content is the body that rows travel in to a server.
func (s *Sink) content(r rows, header []byte) *body {
	b := &body{size: -1, own: s.o.Format == Native || s.o.Compression != None}
	plain := func() source {
		if s.o.Format == Native {
			return s.native(r)
		}
		return r.source(header)
	}
	if !b.own {
		b.size = int64(len(header)) + r.bytes()
	}
	b.make = func() source { return s.pack.pack(plain()) }
	return b
}

// header names columns and types ahead of RowBinary rows. The server compares
// them with the table's at each insert: bytes that were made for other types
// would else be read as something, quietly.
func header(columns []Column) []byte {
	b := binary.AppendUvarint(nil, uint64(len(columns)))
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	for _, c := range columns {
		text(c.Name)
	}
	for _, c := range columns {
		text(c.Type)
	}
	return b
}

// Rows are turned into columns as many at once as make a block of this size:
// enough for runs of values, little enough to be held beside the rows whatever
// they are (INV-6), and to stay in the processor's cache.
const nativeBytes = 4 << 20

// native is the rows as blocks of columns. A column's values lie together in
// such a block, so it costs a copy, of that many rows at a time.
func (s *Sink) native(r rows) source {
	n, ok := s.natives.Get().(*natived)
	if !ok {
		enc, err := clickhouse.NewNative(s.made.Columns)
		if err != nil {
			return failing{err}
		}
		n = &natived{enc: enc}
		n.rows, n.bytes = enc.Fit(nativeBytes)
	}
	return &nativeSource{s: s, of: r, natived: n}
}

// natived is what the next insert uses again.
type natived struct {
	enc   *clickhouse.Native
	rows  int // at once
	bytes int
	in    []byte
	data  []byte
}

type nativeSource struct {
	s  *Sink
	of rows
	at int // the next row
	*natived
	left []byte // of data
}

func (r *nativeSource) next(limit int) (p []byte, err error) {
	for len(r.left) == 0 {
		if r.natived == nil || r.at >= r.of.count() {
			return nil, io.EOF
		}
		if err := r.turn(); err != nil {
			return nil, err
		}
	}
	p, r.left = cutAt(r.left, limit)
	return p, nil
}

// turn makes a block of the next rows: of those in one piece without copying.
func (r *nativeSource) turn() (err error) {
	count := r.of.within(r.at, r.rows, r.bytes)
	end := r.at + count
	data, next := r.of.stretch(r.at, count)
	if next < end {
		r.in = append(r.in[:0], data...)
		for next < end {
			data, next = r.of.stretch(next, end-next)
			r.in = append(r.in, data...)
		}
		data = r.in
	}
	r.at = end
	r.data, err = r.enc.Append(r.data[:0], data, count)
	r.left = r.data
	return failure.New(failure.Unit, failure.SinkRejected, err)
}

// Close gives the buffers to the next insert, unless a long row has made them
// larger than they need be.
func (r *nativeSource) Close() error {
	if r.natived != nil {
		if cap(r.in)+cap(r.data) > 4*nativeBytes {
			r.in, r.data = nil, nil
		}
		r.s.natives.Put(r.natived)
		r.natived, r.left = nil, nil
	}
	return nil
}

type failing struct{ err error }

func (f failing) next(int) ([]byte, error) { return nil, f.err }
