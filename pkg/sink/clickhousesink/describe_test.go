package clickhousesink_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/clickhouse"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/clickhousesink"
)

func kinds() []column {
	return []column{
		{"id", "Int32", ""}, {"name", "String", "DEFAULT"}, {"day", "Date", "MATERIALIZED"}, {"also", "Int32", "ALIAS"}, {"raw", "String", "EPHEMERAL"},
	}
}

func TestColumnsAreThoseThatCanBeWrittenTo(t *testing.T) {
	s := newServer(t, kinds()...)
	opened := open(t, options(s))
	if got := opened.Rows().Columns.Names(); !slices.Equal(got, []string{"id", "name"}) {
		t.Errorf("columns %v", got)
	}
	d := opened.Description()
	want := clickhousesink.Column{Name: "name", Type: "String", Kind: "DEFAULT", Used: true}
	if d.Version != "26.9.2.1" || d.Timezone != "UTC" || d.Database != "db" || d.Table != "events" || d.Engine != "MergeTree" || len(d.Columns) != 5 || d.Columns[1] != want || d.Columns[2].Used {
		t.Errorf("description %+v", d)
	}
	if z, err := d.Zone(); err != nil || z.String() != "UTC" {
		t.Errorf("zone %v, %v", z, err)
	}
	o := options(s)
	o.Columns = []string{"raw", "id"} // in this order, and the ephemeral one by its name
	opened = open(t, o)
	if got := opened.Rows().Columns.Names(); !slices.Equal(got, o.Columns) {
		t.Errorf("columns %v", got)
	}
	finds(t, opened, false, "take their defaults: name")
	o = options(s)
	o.Table, o.Database = "events", "" // the user's default
	if d := open(t, o).Description(); d.Database != "db" {
		t.Errorf("database %s", d.Database)
	}
}

// chosen takes these columns of any table.
func chosen(names ...string) func([]clickhousesink.Column) ([]string, bool, error) {
	return func([]clickhousesink.Column) ([]string, bool, error) { return names, false, nil }
}

func TestColumnsAreChosenOnceTheTableIsKnown(t *testing.T) {
	s := newServer(t, append(kinds(), column{"odd", "Variant(Int8, String)", "DEFAULT"})...)
	o := options(s)
	o.Choose = func(table []clickhousesink.Column) (names []string, defaults bool, err error) {
		for _, c := range table {
			if c.Fillable() && c.Name != "odd" {
				names, defaults = append(names, c.Name), defaults || c.Kind == "DEFAULT"
			}
		}
		return names, defaults, nil
	}
	opened := open(t, o)
	if rows := opened.Rows(); !slices.Equal(rows.Columns.Names(), []string{"id", "name"}) || !rows.Defaults {
		t.Errorf("rows of %v", rows)
	}
	finds(t, opened, false, "take their defaults: odd")
	if n := len(slices.DeleteFunc(slices.Clone(s.looks), func(sql string) bool { return !strings.HasPrefix(sql, "DESCRIBE") })); n != 1 {
		t.Errorf("it looked at the columns %d times", n)
	}
	b := &sink.Block{Unit: unitID, Token: "token", Rows: 1, Data: []byte("\x00\x07\x00\x00\x00\x01"), Ends: []int{6}}
	write(t, opened, b)
	if got := s.contents("db.events"); len(got) != 1 || got[0] != `{"id":7,"name":""}` {
		t.Errorf("rows %v", got)
	}
	no := errors.New("none will do")
	o.Choose = func([]clickhousesink.Column) ([]string, bool, error) { return nil, false, no }
	if _, err := clickhousesink.New(t.Context(), o); err != no {
		t.Errorf("got %v", err)
	}
	o.Choose, o.Format = func([]clickhousesink.Column) ([]string, bool, error) { return []string{"id"}, true, nil }, clickhousesink.Native
	_, err := clickhousesink.New(t.Context(), o)
	expect(t, err, failure.Job, failure.Config, "no form in native")
}

// What a table's comments and defaults say is not said by the server.
func TestATableMaySpeakOfCodes(t *testing.T) {
	s := newServer(t, wide()...)
	s.events().create = "CREATE TABLE db.events (`id` Int32 COMMENT 'HTTP Code: 404, or so')"
	s.events().columns[1].Kind = "Code: 60, they say"
	if got := open(t, options(s)).Rows().Columns.Names(); len(got) != 2 {
		t.Errorf("columns %v", got)
	}
	for text, reason := range map[string]failure.Reason{
		"{\"name\":\"id\"}\nCode: 60. DB::Exception: gone. (UNKNOWN_TABLE)\n":        failure.Schema,
		"{\"name\":\"id\"}\n{\"exception\":\"Code: 497. DB::Exception: not you\"}\n": failure.Denied,
	} {
		o := options(s)
		o.Transport = trip{map[string]http.Handler{"ch:8123": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasPrefix(r.URL.Query().Get("query"), "DESCRIBE") {
				s.ServeHTTP(w, r)
				return
			}
			_, _ = fmt.Fprint(w, text)
		})}}
		_, err := clickhousesink.New(t.Context(), o)
		expect(t, err, failure.Job, reason)
	}
}

