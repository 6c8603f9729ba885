package clickhousesink_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// column and table are as a server has them.
type column struct{ Name, Type, Kind string }

type table struct {
	columns      []column
	engine, full string
	create       string
	inner        string   // of a view: the table of its own
	views        []string // that depend on it
	rows         []string // as JSON, or the line itself
	parts        int
	window       int
	tokens       []string // the last window
	refuses      func(row string) *fault
}

// fault is an exception.
type fault struct {
	code int
	text string
}

// server is as much of ClickHouse's HTTP interface as a sink uses. It keeps what
// was inserted, and what it was told.
type server struct {
	t *testing.T

	mu       sync.Mutex
	version  string
	timezone string
	database string   // of its user; "": db
	knows    []string // settings
	defaults map[string]string
	tables   map[string]*table // by db.table
	clusters []string          // rows of system.clusters, as JSON
	password string
	old      bool     // it knows neither CHECK GRANT nor all formats
	readonly string   // of its user; "": 0
	lacks    []string // grants that its user has not
	inserts  []insert // that reached the table, refused ones included
	looks    []string // statements other than inserts
	// script decides on the n-th insert, from 1, before or after it is applied.
	script func(n int, r *http.Request) step
	seen   int
}

// insert is what a table was asked to take.
type insert struct {
	sql, token, body string
	parameters       url.Values
	header           http.Header
	rows             []string
	err              *fault
	dropped          bool // as a repeat
}

// step is what becomes of an insert. The zero value is all well.
type step struct {
	before func(w http.ResponseWriter, r *http.Request) // instead of applying it
	after  func(w http.ResponseWriter, r *http.Request) // applied, and this is the answer
}

func allSettings() []string {
	return strings.Fields(`insert_deduplication_token insert_deduplicate deduplicate_insert max_insert_block_size
		max_insert_block_size_bytes input_format_max_block_size_bytes min_insert_block_size_rows min_insert_block_size_bytes
		materialized_views_ignore_errors input_format_allow_errors_num input_format_allow_errors_ratio insert_distributed_sync
		insert_quorum async_insert wait_for_async_insert async_insert_deduplicate deduplicate_blocks_in_dependent_materialized_views
		input_format_with_names_use_header input_format_with_types_use_header input_format_binary_read_json_as_string
		enable_time_time64_type input_format_skip_unknown_fields date_time_input_format input_format_native_allow_types_conversion
		max_threads max_partitions_per_insert_block readonly insert_quorum_timeout`)
}

func newServer(t *testing.T, columns ...column) *server {
	return &server{
		t: t, version: "26.9.2.1", timezone: "UTC", knows: allSettings(),
		defaults: map[string]string{"non_replicated_deduplication_window": "0", "replicated_deduplication_window": "10000", "replicated_deduplication_window_seconds": "3600"},
		tables:   map[string]*table{"db.events": mergeTree(100, columns...)},
	}
}

func mergeTree(window int, columns ...column) *table {
	return &table{
		columns: columns, engine: "MergeTree", window: window,
		full: fmt.Sprintf("MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = %d, index_granularity = 8192", window),
	}
}

func (s *server) events() *table { return s.tables["db.events"] }

// contents are the rows of a table.
func (s *server) contents(name string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tables[name].rows)
}

func (s *server) all() []insert {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.inserts)
}

func (s *server) tokens() []string {
	var tokens []string
	for _, i := range s.all() {
		tokens = append(tokens, i.token)
	}
	return tokens
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-ClickHouse-Query-Id", "q")
	sql := r.URL.Query().Get("query")
	if s.password != "" && r.Header.Get("X-ClickHouse-Key") != s.password {
		refuse(w, 403, fault{516, "Authentication failed for key " + r.Header.Get("X-ClickHouse-Key")})
		return
	}
	if strings.HasPrefix(sql, "INSERT") {
		s.insert(w, r, sql)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks = append(s.looks, sql)
	s.answer(w, sql)
}

func refuse(w http.ResponseWriter, status int, f fault) {
	w.Header().Set("X-ClickHouse-Exception-Code", fmt.Sprint(f.code))
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "Code: %d. DB::Exception: %s. (SOME_NAME) (version 26.9.2.1 (official build))\n", f.code, f.text)
}

