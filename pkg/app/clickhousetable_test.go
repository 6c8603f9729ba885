package app

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// tableServer answers what opening a table of such columns, name and type and kind
// of default, asks of a server. It counts the questions by their first words.
type tableServer struct {
	columns [][3]string
	zone    string // "": Asia/Tokyo

	mu    sync.Mutex
	asked []string
}

func (s *tableServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-ClickHouse-Query-Id", "q")
	sql, out := r.URL.Query().Get("query"), json.NewEncoder(w)
	s.mu.Lock()
	s.asked = append(s.asked, sql)
	s.mu.Unlock()
	switch {
	case strings.HasPrefix(sql, "SELECT version()"):
		_ = out.Encode(map[string]string{"version": "26.9", "timezone": cmp.Or(s.zone, "Asia/Tokyo"), "database": "d"})
	case strings.HasPrefix(sql, "DESCRIBE"):
		for _, c := range s.columns {
			_ = out.Encode(map[string]string{"name": c[0], "type": c[1], "default_type": c[2]})
		}
	}
}

// opened opens the table of the file whose sink has these keys.
func (s *tableServer) opened(t *testing.T, sink, more string) (*clickHouseTable, error) {
	t.Helper()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	c, err := loadWithSecret(t, chFile("url: '"+h.URL+"', table: d.t, dedup: 'off'"+sink, "decode: {json: {}}\n"+more))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := openTable(t.Context(), &c, Pipeline{}, c.Sink.ClickHouse)
	if err == nil {
		t.Cleanup(func() { _ = opened.Close() })
	}
	return opened, err
}

func TestATableIsLookedAtOnceAndFilledWithWhatRowsHave(t *testing.T) {
	table := [][3]string{
		{"a", "UInt8", ""}, {"b", "String", "DEFAULT"}, {"n.x", "Array(UInt8)", ""}, {"n.y", "Array(UInt8)", ""},
		{"m", "UInt8", "MATERIALIZED"}, {"e", "String", "EPHEMERAL"}, {"odd", "Variant(UInt8, String)", "DEFAULT"},
	}
	for name, c := range map[string]struct {
		sink, chain     string
		columns, paths  string
		defaults, lines bool
		unused, says    string
	}{
		"of any members": {says: "column odd: type", columns: ""},
		"of those that a select leaves": {
			chain: "chain: [{select: [a, m, c]}]", columns: "a", paths: "a", unused: "m c",
		},
		"with a default": {
			chain: "chain: [{select: [b, a]}]", columns: "a b", paths: "a b", defaults: true,
		},
		"with a default, in native": {
			sink: ", format: native", chain: "chain: [{select: [b, a]}]", columns: "a b", paths: "a b",
		},
		"of a Nested": {
			chain: "chain: [{select: [n, a]}]", columns: "a n.x n.y", paths: "a n.x n.y",
		},
		"of a Nested, one of whose columns is a member": {
			chain: "chain: [{select: [n, 'n.x: a']}]", columns: "n.x n.y", paths: `this["n.x"] n.y`,
		},
		"of one that it is a type of":      {chain: "chain: [{select: [odd]}]", says: "column odd: type"},
		"of none":                          {chain: "chain: [{select: [c, m]}]", says: "no member of the rows is a column of d.t: they have c, m"},
		"by paths":                         {sink: ", columns: {b: object.key, e: x.y}", columns: "b e", paths: "object.key x.y", defaults: true},
		"by paths, of one that is not":     {sink: ", columns: {aa: x}", says: "no column aa, but a, b"},
		"as lines":                         {sink: ", format: json_each_row", chain: "chain: [{select: [a, b]}]", lines: true},
		"as lines, with more than columns": {sink: ", format: json_each_row", chain: "chain: [{select: [a, c, m]}]", says: `takes c, m, and the server refuses lines`},
		"as lines, of which some is left out": {
			sink: ", format: json_each_row, settings: {input_format_skip_unknown_fields: '1'}", chain: "chain: [{select: [a, c]}]", lines: true, unused: "c",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &tableServer{columns: table}
			opened, err := s.opened(t, c.sink, c.chain+"\n")
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v, want %q", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if unused := strings.Join(opened.unused, " "); unused != c.unused {
				t.Errorf("%q are left out, want %q", unused, c.unused)
			}
			if unique := slices.Compact(slices.Sorted(slices.Values(s.asked))); len(unique) != len(s.asked) {
				t.Errorf("it asked something twice: %q", s.asked)
			}
			rows := opened.Rows()
			if got := strings.Join(rows.Columns.Names(), " "); got != c.columns || rows.Defaults != c.defaults {
				t.Errorf("rows have %q, defaults %t, want %q, %t", got, rows.Defaults, c.columns, c.defaults)
			}
			encoder := opened.encoder()
			if (encoder == nil) != c.lines {
				t.Fatalf("rows are lines: %t", encoder == nil)
			}
			if encoder == nil {
				return
			}
			if got := strings.Join(encoder.Columns(), " "); got != c.paths {
				t.Errorf("they are made of %q, want %q", got, c.paths)
			}
		})
	}
}

func TestTimesWithoutAZoneAreInTheServers(t *testing.T) {
	s := &tableServer{columns: [][3]string{{"at", "DateTime", ""}, {"b", "String", "DEFAULT"}}}
	opened, err := s.opened(t, "", "")
	if err != nil {
		t.Fatal(err)
	}
	row, err := opened.encoder().Append(nil, [][]byte{[]byte(`"2026-11-30 09:00:00"`), nil})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := opened.Rows().AppendJSON(nil, row); err != nil || string(got) != `{"at":"2026-11-30T00:00:00Z"}` {
		t.Errorf("%s, %v", got, err)
	}
	s.zone = "Mars/Base"
	if _, err = s.opened(t, "", ""); err == nil || !strings.Contains(err.Error(), "Mars/Base") || !strings.Contains(err.Error(), "name one in the column's type") {
		t.Errorf("got %v", err)
	}
	s.columns[0][1] = "DateTime('UTC')"
	if _, err = s.opened(t, "", ""); err != nil {
		t.Errorf("where a column names its own, that of the server does not matter: %v", err)
	}
}
