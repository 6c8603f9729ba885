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
	for _, format := range []string{"rowbinary", "native"} {
		t.Run(format, func(t *testing.T) {
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
			e.exec(t, "SET enable_time_time64_type = 1")
			e.exec(t, "CREATE TABLE t ("+columns+") ENGINE = MergeTree ORDER BY i"+allTypes)
			dir := t.TempDir()
			write(t, filepath.Join(dir, "edges.ndjson"), strings.Join(rows, "}\n")+"}\n")
			res := run{}.completes(t, e.pipeline(t, dir, "t", ", dedup: off, format: "+format, decode+"rejects: {url: \"file://"+dir+"-rejects/\"}\n"))
			if n := res.report.Records.Rejected; n > 0 {
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
		})
	}
}