func TestTablesThatDoNotFitAreRefused(t *testing.T) {
	typed := func(name, kind string) clickhouse.Columns {
		c, err := clickhouse.ParseType(kind)
		if err != nil {
			t.Fatal(err)
		}
		return clickhouse.Columns{{Name: name, Type: c}}
	}
	for name, c := range map[string]struct {
		columns []column
		change  func(*clickhousesink.Options)
		reason  failure.Reason
		says    string
	}{
		"no such table":         {nil, func(o *clickhousesink.Options) { o.Table = "db.other" }, failure.Schema, "db.other does not exist"},
		"no such column":        {nil, func(o *clickhousesink.Options) { o.Columns = []string{"id", "nmae"} }, failure.Schema, "no column nmae, but id, name"},
		"materialized":          {nil, func(o *clickhousesink.Options) { o.Columns = []string{"day"} }, failure.Schema, "column day is MATERIALIZED"},
		"alias":                 {nil, func(o *clickhousesink.Options) { o.Columns = []string{"also"} }, failure.Schema, "column also is ALIAS"},
		"a state":               {[]column{{"sum", "AggregateFunction(sum, UInt64)", ""}}, nil, failure.Schema, "engine Null with a materialized view"},
		"nothing to write to":   {[]column{{"day", "Date", "MATERIALIZED"}}, nil, failure.Schema, "no column is left"},
		"typed, other name":     {nil, func(o *clickhousesink.Options) { o.Types = typed("nmae", "String") }, failure.Schema, "no column nmae"},
		"typed, other type":     {nil, func(o *clickhousesink.Options) { o.Types = typed("id", "Int64") }, failure.Schema, "column id is Int32, and rows have Int64"},
		"typed, NULL":           {nil, func(o *clickhousesink.Options) { o.Types = typed("id", "Nullable(Int32)") }, failure.Schema, "may be NULL"},
		"typed, and not NULL":   {[]column{{"id", "Nullable(Int32)", ""}}, func(o *clickhousesink.Options) { o.Types = typed("id", "Int32") }, failure.Schema, "may be NULL"},
		"no way to wait for it": {nil, func(o *clickhousesink.Options) { o.AsyncInsert = clickhousesink.AsyncWait }, failure.Config, "async_insert"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, kinds()...)
			s.knows = slices.DeleteFunc(s.knows, func(n string) bool { return strings.Contains(n, "async") })
			if c.columns != nil {
				s.events().columns = c.columns
			}
			o := options(s)
			if c.change != nil {
				c.change(&o)
			}
			_, err := clickhousesink.New(t.Context(), o)
			expect(t, err, failure.Job, c.reason, c.says, "then resume the job")
		})
	}
	o := options(newServer(t, kinds()...))
	o.Types = typed("id", "Int32")
	open(t, o)
}

// replicas are servers under the hosts a, b, c.
func replicas(o *clickhousesink.Options, servers ...*server) {
	hosts := map[string]http.Handler{}
	o.Shards = []clickhousesink.Shard{{}}
	for i, s := range servers {
		host := string(rune('a'+i)) + ":8123"
		if s != nil {
			hosts[host] = s
		}
		o.Shards[0].Replicas = append(o.Shards[0].Replicas, "http://"+host)
	}
	o.Transport = trip{hosts}
}

func TestReplicasThatDifferAreNamed(t *testing.T) {
	for says, change := range map[string]func(*table){
		"column name is missing":        func(t *table) { t.columns = t.columns[:1] },
		"column name is FixedString(3)": func(t *table) { t.columns = []column{t.columns[0], {"name", "FixedString(3)", ""}} },
		"column id is MATERIALIZED":     func(t *table) { t.columns = []column{{"id", "Int32", "MATERIALIZED"}, t.columns[1]} },
	} {
		a, b := newServer(t, wide()...), newServer(t, wide()...)
		change(b.events())
		o := options(a)
		replicas(&o, a, b)
		_, err := clickhousesink.New(t.Context(), o)
		expect(t, err, failure.Job, failure.Schema, says, "at b:8123")
		b.tables = map[string]*table{}
		_, err = clickhousesink.New(t.Context(), o)
		expect(t, err, failure.Job, failure.Schema, "b:8123", "does not exist")
	}
	a, b := newServer(t, wide()...), newServer(t, wide()...)
	b.database, b.tables["other.events"] = "other", b.events()
	o := options(a)
	replicas(&o, a, b)
	open(t, o) // of the database that is named
	o.Table = "events"
	_, err := clickhousesink.New(t.Context(), o)
	expect(t, err, failure.Job, failure.Config, "default database is other at b:8123 and db elsewhere")
	a, b = newServer(t, wide()...), newServer(t, append(wide(), column{"more", "Int32", ""})...)
	b.timezone = "Asia/Tokyo"
	o = options(a)
	replicas(&o, a, b)
	finds(t, open(t, o), true, "Asia/Tokyo")
	finds(t, open(t, o), true, "neither rows nor deduplication")
	o.Dedup = clickhousesink.DedupRequired
	_, err = clickhousesink.New(t.Context(), o)
	expect(t, err, failure.Job, failure.Config, "use a replicated engine")
}

