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

// clickHouseTable is an opened ClickHouse sink, with how its rows are made.
type clickHouseTable struct {
	*clickhousesink.Sink
	// rows makes rows of records; nil if the chain in Go makes them, or they are JSON.
	rows *clickhouse.RowEncoder
	// fills are the columns that are filled, and with what.
	fills []fill
	// unused are the members of rows that no column takes.
	unused []string
}

// fill says where the values of a column come from.
type fill struct{ column, path string }

// openTable opens the section's sink. If the section does not say what rows are
// made of, the table's columns do: those that the rows have a member for, or
// all of them if it is not known what members the rows have.
func openTable(ctx context.Context, c *Config, p Pipeline, s *ClickHouseSinkConfig) (*clickHouseTable, error) {
	if err := c.fits(p, s); err != nil {
		return nil, err
	}
	t, o := &clickHouseTable{}, s.options()
	o.Types = p.Columns
	made := p.Chain == nil && !c.passesRaw()
	if made {
		members, known := exprchain.Members(c.steps(), c.chainOptions())
		o.Choose = func(table []clickhousesink.Column) (names []string, defaults bool, err error) {
			t.fillFrom(s, table, members, known)
			return t.choose(s, table)
		}
	}
	var err error
	if t.Sink, err = clickhousesink.New(ctx, o); err != nil {
		return nil, err
	}
	if made && !s.lines() {
		err = t.makeRows()
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// lines reports whether rows are sent as the JSON that they are.
func (s *ClickHouseSinkConfig) lines() bool {
	return s.Format == string(clickhousesink.JSONEachRow)
}

// fits refuses rows of a form that the table does not take.
func (c *Config) fits(p Pipeline, s *ClickHouseSinkConfig) error {
	lines := s.lines()
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

// fillFrom decides what the columns of the table are filled with.
func (t *clickHouseTable) fillFrom(s *ClickHouseSinkConfig, table []clickhousesink.Column, members []string, known bool) {
	for _, pair := range s.Columns {
		t.fills = append(t.fills, fill{pair.Key, pair.Value})
	}
	if s.Columns != nil {
		return
	}
	used := map[string]bool{}
	for _, column := range table {
		// A column of a Nested is called after the member that holds its own.
		head, _, nested := strings.Cut(column.Name, ".")
		switch {
		case !column.Fillable():
		case !known:
			t.fills = append(t.fills, fill{column.Name, exprchain.MemberPath(column.Name)})
		case slices.Contains(members, column.Name):
			t.fills = append(t.fills, fill{column.Name, whole(column.Name)})
			used[column.Name] = true
		case nested && slices.Contains(members, head):
			t.fills = append(t.fills, fill{column.Name, exprchain.MemberPath(column.Name)})
			used[head] = true
		}
	}
	for _, m := range members {
		if known && !used[m] {
			t.unused = append(t.unused, m)
		}
	}
}

// choose returns the columns that are filled, and whether the server fills some
// of them if a record has nothing for them.
func (t *clickHouseTable) choose(s *ClickHouseSinkConfig, table []clickhousesink.Column) (names []string, defaults bool, err error) {
	unused := strings.Join(t.unused, ", ")
	switch skip := s.Settings[skipUnknown]; {
	case len(t.fills) == 0 && len(t.unused) > 0:
		return nil, false, fmt.Errorf("no member of the rows is a column of %s: they have %s", s.Table, unused)
	case s.lines() && len(t.unused) > 0 && (skip == "" || skip == "0" || skip == "false"):
		return nil, false, fmt.Errorf("no column of %s takes %s, and the server refuses lines of JSON that have more than columns: drop them from the chain's rows, or set settings: {%s: \"1\"}",
			s.Table, unused, skipUnknown)
	}
	for _, f := range t.fills {
		i := slices.IndexFunc(table, func(c clickhousesink.Column) bool { return c.Name == f.column })
		names = append(names, f.column)
		defaults = defaults || i >= 0 && table[i].Kind == "DEFAULT"
	}
	return names, defaults && (s.Format == "" || s.Format == string(clickhousesink.RowBinary)), nil
}

// skipUnknown is the setting that has the server leave out members that have no
// column.
const skipUnknown = "input_format_skip_unknown_fields"

// makeRows makes the encoder for the columns that the sink has.
func (t *clickHouseTable) makeRows() (err error) {
	rows := t.Rows()
	o := clickhouse.RowOptions{Defaults: rows.Defaults}
	if slices.ContainsFunc(rows.Columns, func(c clickhouse.Column) bool { return c.Type.Zoneless() }) {
		if o.Zone, err = t.Description().Zone(); err != nil {
			return err
		}
	}
	t.rows, err = clickhouse.NewRowEncoder(rows.Columns, o)
	return err
}

// encoder makes the chain's rows; nil if the chain makes lines or rows of its
// own.
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

// rowEncoder is a RowEncoder that knows where in a record its values are.
type rowEncoder struct {
	*clickhouse.RowEncoder
	paths []string
}

// Columns implements [exprchain.Encoder].
func (e *rowEncoder) Columns() []string { return e.paths }

// log warns of what a person should know before rows are written.
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
