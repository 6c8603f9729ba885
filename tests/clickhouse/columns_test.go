package clickhouse_test

import (
	"fmt"
	"path/filepath"
	"testing"
)

func TestColumnsAreFilledFromWhereTheFileSays(t *testing.T) {
	const window = ") ENGINE = MergeTree ORDER BY tuple() SETTINGS non_replicated_deduplication_window = 100"
	for _, c := range []struct {
		name, columns, records, sink, more, query, want string
	}{
		{
			"by name; what is absent is the column's DEFAULT", "a UInt8, b String DEFAULT concat('b', toString(a)), c UInt8",
			`{"a":1}` + "\n" + `{"c":3,"b":"x","a":2,"other":[]}` + "\n", "", decode,
			"SELECT a, b, c FROM t ORDER BY a", "1\tb1\t0\n2\tx\t3",
		},
		{
			"in native it is the type's", "a UInt8, b String DEFAULT concat('b', toString(a))", `{"a":1}` + "\n", ", format: native", decode,
			"SELECT a, b FROM t", "1\t",
		},
		{
			"by name, of the members that a select leaves; the others are left to the server", "a UInt8, b String DEFAULT 'd', c UInt8",
			`{"a":1,"b":"x","c":7}` + "\n", "", decode + "chain: [{select: ['c: a', a]}]\n",
			"SELECT a, b, c FROM t", "1\td\t1",
		},
		{
			"the same as JSON", "a UInt8, b String DEFAULT 'd', c UInt8", `{"a":1,"b":"x","c":7}` + "\n", ", format: json_each_row",
			decode + "chain: [{select: ['c: a', a]}]\n", "SELECT a, b, c FROM t", "1\td\t1",
		},
		{
			"by paths, the object's too", "a UInt8, k String, n UInt64, d UInt8 DEFAULT 9", `{"x":{"y":5}}` + "\n",
			", columns: {k: object.key, n: record.index, a: x.y}", decode, "SELECT a, k, n, d FROM t", "5\trows.ndjson\t0\t9",
		},
		{
			"Nested", "`n.a` Array(UInt8), `n.b` Array(String)", `{"n":{"a":[1,2],"b":["x","y"]}}` + "\n", "", decode,
			"SELECT n.a, n.b FROM t", "[1,2]\t['x','y']",
		},
		{
			"Nested, of a select", "`n.a` Array(UInt8), `n.b` Array(String)", `{"n":{"a":[1,2],"b":["x","y"]},"m":1}` + "\n", "", decode + "chain: [{select: [n]}]\n",
			"SELECT n.a, n.b FROM t", "[1,2]\t['x','y']",
		},
		{
			"left out, of whatever type they are", "a UInt8, v Variant(UInt8, String), s AggregateFunction(sum, UInt64)", `{"a":1,"v":2}` + "\n", "",
			decode + "chain: [{select: [a]}]\n", "SELECT a, v IS NULL, finalizeAggregation(s) FROM t", "1\t1\t0",
		},
		{
			"settings and the server's own gathering", "a UInt8", `{"a":1}` + "\n",
			", async_insert: wait, settings: {max_insert_threads: '1'}", decode, "SELECT a FROM t", "1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e, dir := newEngine(t), t.TempDir()
			e.exec(t, "CREATE TABLE t ("+c.columns+window)
			write(t, filepath.Join(dir, "rows.ndjson"), c.records)
			file := e.pipeline(t, dir, "t", c.sink, c.more)
			for range 2 {
				run{}.completes(t, file)
				e.wants(t, c.query, c.want)
			}
		})
	}
}

func TestARouteLeadsToSeveralTables(t *testing.T) {
	e, dir := newEngine(t), t.TempDir()
	e.exec(t, "CREATE TABLE good (id UInt64, name String) "+deduplicating)
	e.exec(t, "CREATE TABLE odd (id UInt64, at DateTime64(3, 'UTC')) "+deduplicating)
	write(t, filepath.Join(dir, "rows.ndjson"), records(0, 1001))
	path := filepath.Join(t.TempDir(), "p.yaml")
	write(t, path, fmt.Sprintf(`pipeline: {name: routed}
source: {s3: {url: "file://%s/"}}
feed: {memory: {}}
decode: {json: {}}
chain:
  - route: [{to: odd, when: "id %% 2 == 1"}, {to: good}]
sinks:
  good: {clickhouse: {url: %q, table: %[3]s.good}}
  odd: {clickhouse: {url: %[2]q, database: %[3]s, table: odd, format: native}}
`, dir, e.url, e.database))
	for range 2 {
		run{}.completes(t, path)
		e.wants(t, "SELECT count(), countIf(name = concat('row ', toString(id))), sum(id % 2) FROM good", "501\t501\t0")
		e.wants(t, "SELECT count(), sum(id % 2), countIf(at > '2026-11-01') FROM odd", "500\t500\t500")
	}
}
