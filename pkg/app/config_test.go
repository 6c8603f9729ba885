package app_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/config"
	"github.com/spate-go/spate/pkg/report"
)

const least = `pipeline: {name: p}
source: {s3: {url: "s3://b/"}}
feed: {memory: }
sink: {stdout: }
`

// load reads a file called p.yaml.
func load(t *testing.T, text string, sets ...string) (app.Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := app.Load(path, sets, os.LookupEnv)
	if err != nil {
		err = errors.New(strings.ReplaceAll(err.Error(), path, "p.yaml"))
	}
	return c, err
}

func TestLoadFillsInWhatTheFileLeavesOut(t *testing.T) {
	c, err := load(t, least)
	if err != nil {
		t.Fatal(err)
	}
	n := runtime.GOMAXPROCS(0)
	if c.Pipeline.Threads != n || c.Feed.UnitsHeld != 2*n || c.Pipeline.Memory != app.DefaultMemory || c.Job.Name != "p" {
		t.Errorf("got %+v, feed %+v, job %+v", c.Pipeline, c.Feed, c.Job)
	}
	if c.Feed.Memory == nil || c.Sink.Stdout == nil || c.Sink.File != nil || c.Framing != nil {
		t.Errorf("a name without a body is lost, or there is one that nobody gave: %+v", c)
	}
}

func TestLoadNamesAllThatIsWrongWhereItStands(t *testing.T) {
	for _, tc := range []struct {
		name, yaml string
		sets       []string
		want       string
	}{
		{"too little and too much", `pipeline:
  name: p
  threads: -1
source:
  s3: {url: "s3://b/", target: 1KiB}
feed:
  units_held: -2
  memory: {attempt_cap: -3}
framing: {}
decode:
  json:
  raw:
chain:
  - filter: a
  - {filter: a, select: [b]}
  - {}
sink:
  file: {path: out}
  stdout:
`, nil, `p.yaml:3: pipeline.threads: -1 is less than 0
p.yaml:5: source.s3.target: 1024 is less than 1048576
p.yaml:7: feed.units_held: -2 is less than 0
p.yaml:8: feed.memory.attempt_cap: -3 is less than 0
p.yaml:9: framing: needs one of: auto, json, json_array, lines, ndjson, rejects
p.yaml:10: decode: has json and raw: keep one
p.yaml:15: chain[1]: has filter and select: keep one
p.yaml:16: chain[2]: needs one of: drop, explode, filter, flatten, parse, rename, route, select, set
p.yaml:17: sink: has file and stdout: keep one`},
		{"no feed", "pipeline: {name: p}\nsource: {s3: {url: \"s3://b/\"}}", nil,
			"p.yaml:1: feed: required: say how units travel, in one process by feed: {memory: {}}"},
		{"a section under another name", strings.Replace(least, "feed", "feeds", 1), nil,
			`p.yaml:1: feed: required: say how units travel, in one process by feed: {memory: {}}
p.yaml:3: feeds: unknown key, did you mean feed?`},
		{"what cannot be read with what does not fit, and a section once", `pipeline: {name: p, thread: 1, threads: -1}
source: {s4: {}}
feed: memory
decode: {}
chain:
  - map: x
  - filter: {}
sink: {fiel: {path: out}}
`, nil, `p.yaml:1: pipeline.thread: unknown key, did you mean threads?
p.yaml:1: pipeline.threads: -1 is less than 0
p.yaml:2: source.s4: unknown key, did you mean s3?
p.yaml:3: feed: want a mapping, got a name: write {memory: {}}
p.yaml:4: decode: needs one of: json, raw
p.yaml:6: chain[0].map: unknown key; known here: filter, select, rename, drop, set, flatten, explode, merge, parse, route, unmatched
p.yaml:7: chain[1].filter: want a scalar, got a mapping
p.yaml:8: sink.fiel: unknown key, did you mean file?`},
		{"a flag", least, []string{"pipeline.threads=-1", "source.s3.compression=gzp"},
			`--set: source.s3.compression: "gzp" is not one of auto, none, gzip, zstd; did you mean gzip?
--set: pipeline.threads: -1 is less than 0`},
		{"a name that no job may have", strings.Replace(least, "name: p", "name: a b", 1), nil,
			`p.yaml:1: pipeline.name: job "a b": a name has 1 to 100 letters, digits, dots, dashes and underscores`},
		{"a job of its own name", strings.Replace(least, "name: p", "name: a b", 1), []string{"job.name=a/b"},
			`--set: job.name: job "a/b": a name has 1 to 100 letters, digits, dots, dashes and underscores`},
		{"a flag that leads nowhere", least, []string{"pipeline.name.x=1"},
			"--set: pipeline.name: holds a single value: the path cannot lead through it"},
		{"a flag that is none", least, []string{"pipeline"}, "--set pipeline: not of the form path=value"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := load(t, tc.yaml, tc.sets...); err == nil || err.Error() != tc.want {
				t.Errorf("got\n%v\nwant\n%s", err, tc.want)
			}
		})
	}
}

func TestASinkIsReplacedByFlags(t *testing.T) {
	c, err := load(t, least, "sink.stdout=null", "sink.file.path=out")
	if err != nil {
		t.Fatal(err)
	}
	if c.Sink.Stdout != nil || c.Sink.File == nil || c.Sink.File.Path != "out" {
		t.Errorf("sink %+v", c.Sink)
	}
}

func TestOpenFillsInWhatTheProgramLeavesOut(t *testing.T) {
	c := app.Config{
		Pipeline: app.PipelineConfig{Name: "p"},
		Source:   app.SourceConfig{S3: &app.S3Config{URL: "file://" + t.TempDir()}},
		Feed:     &app.FeedConfig{Memory: &app.MemoryFeedConfig{}},
		Sink:     &app.SinkConfig{Blackhole: &app.NoConfig{}},
	}
	j, err := app.Open(t.Context(), c, app.Pipeline{}, app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := j.Run(t.Context())
	if err != nil || r.Job != "p" || r.State != report.Completed {
		t.Errorf("report %+v, %v", r, err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenNamesAllThatIsWrongByItsPath(t *testing.T) {
	c := app.Config{
		Pipeline: app.PipelineConfig{Name: "p", Threads: -1},
		Source:   app.SourceConfig{S3: &app.S3Config{URL: "s3://b/", Target: config.Size(1)}},
		Sink:     &app.SinkConfig{},
	}
	_, err := app.Open(t.Context(), c, app.Pipeline{}, app.Options{})
	want := `source.s3.target: 1 is less than 1048576
pipeline.threads: -1 is less than 0
feed: required: say how units travel, in one process by feed: {memory: {}}
sink: needs one of: blackhole, clickhouse, file, s3, stdout`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}
