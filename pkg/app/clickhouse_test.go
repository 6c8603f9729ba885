package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/config"
	"github.com/spate-go/spate/pkg/sink/clickhousesink"
)

// chFile is a pipeline file with a sink of ClickHouse.
func chFile(sink, more string) string {
	return minimal + "feed: {memory: {}}\nsink: {clickhouse: {" + sink + "}}\n" + more
}

func loadWithSecret(t *testing.T, text string) (Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(path, nil, func(name string) (string, bool) { return "hunter2", name == "PW" })
}

func TestAClickHouseSectionSaysWhatIsWrongByItsPath(t *testing.T) {
	const decode = "decode: {json: {}}\n"
	for _, c := range []struct{ sink, more, want string }{
		{"url: 'http://a:8123', table: t", decode, ""},
		{"shards: [{replicas: ['https://a:8443', 'https://b:8443'], weight: 2}], table: d.t", decode, ""},
		{"url: 'http://a:8123'", decode, "sink.clickhouse.table: required"},
		{"table: t", decode, "sink.clickhouse: needs one of: shards, url"},
		{"url: 'http://a', shards: [{replicas: ['http://b']}], table: t", decode, "sink.clickhouse: has shards and url: keep one"},
		{"url: 'a:8123', table: t", decode, "sink.clickhouse.url: is not of the form http://host:8123"},
		{"url: 'http://u:${PW}@a', table: t", decode, "sink.clickhouse.url: holds a user"},
		{"url: 'http://a?user=x', table: t", decode, "sink.clickhouse.url: holds a query"},
		{"shards: [{replicas: ['http://a', 'tcp://b:9000']}], table: t", decode, "sink.clickhouse.shards[0].replicas[1]: is not of the form"},
		{"shards: [{weight: 1}], table: t", decode, "sink.clickhouse.shards[0].replicas: required"},
		{"url: 'http://a', table: t, format: csv", decode, "sink.clickhouse.format: \"csv\" is not one of"},
		{"url: 'http://a', table: t, format: json_each_row, columns: {a: b}", decode, "sink.clickhouse.columns: needs rows that are made here"},
		{"url: 'http://a', table: t, columns: {}", decode, "sink.clickhouse.columns: is empty"},
		{"url: 'http://a', table: t, columns: {a: 'x y'}", decode, "sink.clickhouse.columns.a: want keys"},
		{"url: 'http://a', table: t, columns: {a: object.kye}", decode, "did you mean object.key?"},
		{"url: 'http://a', table: t, columns: {a: object.key, b: http.status, c: record.index, d: '[\"x y\"]'}", decode, ""},
		{"url: 'http://a', table: t, columns: {a: statu}", decode + "chain: [{select: [status]}]\n", "the steps before leave no statu: did you mean status?"},
		{"url: 'http://a', table: t, columns: {a: status.x}", decode + "chain: [{select: [status]}, {set: {b: \"1\"}}]\n", ""},
		{"url: 'http://a', table: t, segments: -1", decode, "sink.clickhouse.segments: -1 is less than 0"},
	} {
		_, err := loadWithSecret(t, chFile(c.sink, c.more))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.sink, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: it repeats a secret: %v", c.sink, err)
		}
	}
}

func TestAPasswordShowsNowhere(t *testing.T) {
	c, err := loadWithSecret(t, chFile("url: 'http://a', table: t, user: u, password: '${PW}'", "decode: {json: {}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := c.Sink.ClickHouse
	if got := s.options().Password; got != "hunter2" {
		t.Fatalf("the sink gets %q", got)
	}
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s %q", *s, *s, *s, s.Password, s.Password), string(asJSON)} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("it shows in %s", text)
		}
	}
	before, blocks := c.pipelineDigest(), c.blocks()
	s.Password = "another"
	if c.pipelineDigest() != before {
		t.Error("the pipeline's digest changes with the password")
	}
	s.Table = "other"
	if c.pipelineDigest() == before {
		t.Error("the pipeline's digest does not change with the table")
	}
	if blocks != "" {
		t.Error("ClickHouse names no object by block, and its section is part of the read digest")
	}
}

