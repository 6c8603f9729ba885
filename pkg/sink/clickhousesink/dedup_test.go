package clickhousesink_test

import (
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink/clickhousesink"
)

// view adds a materialized view of the events, and the table that it fills.
func (s *server) view(name, target string, fills *table) {
	s.events().views = append(s.events().views, name)
	s.tables["db."+name] = &table{engine: "MaterializedView", create: "CREATE MATERIALIZED VIEW db." + name + " TO " + target + " (`id` Int32) AS SELECT id FROM db.events WHERE f(' TO db.nowhere (')"}
	if fills != nil {
		s.tables[strings.ReplaceAll(target, "`", "")] = fills
	}
}

// own adds a view that keeps its rows by itself.
func (s *server) own(name string) {
	s.events().views = append(s.events().views, name)
	s.tables["db."+name] = &table{engine: "MaterializedView", create: "CREATE MATERIALIZED VIEW db." + name + " (`id` Int32) ENGINE = MergeTree ORDER BY id AS SELECT id FROM db.events"}
}

func TestWhatATableMakesOfRepeats(t *testing.T) {
	replicated := func(settings string) *table {
		t := mergeTree(0, wide()...)
		t.engine, t.full = "ReplicatedMergeTree", "ReplicatedMergeTree('/path', '{replica}') ORDER BY id SETTINGS index_granularity = 8192"+settings
		return t
	}
	engine := func(name string) *table { return &table{columns: wide(), engine: name, full: name} }
	for name, c := range map[string]struct {
		change  func(*server)
		refused string // under required; "": it is not
		warns   string // under warn; "": it does not
		notes   string
	}{
		"a window of its own": {func(*server) {}, "", "", "db.events deduplicates the last 100 parts: "},
		"none":                {func(s *server) { s.tables["db.events"] = mergeTree(0, wide()...) }, "ALTER TABLE `db`.`events` MODIFY SETTING non_replicated_deduplication_window = ", "ALTER TABLE", ""},
		"the server's": {func(s *server) {
			s.tables["db.events"] = engine("MergeTree")
			s.defaults["non_replicated_deduplication_window"] = "7"
		}, "", "", "last 7 parts"},
		"replicated": {func(s *server) { s.tables["db.events"] = replicated("") }, "", "", "last 10000 parts, for 3600 s"},
		"replicated, with its own": {func(s *server) {
			s.tables["db.events"] = replicated(", replicated_deduplication_window = 5, replicated_deduplication_window_seconds = 60")
		}, "", "", "last 5 parts, for 60 s"},
		"replicated, without": {func(s *server) { s.tables["db.events"] = replicated(", replicated_deduplication_window = 0") }, "MODIFY SETTING replicated_deduplication_window", "does not deduplicate", ""},
		"another engine":      {func(s *server) { s.tables["db.events"] = engine("Log") }, "engine Log", "engine Log", ""},
		"memory":              {func(s *server) { s.tables["db.events"] = engine("Memory") }, "engine Memory", "gone when the server stops", ""},
		"distributed":         {func(s *server) { s.tables["db.events"] = engine("Distributed") }, "", "", "tables behind it"},
		"null":                {func(s *server) { s.tables["db.events"] = engine("Null") }, "", "", ""},
		"an old server":       {func(s *server) { s.knows = s.knows[1:] }, "does not support deduplication tokens", "does not support deduplication tokens", ""},
		"a view with a window": {func(s *server) {
			s.view("v", "db.`tar get`", mergeTree(9, wide()...))
			s.tables["db.tar get"].full += ""
		}, "", "", "db.tar get deduplicates the last 9 parts"},
		"a view without":          {func(s *server) { s.view("v", "db.target", mergeTree(0, wide()...)) }, "`db`.`target`", "db.target does not deduplicate", ""},
		"a view that is not seen": {func(s *server) { s.view("v", "db.target", nil) }, "", "whether db.target deduplicates cannot be seen", ""},
		"a view of a view's table": {func(s *server) {
			s.view("v", "db.target", mergeTree(9, wide()...))
			s.tables["db.target"].views = []string{"w"}
			s.tables["db.w"] = &table{engine: "MaterializedView", create: "CREATE MATERIALIZED VIEW db.w TO db.last AS SELECT 1"}
			s.tables["db.last"] = mergeTree(0, wide()...)
		}, "`db`.`last`", "db.last does not deduplicate", ""},
		"a view with a table of its own": {func(s *server) {
			s.own("v")
			s.tables["db.v"].inner = ".inner_id.5"
			s.tables["db..inner_id.5"] = mergeTree(0, wide()...)
		}, "`db`.`.inner_id.5`", "db..inner_id.5 does not deduplicate", ""},
		"the same of an old server": {func(s *server) {
			s.own("v")
			s.tables["db..inner.v"] = mergeTree(0, wide()...)
		}, "`db`.`.inner.v`", "db..inner.v does not deduplicate", ""},
		"the same, not seen":         {func(s *server) { s.own("v") }, "", "whether db.v deduplicates cannot be seen", ""},
		"views that feed each other": {func(s *server) { s.view("v", "db.events", nil) }, "", "", "last 100 parts"},
		"a view on an old server": {func(s *server) {
			s.view("v", "db.target", mergeTree(9, wide()...))
			s.knows = []string{"insert_deduplication_token"}
		}, "passes it no tokens", "passes it no tokens", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, wide()...)
			c.change(s)
			o := options(s)
			o.Dedup = clickhousesink.DedupRequired
			_, err := clickhousesink.New(t.Context(), o)
			if c.refused != "" {
				expect(t, err, failure.Job, failure.Config, c.refused, "ch:8123")
			} else if err != nil {
				t.Fatal(err)
			}
			o.Dedup = clickhousesink.DedupWarn
			opened := open(t, o)
			warned := false
			for _, f := range opened.Description().Findings {
				warned = warned || f.Warning
			}
			if c.warns != "" {
				finds(t, opened, true, c.warns)
			} else if warned {
				t.Errorf("it warns: %+v", opened.Description().Findings)
			}
			if c.notes != "" {
				finds(t, opened, false, c.notes)
			}
			o.Dedup = clickhousesink.DedupOff
			for _, f := range open(t, o).Description().Findings {
				if strings.Contains(f.Text, "ALTER") || strings.Contains(f.Text, "knows") && !strings.Contains(f.Text, "types") {
					t.Errorf("it looks: %s", f.Text)
				}
			}
		})
	}
	s := newServer(t, wide()...)
	s.view("v", "db.target", mergeTree(9, wide()...))
	o := options(s)
	o.Dedup, o.AsyncInsert = clickhousesink.DedupRequired, clickhousesink.AsyncWait
	_, err := clickhousesink.New(t.Context(), o)
	expect(t, err, failure.Job, failure.Config, "db.target, which a materialized view fills", "with async_insert: wait")
	s = newServer(t, wide()...)
	s.tables["db.events"] = engine("Buffer")
	o = options(s)
	o.Dedup = clickhousesink.DedupOff
	_, err = clickhousesink.New(t.Context(), o)
	expect(t, err, failure.Job, failure.Config, "Buffer")
}
