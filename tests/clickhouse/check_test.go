package clickhouse_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckSaysWhatFillsWhichColumn(t *testing.T) {
	e := newEngine(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.ndjson"), records(0, 3))
	e.exec(t, "CREATE TABLE t (id UInt64, name LowCardinality(String), made DateTime DEFAULT now(), need UInt8, twice UInt64 MATERIALIZED id * 2) ENGINE = MergeTree ORDER BY id")
	check := func(t *testing.T, code int, sink, more string, want ...string) {
		t.Helper()
		res := run{}.spate(t, "check", e.pipeline(t, dir, "t", ", password: ''"+sink, more))
		if res.Code != code {
			t.Errorf("exit code %d, want %d\n%s", res.Code, code, res.Stderr)
		}
		for _, w := range want {
			if !strings.Contains(squeeze(res.Stdout)+res.Stderr, w) {
				t.Errorf("it does not say %q:\n%s%s", w, res.Stdout, res.Stderr)
			}
		}
	}
	t.Run("fields that are known", func(t *testing.T) {
		check(t, 0, "", decode+"chain: [{select: [id, 'name: at', at]}]\n",
			"ok sink.columns.id UInt64 from id", "ok sink.columns.name LowCardinality(String) from name",
			"ok sink.columns.made DateTime is not filled: DEFAULT", "warning sink.columns.need UInt8 is not filled",
			"ok sink.columns.twice UInt64 is not filled: MATERIALIZED", "warning sink the rows' member at has no column",
			"warning sink "+e.database+".t does not deduplicate")
	})
	t.Run("a run says in its log what may surprise", func(t *testing.T) {
		res := run{}.completes(t, e.pipeline(t, dir, "t", "", decode+"chain: [{select: [id, 'name: at', at]}]\n"))
		for _, want := range []string{"no column and are left out", "members=at", "does not deduplicate"} {
			if !strings.Contains(res.Stderr, want) {
				t.Errorf("it does not say %q:\n%s", want, res.Stderr)
			}
		}
	})
	t.Run("fields that are not", func(t *testing.T) {
		check(t, 0, "", decode, "ok sink.columns.made DateTime from made", "ok sink.columns.need UInt8 from need")
	})
	t.Run("a mapping", func(t *testing.T) {
		check(t, 0, ", columns: {id: record.index, name: object.key}", decode, "ok sink.columns.id UInt64 from record.index", "from object.key")
	})
	t.Run("a column that is not there", func(t *testing.T) {
		check(t, 1, ", columns: {idd: id}", decode, "failed sink", "no column idd, but id, name")
	})
	t.Run("a column that takes no values", func(t *testing.T) {
		check(t, 1, ", columns: {twice: id}", decode, "column twice is MATERIALIZED")
	})
	t.Run("a path that is not there", func(t *testing.T) {
		check(t, 2, ", columns: {id: idd}", decode+"chain: [{select: [id]}]\n", "sink.clickhouse.columns.id: the steps before leave no idd", "did you mean id?")
	})
	t.Run("a window that is required", func(t *testing.T) {
		check(t, 1, ", dedup: required", decode, "failed sink", "deduplication is required", "non_replicated_deduplication_window")
	})
	t.Run("rows of no columns", func(t *testing.T) {
		check(t, 1, "", "", "failed sink", "add decode: {json: {}}, or format: json_each_row")
		check(t, 1, "", decode+"chain: [{select: [other]}]\n", "no member of the rows is a column")
	})
}

// squeeze makes one space of many, as between the columns of a table.
func squeeze(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
	}
	return b.String()
}

