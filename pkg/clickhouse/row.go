package clickhouse

import (
	"fmt"
	"time"
)

// RowOptions tune a RowEncoder. The zero value is ready.
type RowOptions struct {
	// Zone is the time zone of DateTime columns that name none. Nil: UTC.
	Zone *time.Location
	// Defaults makes rows of RowBinaryWithDefaults, in which an absent value is
	// what the column's DEFAULT makes, or the type's default if the column has
	// none. False: RowBinary.
	Defaults bool
}

// RowEncoder makes rows of JSON values. It is immutable, and so safe for
// concurrent use.
type RowEncoder struct {
	columns  Columns
	coders   []coder
	defaults bool
}

// NewRowEncoder returns an encoder of rows of cols.
func NewRowEncoder(cols Columns, o RowOptions) (*RowEncoder, error) {
	if len(cols) == 0 {
		return nil, fmt.Errorf("make rows: there are no columns")
	}
	e := &RowEncoder{columns: cols, defaults: o.Defaults}
	for i := range cols {
		t := cols[i].Type
		if t.zones && o.Zone != nil {
			var err error
			if t, err = parseType(t.text, o.Zone); err != nil {
				return nil, err
			}
		}
		e.coders = append(e.coders, t.coder)
	}
	return e, nil
}

// Columns are those of the rows, in their order.
func (e *RowEncoder) Columns() Columns { return e.columns }

// Append appends a row. values[i] is the JSON text of column i, valid and with
// no space around it; nil where the field is absent. An error is a *ValueError,
// and dst is then as it was.
func (e *RowEncoder) Append(dst []byte, values [][]byte) ([]byte, error) {
	if len(values) != len(e.coders) {
		return dst, fmt.Errorf("make row: %d values for %d columns", len(values), len(e.coders))
	}
	start := len(dst)
	for i, c := range e.coders {
		raw := values[i]
		if e.defaults {
			// For a column without a DEFAULT the server would make zero bytes,
			// and an Enum need not have a 0.
			if raw == nil && e.columns[i].Default != "" {
				dst = append(dst, 1)
				continue
			}
			dst = append(dst, 0)
		}
		if raw == nil {
			dst = c.zero(dst)
			continue
		}
		var err error
		if dst, err = appendValue(c, dst, raw); err != nil {
			return dst[:start], e.columns.fault(i, raw, err)
		}
	}
	return dst, nil
}

func (c Columns) fault(i int, raw []byte, err error) error {
	return &ValueError{Column: c[i].Name, Type: c[i].Type, Value: shown(raw), Err: err}
}
