package clickhouse

import "github.com/spate-go/spate/pkg/jsontext"

// Rows reads rows of either format back.
type Rows struct {
	Columns  Columns
	Defaults bool // RowBinaryWithDefaults; false: RowBinary
}

// AppendJSON appends a RowBinary row as a JSON object. Encoded again it gives
// the same row, as far as its strings are UTF-8.
func (c Columns) AppendJSON(dst, row []byte) ([]byte, error) {
	return Rows{Columns: c}.AppendJSON(dst, row)
}

// Value is column i of a RowBinary row, as encoded: a view of row.
func (c Columns) Value(row []byte, i int) ([]byte, error) { return Rows{Columns: c}.Value(row, i) }

// Skip is the length of the row that b begins with.
func (c Columns) Skip(b []byte) (int, error) { return Rows{Columns: c}.Skip(b) }

// AppendJSON is Columns.AppendJSON for either format. A value that is the
// DEFAULT is left out.
func (r Rows) AppendJSON(dst, row []byte) ([]byte, error) {
	if n, err := r.Skip(row); err != nil || n != len(row) {
		return dst, errRow
	}
	dst = append(dst, '{')
	first := true
	for i := range r.Columns {
		if r.Defaults {
			absent := row[0] == 1
			if row = row[1:]; absent {
				continue
			}
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(jsontext.AppendQuoted(dst, r.Columns[i].Name), ':')
		dst, row = r.Columns[i].Type.coder.render(dst, row)
	}
	return append(dst, '}'), nil
}

// Value is Columns.Value for either format; nil stands for the DEFAULT.
func (r Rows) Value(row []byte, i int) ([]byte, error) {
	at := 0
	for k := range i {
		if at = r.skip(row, at, k); at < 0 {
			return nil, errRow
		}
	}
	end := r.skip(row, at, i)
	if end < 0 {
		return nil, errRow
	}
	if !r.Defaults {
		return row[at:end:end], nil
	}
	if row[at] == 1 {
		return nil, nil
	}
	return row[at+1 : end : end], nil
}

// Skip is Columns.Skip for either format.
func (r Rows) Skip(b []byte) (int, error) {
	at := 0
	for i := range r.Columns {
		if at = r.skip(b, at, i); at < 0 {
			return 0, errRow
		}
	}
	return at, nil
}

// skip returns the end of column i, whose value is at at, or -1.
func (r Rows) skip(b []byte, at, i int) int {
	if r.Defaults {
		switch {
		case at >= len(b) || b[at] > 1:
			return -1
		case b[at] == 1:
			return at + 1
		}
		at++
	}
	return r.Columns[i].Type.shape.skip(b, at)
}
