package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/spate-go/spate/pkg/chain/exprchain"
	"github.com/spate-go/spate/pkg/clickhouse"
	"github.com/spate-go/spate/pkg/sink/clickhousesink"
)

// clickHouseTable is an opened sink of ClickHouse with how its rows are made.
type clickHouseTable struct {
	*clickhousesink.Sink
	// rows make rows of records; nil where those come made: from Go, or as JSON.
	rows *clickhouse.RowEncoder
	// fills are the columns of a row and what they are made of.
	fills []fill
	// unused are members of rows that no column takes.
	unused []string
}

// fill is where the values of a column come from.
type fill struct{ column, path string }

// openTable opens the sink of the section. The table's own columns say what rows
// are made of, as far as the section does not: of those that the rows have a
// member for, where it is known what members they have, or else of all.
func openTable(ctx context.Context, c *Config, p Pipeline, s *ClickHouseSinkConfig) (*clickHouseTable, error) {
	if err := c.fits(p, s); err != nil {
		return nil, err
	}
	o := s.options()
	o.Types = p.Columns
	for _, pair := range s.Columns {
		o.Columns = append(o.Columns, pair.Key)
	}
	opened, err := clickhousesink.New(ctx, o)
	if err != nil {
		return nil, err
	}
	t := &clickHouseTable{Sink: opened}
	if p.Chain != nil || c.passesRaw() {
		return t, nil
	}
	members, known := exprchain.Members(c.steps(), c.chainOptions())
	again := t.fillFrom(s, members, known)
	if again, err = t.adapt(&o, again); err == nil && again {
		_ = opened.Close() // it has written nothing
		t.Sink, err = clickhousesink.New(ctx, o)
	}
	if err == nil && o.Format != clickhousesink.JSONEachRow {
		err = t.makeRows(o.Defaults)
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return t, nil
}

// fits refuses rows that are of another form than the table takes.
func (c *Config) fits(p Pipeline, s *ClickHouseSinkConfig) error {
	lines := s.Format == string(clickhousesink.JSONEachRow)
	switch {
	case p.Chain != nil && p.Columns == nil && !lines:
		return errors.New("the chain is written in Go, and nothing says what its rows are: set Pipeline.Columns to those of its clickhouse.Encoder, or format: json_each_row for lines of JSON")
	case p.Chain != nil && p.Columns != nil && (lines || s.Columns != nil):
		return errors.New("the chain is written in Go, and its encoder says the columns of rows: leave out columns, and format: json_each_row")
	case p.Chain == nil && c.passesRaw() && !lines:
		return errors.New("records pass as they are, and rows are to be made of them: add decode: {json: {}}, or format: json_each_row where they are JSON objects with the table's columns")
	}
	return nil
}

// fillFrom settles what the columns are made of, and reports whether these are
// other columns than the sink was opened with.
func (t *clickHouseTable) fillFrom(s *ClickHouseSinkConfig, members []string, known bool) (others bool) {
	if s.Columns != nil {
		for _, pair := range s.Columns {
			t.fills = append(t.fills, fill{pair.Key, pair.Value})
		}
		return false
	}
	left := slices.Clone(members)
	for _, column := range t.Description().Columns {
		switch {
		case !column.Used:
		case !known:
			t.fills = append(t.fills, fill{column.Name, exprchain.MemberPath(column.Name)})
		case slices.Contains(members, column.Name):
			t.fills = append(t.fills, fill{column.Name, whole(column.Name)})
			left = slices.DeleteFunc(left, func(m string) bool { return m == column.Name })
		default:
			others = true
		}
	}
	if known {
		t.unused = left
	}
	return others
}

// adapt puts into o what the table's columns ask for, and reports whether the
// sink has to be opened again for it.
func (t *clickHouseTable) adapt(o *clickhousesink.Options, others bool) (again bool, err error) {
	if len(t.fills) == 0 {
		d := t.Description()
		return false, fmt.Errorf("no member of the rows is a column of %s.%s: they have %s", d.Database, d.Table, strings.Join(t.unused, ", "))
	}
	if others {
		o.Columns = nil
		for _, f := range t.fills {
			o.Columns = append(o.Columns, f.column)
		}
	}
	if o.Format == "" || o.Format == clickhousesink.RowBinary {
		for _, column := range t.Description().Columns {
			if column.Kind == "DEFAULT" && slices.ContainsFunc(t.fills, func(f fill) bool { return f.column == column.Name }) {
				o.Defaults = true
			}
		}
	}
	return others || o.Defaults, nil
}

// makeRows makes the encoder for the columns that the sink has.
func (t *clickHouseTable) makeRows(defaults bool) error {
	zone, err := t.Description().Zone()
	if err != nil {
		return err
	}
	t.rows, err = clickhouse.NewRowEncoder(t.Sink.Columns(), clickhouse.RowOptions{Zone: zone, Defaults: defaults})
	return err
}

// encoder is what the chain makes rows with, nil if it makes lines or its own.
func (t *clickHouseTable) encoder() exprchain.Encoder {
	if t.rows == nil {
		return nil
	}
	e := &rowEncoder{RowEncoder: t.rows}
	for _, f := range t.fills {
		e.paths = append(e.paths, f.path)
	}
	return e
}

// rowEncoder is an encoder of rows by where their values are in a record.
type rowEncoder struct {
	*clickhouse.RowEncoder
	paths []string
}

// Columns implements [exprchain.Encoder].
func (e *rowEncoder) Columns() []string { return e.paths }

// log says what a person should know before rows are written.
func (t *clickHouseTable) log(log *slog.Logger, name string) {
	for _, f := range t.Description().Findings {
		if f.Warning {
			log.Warn("clickhouse table", "sink", name, "finding", f.Text)
		}
	}
	if len(t.unused) > 0 {
		log.Warn("members of rows have no column and are left out", "sink", name, "members", strings.Join(t.unused, ", "))
	}
}

// whole is the path of the member that is called name, dots and all.
func whole(name string) string {
	if !strings.Contains(name, ".") {
		return exprchain.MemberPath(name)
	}
	return "this[" + strconv.Quote(name) + "]"
}
