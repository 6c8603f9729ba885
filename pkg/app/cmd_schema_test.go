package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/spate-go/spate/pkg/config"
	"github.com/spate-go/spate/pkg/config/schema"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/plan"
)

func TestEveryKeyHasItsNote(t *testing.T) {
	types, notes, err := described()
	if err != nil {
		t.Fatal(err)
	}
	if err := notes.Check(types); err != nil {
		t.Errorf("%v: keys.txt has a line for each key, and docs/PIPELINE.md is made anew with -update", err)
	}
}

// ourSchema is what spate schema prints.
func ourSchema(t *testing.T) map[string]any {
	t.Helper()
	code, stdout, stderr := cli(t, "schema")
	if code != exitOK || stderr != "" {
		t.Fatalf("code %d: %s", code, stderr)
	}
	var s map[string]any
	if err := json.Unmarshal([]byte(stdout), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// bySchema judges the text of a pipeline file by the schema.
func bySchema(t *testing.T, s map[string]any, text string) error {
	t.Helper()
	var doc any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	v, err := generic(doc)
	if err != nil {
		t.Fatal(err)
	}
	return valid(s, v, "$")
}

// minimal is a pipeline file to which more is added.
const minimal = "pipeline: {name: x}\nsource: {s3: {url: s3://b/p/}}\n"

func TestTheSchemaTakesWhatIsReadAndRefusesWhatIsNot(t *testing.T) {
	s := ourSchema(t)
	for _, c := range []struct {
		ok   bool
		text string
	}{
		{true, minimal + "feed: {memory: {}}\nsink: {stdout: {}}"},
		{true, minimal + "feed: {memory: }\nsink: {stdout: }"},
		{true, minimal + "feed:\n  units_held: ${N:-3}\n  memory: {attempt_cap: \"5\"}\nsink: {file: {path: 7}}"},
		{true, minimal + "feed: {memory: {}}\nframing: {json_array: {path: a.b, max_record: 1.5 MiB}}\ndecode: {json: {on_error: fail, reject_duplicate_keys: true}}\nsink: {blackhole: {}}"},
		{true, minimal + "feed: {memory: {}}\ndecode: {json: {}}\nchain: [{filter: a > 1}, {set: {b: a + 1}}, {rename: {a: c}}, {explode: d, merge: true}, {parse: {field: m, as: json}}, {route: [{to: good, when: c > 1}, {to: bad}], unmatched: skip}]\nsinks: {good: {file: {path: a}}, bad: {stdout: {}}}"},
		{true, "pipeline: {name: x, threads: 2, memory: 64MiB}\nsource: {s3: {url: 's3://b/p/', include: ['**/*.gz', 7], compression: gzip, target: 67108864, archived: skip, modified: {after: '2026-01-01', before: ''}, path_style: true}}\nfeed: {memory: {}}\nadmin: {listen: ':9090'}\nmetrics: {exporter: none}\njob: {name: y}\nsink: {s3: {url: 's3://other/rows/', compression: zstd, level: 3}}"},

		{false, "source: {s3: {url: s3://b/p/}}\nfeed: {memory: {}}\nsink: {stdout: {}}"},
		{false, "pipeline: {}\nsource: {s3: {url: s3://b/p/}}\nfeed: {memory: {}}\nsink: {stdout: {}}"},
		{false, "pipeline: {name: x}\nsource: {}\nfeed: {memory: {}}\nsink: {stdout: {}}"},
		{false, "pipeline: {name: x}\nsource:\nfeed: {memory: {}}\nsink: {stdout: {}}"},
		{false, minimal + "sink: {stdout: {}}"},
		{false, minimal + "feed: {}\nsink: {stdout: {}}"},
		{false, minimal + "feed: {memory: {}, sqs: {queue_url: q}}\nsink: {stdout: {}}"},
		{false, minimal + "feed: {memory: {}}\nsink: {stdout: {}, blackhole: {}}"},
		{false, minimal + "feed: {memory: {}}\nsink: {file: {}}"},
		{false, minimal + "feed: {memory: {}}\nsink: {file: }"},
		{false, minimal + "feed: {memory: {}}\nsinks: {a: {}}"},
		{false, minimal + "feed: {memory: {}}\nsinks: {a: {file: {pth: x}}}"},
		{false, minimal + "feed: {memory: {}}\nsink: {stdout: {}}\nframing: {}"},
		{false, minimal + "feed: {memory: {}}\nsink: {stdout: {}}\nframing: {csv: {}}"},
		{false, minimal + "feed: {memory: {attempt_cap: many}}\nsink: {stdout: {}}"},
		{false, minimal + "feed: {memory: {attempt_cap: 1.5}}\nsink: {stdout: {}}"},
		{false, minimal + "feed: {memory: {}}\nsink: {stdout: {}}\ndecode: {json: {on_error: ignore}}"},
		{false, minimal + "feed: {memory: {}}\nsink: {stdout: {}}\ndecode: {json: {reject_duplicate_keys: yes please}}"},
		{false, minimal + "feed: {memory: {}}\nsink: {stdout: {}}\ndecode: {json: {}}\nchain: [{filter: a > 1, drop: [b]}]"},
		{false, minimal + "feed: {memory: {}}\nsink: {stdout: {}}\ndecode: {json: {}}\nchain: [{}]"},
		{false, minimal + "feed: {memory: {}}\nsink: {stdout: {}}\ndecode: {json: {}}\nchain: {filter: a > 1}"},
		{false, minimal + "feed: {memory: {}}\nsink: {stdout: {}}\npipelines: {}"},
		{false, "pipeline: {name: x, memory: 64M}\nsource: {s3: {url: s3://b/p/}}\nfeed: {memory: {}}\nsink: {stdout: {}}"},
		{false, "pipeline: {name: x, memory: lots}\nsource: {s3: {url: s3://b/p/}}\nfeed: {memory: {}}\nsink: {stdout: {}}"},
	} {
		path := filepath.Join(t.TempDir(), "p.yaml")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, read := Load(path, nil, func(string) (string, bool) { return "", false })
		judged := bySchema(t, s, c.text)
		if (read == nil) != c.ok || (judged == nil) != c.ok {
			t.Errorf("want valid %v; reading it: %v; by the schema: %v\n%s", c.ok, read, judged, c.text)
		}
	}
}

// The pipeline files of this repository, and those in its pages.
func TestTheSchemaTakesEveryFileOfOurs(t *testing.T) {
	s := ourSchema(t)
	texts := map[string]string{}
	for _, glob := range []string{"../../examples/*/*.yaml", "../../tests/bench/*.yaml"} {
		files, err := filepath.Glob(glob)
		if err != nil || len(files) == 0 {
			t.Fatal(glob, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			texts[f] = string(text)
		}
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	for _, page := range []string{"../../README.md", "../../docs/PIPELINE.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range block.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(b[1], "pipeline:") {
				texts[fmt.Sprintf("%s, block %d", page, i)] = b[1]
			}
		}
	}
	if len(texts) < 6 {
		t.Fatalf("only %d files", len(texts))
	}
	for name, text := range texts {
		if err := bySchema(t, s, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestThePageHasTheTypesTables(t *testing.T) {
	const page, from, to = "../../docs/PIPELINE.md", "<!-- keys -->\n", "<!-- /keys -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	types, notes, err := described()
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(text), from)
	_, tail, ok2 := strings.Cut(rest, to)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the tables", page)
	}
	want := head + from + schema.Markdown(types, notes) + "\n" + to + tail
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, string(text)); d != "" {
		t.Errorf("%s (-update writes it anew):\n-want +got:\n%s", page, d)
	}
}

// Defaults that the page and the schema show are those that hold.
func TestDefaultsAreAsTheNotesSay(t *testing.T) {
	_, notes, err := described()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int64{
		"pipeline.memory":         DefaultMemory,
		"source.s3.target":        plan.DefaultTarget,
		"framing.auto.max_record": frame.DefaultMaxRecord,
	} {
		if got := notes[path].Default; got != config.Size(want).String() {
			t.Errorf("%s: %s, want %s", path, got, config.Size(want))
		}
	}
}