var (
	insertForm   = regexp.MustCompile(`^INSERT INTO (\S+) \((.*)\) FORMAT (\w+)$`)
	describeForm = regexp.MustCompile(`^DESCRIBE TABLE (\S+) FORMAT`)
	tableForm    = regexp.MustCompile(`FROM system\.tables WHERE database = '([^']*)' AND name = '([^']*)'`)
)

func name(quoted string) string {
	n := strings.ReplaceAll(quoted, "`", "")
	if !strings.Contains(n, ".") {
		n = "db." + n
	}
	return n
}

// answer answers a question. The caller holds mu.
func (s *server) answer(w http.ResponseWriter, sql string) {
	out := json.NewEncoder(w)
	switch {
	case strings.HasPrefix(sql, "SELECT version()"):
		_ = out.Encode(map[string]string{"version": s.version, "timezone": s.timezone, "database": cmp.Or(s.database, "db")})
	case sql == "SELECT 1": // with settings on
	case describeForm.MatchString(sql):
		n := name(describeForm.FindStringSubmatch(sql)[1])
		t, ok := s.tables[n]
		if !ok {
			refuse(w, 404, fault{60, "Table " + n + " does not exist"})
			return
		}
		for _, c := range t.columns {
			_ = out.Encode(map[string]string{"name": c.Name, "type": c.Type, "default_type": c.Kind})
		}
	case strings.Contains(sql, "FROM system.settings"):
		for _, n := range s.knows {
			if strings.Contains(sql, "'"+n+"'") {
				_ = out.Encode(map[string]string{"name": n, "value": cmp.Or(map[string]string{"readonly": s.readonly}[n], "0")})
			}
		}
	case strings.Contains(sql, "FROM system.formats"):
		result := 1
		if s.old {
			result = 0
		}
		_ = out.Encode(map[string]int{"result": result})
	case strings.HasPrefix(sql, "CHECK GRANT "):
		if s.old {
			refuse(w, 400, fault{62, "Syntax error: failed at position 7: GRANT. Expected TABLE"})
			return
		}
		result := 1
		if slices.Contains(s.lacks, strings.TrimSuffix(strings.TrimPrefix(sql, "CHECK GRANT "), " FORMAT JSONEachRow")) {
			result = 0
		}
		_ = out.Encode(map[string]int{"result": result})
	case strings.Contains(sql, "FROM system.replicated_merge_tree_settings"):
		refuse(w, 404, fault{60, "Table system.replicated_merge_tree_settings does not exist"})
	case strings.Contains(sql, "FROM system.merge_tree_settings"):
		for _, n := range slices.Sorted(maps.Keys(s.defaults)) {
			_ = out.Encode(map[string]string{"name": n, "value": s.defaults[n]})
		}
	case strings.Contains(sql, "FROM system.clusters"):
		_, _ = io.WriteString(w, strings.Join(s.clusters, "\n"))
	case tableForm.MatchString(sql):
		m := tableForm.FindStringSubmatch(sql)
		t, ok := s.tables[m[1]+"."+m[2]]
		switch {
		case strings.Contains(sql, "target_table"):
			if t.inner == "" {
				refuse(w, 404, fault{47, "Unknown identifier target_table"})
				return
			}
			_ = out.Encode(map[string]string{"db": m[1], "name": t.inner})
			return
		case !ok || strings.Contains(sql, "uuid"):
			return
		}
		dbs := make([]string, len(t.views))
		for i := range dbs {
			dbs[i] = m[1]
		}
		_ = out.Encode(map[string]any{
			"name": m[2], "engine": t.engine, "engine_full": t.full, "create_table_query": t.create,
			"dependencies_database": dbs, "dependencies_table": append([]string{}, t.views...),
		})
	default:
		s.t.Errorf("the server was asked %s", sql)
	}
}