func TestSegmentsThatASinkJoinsNeedMemory(t *testing.T) {
	for segments, want := range map[string]bool{"segments: 1": true, "segments: 64": false} {
		c, err := loadWithSecret(t, chFile("url: 'http://127.0.0.1:1', table: t, "+segments, "decode: {json: {}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		c.Pipeline.Memory, c.Source.S3.URL = config.Size(128<<20), "file://"+t.TempDir()
		_, err = Open(t.Context(), c, Pipeline{}, Options{})
		if enough := err == nil || !strings.Contains(err.Error(), "pipeline.memory"); enough != want {
			t.Errorf("%s: %v", segments, err)
		}
		if text := fmt.Sprint(err); !want && (!strings.Contains(text, "MiB that one unit needs") || !strings.Contains(text, "set fewer segments")) {
			t.Errorf("it says neither in MiB how much nor which key: %v", err)
		}
	}
}

func TestRowsOfAnotherFormAreRefusedBeforeTheServerIsAsked(t *testing.T) {
	for _, c := range []struct{ sink, more, want string }{
		{"", "", "add decode: {json: {}}, or format: json_each_row"},
		{"", "decode: {raw: {}}\n", "add decode: {json: {}}, or format: json_each_row"},
		{", format: json_each_row", "", "connection refused"},
		{"", "decode: {json: {}}\n", "connection refused"},
	} {
		cfg, err := loadWithSecret(t, chFile("url: 'http://127.0.0.1:1', table: t"+c.sink, c.more))
		if err != nil {
			t.Fatal(err)
		}
		cfg.Source.S3.URL = "file://" + t.TempDir()
		if _, err = Open(t.Context(), cfg, Pipeline{}, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %q: %v, want %s", c.sink, c.more, err, c.want)
		}
	}
	cfg, err := loadWithSecret(t, chFile("url: 'http://127.0.0.1:1', table: t", ""))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Source.S3.URL = "file://" + t.TempDir()
	if _, err := Open(t.Context(), cfg, Pipeline{Chain: chain.Raw("\n")}, Options{}); err == nil || !strings.Contains(err.Error(), "Pipeline.Columns") {
		t.Errorf("a chain in Go: %v", err)
	}
}

func TestEveryKeyReachesTheSink(t *testing.T) {
	c, err := loadWithSecret(t, chFile(`
  shards: [{replicas: ['http://a', 'http://b'], weight: 3}, {replicas: ['http://c']}], database: d, table: t, user: u, password: '${PW}',
  ca_file: f, format: native, compression: zstd, level: 5, settings: {x: "1"}, quorum: auto, async_insert: wait, dedup: required,
  rejected: fail, max_rejected: 7, segments: 2, max_rows: 10, max_bytes: 1MiB, timeouts: {connect: 1s, insert: 2s},
  distributed: {key: k, cluster: cl, table: dt}`, "decode: {json: {}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := clickhousesink.Options{
		Shards:   []clickhousesink.Shard{{Replicas: []string{"http://a", "http://b"}, Weight: 3}, {Replicas: []string{"http://c"}}},
		Database: "d", Table: "t", User: "u", Password: "hunter2", CAFile: "f",
		Format: clickhousesink.Native, Compression: clickhousesink.Zstd, Level: 5,
		Settings: map[string]string{"x": "1"}, Quorum: "auto", AsyncInsert: clickhousesink.AsyncWait, Dedup: clickhousesink.DedupRequired,
		Rejected: clickhousesink.RejectFail, MaxRejected: 7, Segments: 2, MaxRows: 10, MaxBytes: 1 << 20,
		DialTimeout: time.Second, Timeout: 2 * time.Second,
		Sharding: clickhousesink.Sharding{Key: "k", Cluster: "cl", Table: "dt"},
	}
	if d := cmp.Diff(want, c.Sink.ClickHouse.options()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	c, err = loadWithSecret(t, chFile("url: 'http://a', table: t", "decode: {json: {}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want = clickhousesink.Options{
		Shards: []clickhousesink.Shard{{Replicas: []string{"http://a"}}}, Table: "t", Compression: clickhousesink.LZ4, Segments: defaultSegments,
	}
	if d := cmp.Diff(want, c.Sink.ClickHouse.options()); d != "" {
		t.Errorf("defaults: -want +got:\n%s", d)
	}
}