func TestAPasswordIsUsedAndNeverPrinted(t *testing.T) {
	e := newEngine(t)
	if os.Getenv("CLICKHOUSE_URL") == "" {
		return
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.ndjson"), records(0, 3))
	e.table(t, "t", "", deduplicating)
	file := e.pipeline(t, dir, "t", ", user: spate, password: \"${PW}\"", decode)
	wrong := run{Env: []string{"PW=hunter2"}}.spate(t, "run", "--log-level", "debug", file)
	if wrong.Code != 1 && wrong.Code != 2 || !strings.Contains(wrong.Stderr, "516") {
		t.Errorf("exit code %d\n%s", wrong.Code, wrong.Stderr)
	}
	right := run{Env: []string{"PW=engine"}}.spate(t, "run", "--log-level", "debug", "-o", "json", file)
	if right.Code != 0 {
		t.Errorf("exit code %d\n%s", right.Code, right.Stderr)
	}
	for _, text := range []string{wrong.Stdout, wrong.Stderr} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("it shows the password:\n%s", text)
		}
	}
	e.once(t, "t", 3)
}

// What inspect suggests the engine takes, and then all that it was shown.
func TestASuggestedTableTakesTheRecords(t *testing.T) {
	odd := `{"id":1,"ts":"2026-11-01T00:00:00.123Z","when":"2026-11-01 10:00:00","day":"2026-11-01","u":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","n":-5,"f":1.5,"b":true,"tags":["a","b"],"http":{"method":"GET","bytes":12},"x":null,"mix":1,"big":18446744073709551615,"a.b":1,"e":[],"o":{},"lines":[{"p":1,"q":null},{"p":2}],"deep":[[[1],[]]],"weird ` + "`" + `na'me":"z","index":1,"order":2}
{"id":2,"ts":"2026-11-01T00:00:00.5Z","when":"2026-11-01 10:00:00","day":"2026-11-01","u":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","n":5,"f":2,"b":false,"tags":[],"http":{"method":"PUT"},"mix":{"a":[1]},"big":1,"a.b":1,"e":[],"o":{},"lines":[],"s":"é","deep":[],"weird ` + "`" + `na'me":"","index":1,"order":2}
`
	for name, put := range map[string]func(t *testing.T, dir string){
		"of spate gen": func(t *testing.T, dir string) {
			res := run{Binary: plainBinary}.spate(t, "gen", dir, "--objects", "1", "--size", "900KiB")
			if res.Code != 0 {
				t.Fatal(res.Stderr)
			}
		},
		"of the access logs": func(t *testing.T, dir string) {
			copied := exec.CommandContext(t.Context(), "cp", "../../examples/access-logs/data/date=2026-11-28/hour=08/edge-a.ndjson", dir)
			if out, err := copied.CombinedOutput(); err != nil {
				t.Fatal(err, string(out))
			}
		},
		"of all kinds": func(t *testing.T, dir string) { write(t, filepath.Join(dir, "odd.ndjson"), odd) },
	} {
		for _, format := range []string{"rowbinary", "native"} {
			t.Run(name+", "+format, func(t *testing.T) {
				t.Parallel()
				e, dir := newEngine(t), t.TempDir()
				put(t, dir)
				found, err := filepath.Glob(dir + "/*")
				if err != nil || len(found) != 1 {
					t.Fatal(found, err)
				}
				table := run{}.spate(t, "inspect", "--ddl", "--table", "t", "file://"+found[0])
				if table.Code != 0 {
					t.Fatal(table.Stderr)
				}
				e.exec(t, table.Stdout)
				sink := ", dedup: required, format: " + format
				if name == "of all kinds" {
					sink += `, columns: {id: id, ts: ts, when: when, day: day, u: u, n: n, f: f, b: b, tags: tags, http: http, x: x, mix: mix, big: big, a.b: '["a.b"]', e: e, o: o, lines: lines, deep: deep, "weird ` + "`na'me" + `": "[\"weird ` + "`na'me" + `\"]", index: index, order: order, s: s}`
				}
				res := run{}.completes(t, e.pipeline(t, dir, "t", sink, decode))
				if r := res.Report.Records; r.Rejected > 0 || r.Out == 0 {
					t.Errorf("%+v of\n%s", r, table.Stdout)
				}
			})
		}
	}
}