func (s *server) insert(w http.ResponseWriter, r *http.Request, sql string) {
	s.mu.Lock()
	s.seen++
	var do step
	if s.script != nil {
		do = s.script(s.seen, r)
	}
	s.mu.Unlock()
	if do.before != nil {
		do.before(w, r)
		return
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(w, 500, fault{33, "the body is cut"})
		return
	}
	m := insertForm.FindStringSubmatch(sql)
	if m == nil {
		s.t.Errorf("the insert is %s", sql)
		return
	}
	v := r.URL.Query()
	i := insert{sql: sql, token: v.Get("insert_deduplication_token"), body: string(raw), parameters: v, header: r.Header}
	s.mu.Lock()
	i.err = s.apply(&i, m[1], strings.Split(strings.ReplaceAll(m[2], "`", ""), ", "), m[3])
	s.inserts = append(s.inserts, i)
	s.mu.Unlock()
	switch {
	case do.after != nil:
		do.after(w, r)
	case i.err != nil:
		refuse(w, cmp.Or(map[int]int{60: 404}[i.err.code], 500), *i.err)
	}
}

// apply brings an insert's rows into its table, all or none. The caller holds mu.
func (s *server) apply(i *insert, into string, columns []string, format string) *fault {
	for _, n := range slices.Sorted(maps.Keys(i.parameters)) {
		if n != "query" && n != "wait_end_of_query" && n != "decompress" && !slices.Contains(s.knows, n) {
			return &fault{115, "Unknown setting " + n}
		}
	}
	t, ok := s.tables[name(into)]
	if !ok {
		return &fault{60, "Table " + name(into) + " does not exist"}
	}
	body, err := unpacked([]byte(i.body), i.header.Get("Content-Encoding"), i.parameters.Get("decompress"))
	if err != nil {
		return &fault{271, err.Error()}
	}
	rows, f := t.parse(body, columns, format)
	if f != nil {
		return f
	}
	i.rows = rows
	if i.token != "" && slices.Contains(t.tokens, i.token) {
		i.dropped = true
		return nil
	}
	for _, row := range rows {
		if t.refuses == nil {
			break
		}
		if f := t.refuses(row); f != nil {
			return f
		}
	}
	t.rows = append(t.rows, rows...)
	t.parts++
	if i.token != "" && t.window > 0 {
		t.tokens = append(t.tokens, i.token)
		t.tokens = t.tokens[max(0, len(t.tokens)-t.window):]
	}
	return nil
}

// trip is a server as a transport, without a network.
type trip struct{ hosts map[string]http.Handler }

func (s *server) transport() trip { return trip{map[string]http.Handler{"ch:8123": s}} }

func (t trip) RoundTrip(r *http.Request) (*http.Response, error) {
	h, ok := t.hosts[r.URL.Host]
	if !ok {
		return nil, fmt.Errorf("dial %s: connection refused", r.URL.Host)
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	err := serve(h, w, r)
	_ = r.Body.Close()
	if err != nil {
		return nil, err
	}
	res := w.Result()
	res.Request = r
	return res, nil
}

// gone is thrown by a step whose connection ends without an answer.
type gone struct{ err error }

func serve(h http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			g, ok := p.(gone)
			if !ok {
				panic(p)
			}
			err = g.err
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}

func lost(http.ResponseWriter, *http.Request) { panic(gone{io.ErrUnexpectedEOF}) }

// hangs answers nothing until its client goes away.
func hangs(_ http.ResponseWriter, r *http.Request) {
	<-r.Context().Done()
	panic(gone{r.Context().Err()})
}

func refusing(code int, text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		refuse(w, 500, fault{code, text})
	}
}

func lines(b []byte) []string {
	var rows []string
	for line := range bytes.Lines(b) {
		rows = append(rows, strings.TrimSuffix(string(line), "\n"))
	}
	return rows
}
