package clickhouse_test

import (
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// shard is the engine as a server whose rows say, in a column of that name, that
// they came through it.
func (e engine) shard(t *testing.T, name string) string {
	t.Helper()
	at, err := url.Parse(e.url)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(at)
		q := r.Out.URL.Query()
		q.Set("log_comment", name)
		r.Out.URL.RawQuery = q.Encode()
	}})
	t.Cleanup(s.Close)
	return s.URL
}

// Random rows are in the shard that the engine's own hashes say, by keys of every
// type that they may have.
func TestRowsAreInTheShardOfTheEnginesHash(t *testing.T) {
	columns := []struct{ name, of string }{
		{"i8", "Int8"}, {"i16", "Int16"}, {"i32", "Int32"}, {"i64", "Int64"}, {"u8", "UInt8"}, {"u16", "UInt16"}, {"u32", "UInt32"}, {"u64", "UInt64"},
		{"bo", "Bool"}, {"d", "Date"}, {"dt", "DateTime"}, {"e8", "Enum8('a' = -3, 'b' = 100)"}, {"e16", "Enum16('a' = -300, 'b' = 7)"},
		{"ip4", "IPv4"}, {"ip6", "IPv6"}, {"id", "UUID"}, {"s", "String"}, {"lc", "LowCardinality(String)"}, {"fs", "FixedString(20)"},
	}
	var structure, shuffled []string
	for _, c := range columns {
		structure = append(structure, c.name+" "+c.of)
		shuffled = append(shuffled, c.name)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	keys := []string{"u64", "intHash32(i16)", "intHash32(u64)", "intHash64(i64)", "cityHash64(lc, id)"}
	for _, f := range []string{"cityHash64", "sipHash64", "xxHash64"} {
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		keys = append(keys, f+"("+strings.Join(shuffled, ",")+")", f+"("+strings.Join(shuffled[:2], ",")+")")
	}

	const rows = 3000
	e, dir := newEngine(t), t.TempDir()
	all := strings.Join(structure, ", ")
	e.exec(t, "CREATE TABLE t ("+all+", shard UInt8 MATERIALIZED toUInt8OrZero(getSetting('log_comment'))) ENGINE = MergeTree ORDER BY tuple()")
	write(t, filepath.Join(dir, "rows.ndjson"), e.exec(t, fmt.Sprintf(
		"SELECT * REPLACE (toFixedString(substring(hex(fs), 1, 15), 20) AS fs) FROM generateRandom($$%s$$, %d, 60) LIMIT %d FORMAT JSONEachRow", all, seed, rows))+"\n")
	file := filepath.Join(t.TempDir(), "pipeline.yaml")
	for i, key := range keys {
		t.Run(key, func(t *testing.T) {
			e.exec(t, "TRUNCATE TABLE t")
			write(t, file, fmt.Sprintf(`pipeline: {name: load}
source: {s3: {url: "file://%s/"}}
feed: {memory: {}}
framing: {ndjson: {}}
sink:
  clickhouse:
    shards: [{replicas: [%q], weight: 2}, {replicas: [%q]}, {replicas: [%q], weight: 4}]
    table: %s.t
    dedup: "off"
    format: %s
    distributed: {key: %q}
`, dir, e.shard(t, "1"), e.shard(t, "2"), e.shard(t, "3"), e.database, []string{"rowbinary", "native"}[i%2], key)+decode)
			run{Binary: plainBinary}.completes(t, file)
			e.wants(t, "SELECT count(), countIf(shard != [1, 1, 2, 3, 3, 3, 3]["+key+" % 7 + 1]) FROM t", fmt.Sprintf("%d\t0", rows))
		})
	}
}