func TestAReplicaThatIsAwayIsLookedAtBeforeItsFirstInsert(t *testing.T) {
	a, b := newServer(t, wide()...), newServer(t, wide()...)
	b.events().columns = b.events().columns[:1]
	o := options(a)
	replicas(&o, a, nil)
	opened := open(t, o)
	finds(t, opened, true, "b:8123")
	o.Transport.(trip).hosts["b:8123"] = b
	write(t, opened, block(0, 0, 10))
	expect(t, opened.Write(t.Context(), block(1, 0, 10)), failure.Job, failure.Schema, "column name is missing", "b:8123")
	b.events().columns = wide()
	write(t, opened, block(2, 0, 10))
	write(t, opened, block(3, 0, 10))
	if len(b.contents("db.events")) != 10 {
		t.Errorf("%d rows", len(b.contents("db.events")))
	}
	replicas(&o, nil, nil)
	_, err := clickhousesink.New(t.Context(), o)
	expect(t, err, failure.Transient, failure.RetriesExhausted, "a:8123", "b:8123")
}

func TestWhatIsNoClickHouseIsRefused(t *testing.T) {
	s := newServer(t, wide()...)
	o := options(s)
	o.Transport = trip{map[string]http.Handler{"ch:8123": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, "<html>welcome</html>")
	})}}
	_, err := clickhousesink.New(t.Context(), o)
	expect(t, err, failure.Job, failure.Config, "not ClickHouse")
}

// A change of the table in the middle of a job is one error of the job, which
// names the column, whatever the server makes of the rows.
func TestAChangedTableHaltsTheJobAndNamesTheColumn(t *testing.T) {
	for _, format := range []clickhousesink.Format{clickhousesink.RowBinary, clickhousesink.Native, clickhousesink.JSONEachRow} {
		for says, columns := range map[string][]column{
			"column name is missing":         {{"id", "Int32", ""}},
			"column id is UInt64, not Int32": {{"id", "UInt64", ""}, {"name", "String", ""}},
			"column name is ALIAS":           {{"id", "Int32", ""}, {"name", "String", "ALIAS"}},
		} {
			if format == clickhousesink.JSONEachRow && strings.Contains(says, "UInt64") {
				continue // such rows fit it
			}
			s := newServer(t, wide()...)
			o := options(s)
			o.Format = format
			opened := open(t, o)
			b := block(0, 0, 100)
			if format == clickhousesink.JSONEachRow {
				b.Data, b.Ends = []byte(strings.Join(texts(0, 100), "\n")), nil
			}
			write(t, opened, b)
			s.events().columns = columns
			b.Token += "2"
			expect(t, opened.Write(t.Context(), b), failure.Job, failure.Schema, says, "then resume the job")
			if n := len(s.all()); n != 2 {
				t.Errorf("%s, %s: %d inserts", format, says, n)
			}
		}
	}
	s := newServer(t, wide()...)
	opened := open(t, options(s))
	s.events().columns = append([]column{{"before", "Int32", ""}}, s.events().columns...)
	write(t, opened, block(0, 0, 10)) // what rows do not have may come and go
}

func TestRowsWithoutTypesAreComparedAgain(t *testing.T) {
	s := newServer(t, wide()...)
	s.knows = slices.DeleteFunc(s.knows, func(n string) bool { return n == "input_format_with_types_use_header" })
	opened := open(t, options(s))
	s.events().columns = []column{{"id", "Int32", ""}, {"name", "FixedString(3)", ""}}
	clickhousesink.Stale(opened)
	expect(t, opened.Write(t.Context(), block(0, 0, 10)), failure.Job, failure.Schema, "column name is FixedString(3), not String")
	if len(s.all()) != 0 {
		t.Error("they were sent")
	}
	s.events().columns = wide()
	o := options(s)
	away := false
	o.Transport = trip{map[string]http.Handler{"ch:8123": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away {
			lost(w, r)
		}
		s.ServeHTTP(w, r)
	})}}
	opened = open(t, o)
	clickhousesink.Stale(opened)
	away = true
	expect(t, opened.Write(t.Context(), block(0, 0, 10)), failure.Transient, failure.RetriesExhausted)
	away, s.events().columns = false, []column{{"id", "Int32", ""}, {"name", "FixedString(3)", ""}} // a look that failed is none
	expect(t, opened.Write(t.Context(), block(0, 0, 10)), failure.Job, failure.Schema, "column name is FixedString(3), not String")
	if len(s.all()) != 0 {
		t.Error("they were sent unlooked")
	}
}
