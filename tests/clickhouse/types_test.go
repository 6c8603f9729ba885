package clickhouse_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// edge is a type with values of it as JSON, and what those are.
type edge struct {
	Type       string
	Expression string // of the column c
	Values     [][2]string
}

func edges(t *testing.T) []edge {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), "python3", "testdata/edges.py").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []edge
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// allTypes lets a table have types that the server asks twice about.
const allTypes = " SETTINGS enable_time_time64_type = 1, allow_suspicious_low_cardinality_types = 1"

func TestEveryTypeKeepsItsEdges(t *testing.T) {
	all := edges(t)
	for format, compression := range map[string][]string{"rowbinary": {"lz4", "gzip"}, "native": {"zstd", "none"}} {
		for _, c := range compression {
			t.Run(format+", "+c, func(t *testing.T) {
				keepsEdges(t, all, ", dedup: off, format: "+format+", compression: "+c)
			})
		}
	}
}

func keepsEdges(t *testing.T, all []edge, sink string) {
	e := newEngine(t)
	columns, rows := "i UInt32", []string{}
	for n, edge := range all {
		columns += fmt.Sprintf(", c%d %s", n, edge.Type)
		for i, v := range edge.Values {
			if i == len(rows) {
				rows = append(rows, fmt.Sprintf(`{"i":%d`, i))
			}
			rows[i] += fmt.Sprintf(`,"c%d":%s`, n, v[0])
		}
	}
	e.exec(t, "CREATE TABLE t ("+columns+") ENGINE = MergeTree ORDER BY i"+allTypes)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "edges.ndjson"), strings.Join(rows, "}\n")+"}\n")
	res := run{}.completes(t, e.pipeline(t, dir, "t", sink, decode+"rejects: {url: \"file://"+dir+"-rejects/\"}\n"))
	if n := res.Report.Records.Rejected; n > 0 {
		found, _ := filepath.Glob(dir + "-rejects/*")
		for _, f := range found {
			text, _ := os.ReadFile(f)
			t.Errorf("%.3000s", text)
		}
		t.Fatalf("%d of %d rows were rejected", n, len(rows))
	}
	for n, edge := range all {
		got := strings.Split(e.exec(t, fmt.Sprintf("SELECT %s FROM (SELECT i, c%d AS c FROM t) WHERE i < %d ORDER BY i FORMAT TabSeparatedRaw",
			edge.Expression, n, len(edge.Values))), "\n")
		if len(got) != len(edge.Values) {
			t.Errorf("%s: %d rows, want %d", edge.Type, len(got), len(edge.Values))
			continue
		}
		for i, v := range edge.Values {
			if got[i] != v[1] {
				t.Errorf("%s: %.80s became %.80q, want %.80q", edge.Type, v[0], got[i], v[1])
			}
		}
	}
}

// A value that does not fit is no row: its record is rejected, and what is wrong
// with it is said by column, value and type.
func TestAValueThatDoesNotFitIsNamedAndNothingIsLost(t *testing.T) {
	cases := []struct{ of, value string }{
		{"Int8", "128"}, {"UInt8", "-1"}, {"UInt64", "18446744073709551616"}, {"Int32", "1.5"}, {"Int256", `"12x"`}, {"UInt16", "null"},
		{"Float64", `"abc"`}, {"Float64", "1e999"}, {"Bool", `"maybe"`}, {"FixedString(2)", `"abc"`},
		{"Decimal(9, 2)", "1.234"}, {"Decimal(9, 2)", "10000000"}, {"Decimal(76, 76)", "1"},
		{"Date", `"2149-06-07"`}, {"Date32", `"2026-02-30"`}, {"DateTime('UTC')", `"2106-02-07T06:28:16Z"`}, {"DateTime('UTC')", `"2026-01-01T00:00:00.5Z"`},
		{"DateTime64(3, 'UTC')", `"2026-01-01T00:00:00.1234Z"`}, {"DateTime64(9, 'UTC')", `"2262-04-12 00:00:00"`}, {"Time", `"1000:00:00"`},
		{"Enum8('a' = 1)", `"b"`}, {"UUID", `"6ba7b810"`}, {"IPv4", `"256.0.0.1"`}, {"IPv6", `"::g"`},
		{"Array(UInt8)", "[1,256]"}, {"Array(UInt8)", `{"a":1}`}, {"Tuple(a UInt8)", `{"b":1}`}, {"Map(String, UInt8)", `{"a":-1}`}, {"JSON", "[1]"},
		{"LowCardinality(String)", "null"}, {"String", "null"},
	}
	e, dir := newEngine(t), t.TempDir()
	columns, rows := "i UInt32", ""
	for i, c := range cases {
		columns += fmt.Sprintf(", c%d %s", i, c.of)
		rows += fmt.Sprintf(`{"i":%d,"c%d":%s}`+"\n", i, i, c.value)
	}
	rows += fmt.Sprintf(`{"i":%d}`+"\n", len(cases))
	e.exec(t, "CREATE TABLE t ("+columns+") ENGINE = MergeTree ORDER BY i"+allTypes)
	write(t, filepath.Join(dir, "bad.ndjson"), rows)
	res := run{}.completes(t, e.pipeline(t, dir, "t", ", dedup: off", decode+"rejects: {url: \"file://"+dir+"-rejects/\"}\n"))
	if r := res.Report.Records; r.Rejected != int64(len(cases)) || r.Out != 1 {
		t.Errorf("%+v, want %d rejected", r, len(cases))
	}
	e.wants(t, "SELECT count(), min(i) FROM t", fmt.Sprintf("1\t%d", len(cases)))
	said := map[int]string{}
	found, _ := filepath.Glob(dir + "-rejects/*")
	for _, f := range found {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var r struct {
				Record int
				Detail string
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			said[r.Record] = r.Detail
		}
	}
	for i, c := range cases {
		for _, want := range []string{fmt.Sprintf("c%d", i), strings.Trim(c.value, `"`), c.of} {
			if !strings.Contains(said[i], want) {
				t.Errorf("%s of %s: %q does not say %s", c.value, c.of, said[i], want)
			}
		}
	}
}
