package clickhousesink

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/spate-go/spate/pkg/clickhouse"
)

// content is the body that rows travel in to a server.
func (s *Sink) content(r rows, header []byte) *body {
	b := &body{size: -1}
	plain := func() io.Reader {
		if s.o.Format == Native {
			return s.native(r)
		}
		return io.MultiReader(bytes.NewReader(header), r.reader())
	}
	if s.o.Format != Native && s.o.Compression == None {
		b.size = int64(len(header)) + r.bytes()
	}
	b.make = func() io.Reader { return s.pack.reader(plain()) }
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

// nativeRows are turned into columns at once: enough for runs of values, little
// enough to be held beside the block.
const nativeRows = 65536

// native is the rows as blocks of columns. A column's values lie together in
// such a block, so it costs a copy, of so many rows at a time.
func (s *Sink) native(r rows) io.Reader {
	n, ok := s.natives.Get().(*natived)
	if !ok {
		enc, err := clickhouse.NewNative(s.made.Columns)
		if err != nil {
			return failing{err}
		}
		n = &natived{enc: enc}
	}
	return &nativeReader{s: s, rows: r, natived: n}
}

// natived is what the next insert uses again.
type natived struct {
	enc  *clickhouse.Native
	in   []byte
	data []byte
}

type nativeReader struct {
	s    *Sink
	rows rows
	at   int // the next row
	*natived
	left []byte // of data
}

func (r *nativeReader) Read(p []byte) (int, error) {
	for len(r.left) == 0 {
		if r.natived == nil || r.at >= r.rows.count() {
			return 0, io.EOF
		}
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

// next makes a block of the next rows: of those in one piece without copying.
func (r *nativeReader) next() (err error) {
	end := min(r.at+nativeRows, r.rows.count())
	count := end - r.at
	data, next := r.rows.stretch(r.at, count)
	if next < end {
		r.in = append(r.in[:0], data...)
		for next < end {
			data, next = r.rows.stretch(next, end-next)
			r.in = append(r.in, data...)
		}
		data = r.in
	}
	r.at = end
	r.data, err = r.enc.Append(r.data[:0], data, count)
	r.left = r.data
	return err
}

// Close gives the buffers to the next insert.
func (r *nativeReader) Close() error {
	if r.natived != nil {
		r.s.natives.Put(r.natived)
		r.natived, r.left = nil, nil
	}
	return nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
