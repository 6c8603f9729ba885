package clickhouse

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Native turns rows of RowBinary into blocks of Native as the HTTP interface
// reads them: column by column. LowCardinality travels as what it holds and
// JSON as String; the server converts them, which it does unless
// input_format_native_allow_types_conversion is off.
//
// Rows are gone through twice: for the lengths of the columns, so that a block
// takes no more memory than its own, and to fill them. A Native is used by one
// goroutine at a time.
type Native struct {
	columns []column
	runs    []run
	at      []int    // where each run goes on in the block, or its length
	lists   []uint64 // by run of offsets: elements so far
}

// column is a column of the block: its head, and its runs.
type column struct {
	shape *shape
	head  []byte // name and type
	first int    // run
}

// run is a contiguous stretch of a block: a column has one, and one more for
// each array, each Nullable and each element of a tuple in it.
type run struct {
	column int
	width  int // of each value; 0 where they differ
}

// NewNative returns one for rows of cols.
func NewNative(cols Columns) (*Native, error) {
	if len(cols) == 0 {
		return nil, fmt.Errorf("make blocks: there are no columns")
	}
	n := &Native{}
	for i := range cols {
		t := cols[i].Type
		head := appendBytes(appendBytes(nil, []byte(cols[i].Name)), []byte(t.native()))
		n.columns = append(n.columns, column{t.shape, head, len(n.runs)})
		n.add(t.shape, i)
	}
	n.at = make([]int, len(n.runs))
	n.lists = make([]uint64, len(n.runs))
	return n, nil
}

// add numbers the runs of a shape in the order in which they lie in the block.
func (n *Native) add(s *shape, column int) {
	switch s.op {
	case opFixed:
		n.runs = append(n.runs, run{column, s.width})
	case opBytes:
		n.runs = append(n.runs, run{column, 0})
	case opOptional:
		n.runs = append(n.runs, run{column, 1})
	case opList:
		n.runs = append(n.runs, run{column, 8})
	case opRecord:
	}
	for _, p := range s.parts {
		n.add(p, column)
	}
}

// Fit is how many rows, and how many bytes of them, make a block of at most
// twice size, give or take a row: a NULL takes the room of a value too, and an
// array that of its end.
func (n *Native) Fit(size int) (rows, bytes int) {
	pad, gain := 0, 0
	for i := range n.columns {
		p, g := n.columns[i].shape.growth()
		pad, gain = pad+p, max(gain, g)
	}
	return size / max(pad, 1), size / (1 + gain)
}

// growth is how many bytes a value may have more in a block than in its row, and
// how many more each byte of an array may have.
func (s *shape) growth() (pad, gain int) {
	for _, p := range s.parts {
		more, g := p.growth()
		pad, gain = pad+more, max(gain, g)
	}
	switch s.op {
	case opOptional:
		pad += len(s.zero)
	case opList:
		pad, gain = 8, pad+gain
	case opFixed, opBytes, opRecord:
	}
	return pad, gain
}

// Append appends one block of the count rows that rows holds.
func (n *Native) Append(dst, rows []byte, count int) ([]byte, error) {
	clear(n.at)
	i := 0
	for range count {
		if i = n.measureRow(rows, i); i < 0 {
			return dst, errRow
		}
	}
	if i != len(rows) {
		return dst, errRow
	}
	dst = n.lay(dst, count)
	clear(n.lists)
	i = 0
	for range count {
		i = n.fillRow(dst, rows, i)
	}
	return dst, nil
}

// lay appends the heads of the block's columns and room for their runs, and
// turns lengths into places.
func (n *Native) lay(dst []byte, count int) []byte {
	size := 2 * binary.MaxVarintLen64
	for k := range n.columns {
		size += len(n.columns[k].head)
	}
	for _, length := range n.at {
		size += length
	}
	dst = slices.Grow(dst, size)
	dst = binary.AppendUvarint(dst, uint64(len(n.columns)))
	dst = binary.AppendUvarint(dst, uint64(count))
	column := -1
	for r := range n.runs {
		if c := n.runs[r].column; c != column {
			dst, column = append(dst, n.columns[c].head...), c
		}
		length := n.at[r]
		n.at[r] = len(dst)
		dst = dst[:len(dst)+length]
	}
	return dst
}

// native is the type that the block says a column has.
func (t *Type) native() string {
	switch t.name {
	case "JSON":
		return "String"
	case "LowCardinality", "SimpleAggregateFunction":
		return t.args[0].native()
	case "Nullable", "Array", "Map", "Tuple", "Nested":
		parts := make([]string, len(t.args))
		for i, a := range t.args {
			if parts[i] = a.native(); t.names != nil {
				parts[i] = identifier(t.names[i]) + " " + parts[i]
			}
		}
		return t.name + "(" + strings.Join(parts, ", ") + ")"
	}
	return t.text
}
