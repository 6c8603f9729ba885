package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/config"
	"github.com/spate-go/spate/pkg/config/schema"
)

type sink struct {
	File   *file  `yaml:"file"`
	Stdout *empty `yaml:"stdout"`
}

type file struct {
	Path string `yaml:"path,required" example:"out"`
}

type empty struct{}

type whole struct {
	Name  string          `yaml:"name" oneof:"a|b"`
	N     int             `yaml:"n"`
	Sink  *sink           `yaml:"sink"`
	Sinks map[string]sink `yaml:"sinks"`
	Steps []step          `yaml:"steps"`
}

type step struct {
	Keep []string     `yaml:"keep"`
	Set  config.Pairs `yaml:"set"`
}

const notes = `# a comment

name | a | What it is called | with a bar.
n | 3 | A number.
sink | required one of: file, stdout | Where it goes.
sink.file | - | A file.
sink.file.path | - | Its path.
sink.stdout | - | Standard output.
sinks | - | Several.
steps | none one of: keep, set | What is done.
steps[].keep | - | Kept.
steps[].set | - | Set.
`

func described(t *testing.T, text string) (config.Type, schema.Notes) {
	t.Helper()
	types, err := config.Describe(whole{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := schema.ParseNotes(text)
	if err != nil {
		t.Fatal(err)
	}
	return types, n
}

func TestTheSchemaHasEveryKeyWithItsNote(t *testing.T) {
	types, n := described(t, notes)
	text, err := schema.JSON(types, n, "T")
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	sinkKeys := `"additionalProperties": false, "type": "object", "oneOf": [{"required": ["file"]}, {"required": ["stdout"]}], "properties": {
		"file": {"description": "A file.", "type": "object", "additionalProperties": false, "required": ["path"],
			"properties": {"path": {"description": "Its path.", "examples": ["out"], "type": ["string", "number", "boolean"]}}},
		"stdout": {"description": "Standard output.", "type": ["object", "null"], "additionalProperties": false, "properties": {}}}`
	var want any
	err = json.Unmarshal([]byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T", "type": "object",
		"additionalProperties": false, "required": ["sink"], "properties": {
		"name": {"description": "What it is called | with a bar.", "default": "a", "anyOf": [{"enum": ["a", "b"]}, {"type": "string", "pattern": "\\$\\{"}]},
		"n": {"description": "A number.", "default": 3, "anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^-?[0-9]+$|\\$\\{"}]},
		"sink": {"description": "Where it goes.", `+sinkKeys+`},
		"sinks": {"description": "Several.", "type": "object", "additionalProperties": {`+sinkKeys+`}},
		"steps": {"description": "What is done.", "type": "array", "items": {"type": "object", "additionalProperties": false,
			"oneOf": [{"required": ["keep"]}, {"required": ["set"]}], "properties": {
			"keep": {"description": "Kept.", "type": "array", "items": {"type": ["string", "number", "boolean"]}},
			"set": {"description": "Set.", "type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}}}}
		}}`), &want)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if at := strings.Index(string(text), `"sink"`); at < strings.Index(string(text), `"name"`) {
		t.Error("keys are not in the order of the types")
	}
}

func TestTheTablesHaveALineForEveryKey(t *testing.T) {
	types, n := described(t, notes)
	want := "\n### name\n\n| key | type | default | meaning |\n|---|---|---|---|\n" +
		"| `name` | `a`, `b` | a | What it is called \\| with a bar. |\n" +
		"\n### n\n\n| key | type | default | meaning |\n|---|---|---|---|\n" +
		"| `n` | integer | 3 | A number. |\n" +
		"\n### sink\n\n| key | type | default | meaning |\n|---|---|---|---|\n" +
		"| `sink` | section | required | Where it goes. Exactly one of `file`, `stdout`. |\n" +
		"| `sink.file` | section |  | A file. |\n" +
		"| `sink.file.path` | string | required | Its path. For example `out`. |\n" +
		"| `sink.stdout` | section |  | Standard output. |\n" +
		"\n### sinks\n\n| key | type | default | meaning |\n|---|---|---|---|\n" +
		"| `sinks` | map of names to sections |  | Several. Each as `sink`. |\n" +
		"\n### steps\n\n| key | type | default | meaning |\n|---|---|---|---|\n" +
		"| `steps` | list of sections | none | What is done. Exactly one of `keep`, `set`. |\n" +
		"| `steps[].keep` | list of strings |  | Kept. |\n" +
		"| `steps[].set` | map of names to strings |  | Set. |\n"
	if d := cmp.Diff(want, schema.Markdown(types, n)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestNotesAndTypesAreKeptInStep(t *testing.T) {
	types, n := described(t, notes)
	if err := n.Check(types); err != nil {
		t.Error(err)
	}
	for change, want := range map[string]string{
		strings.Replace(notes, "n | 3 | A number.\n", "", 1):         "n has no note",
		notes + "steps[].gone | - | Gone.\n":                         "steps[].gone has a note and is not a key",
		notes + "sinks.NAME.file | - | Elsewhere.\n":                 "sinks.NAME.file has a note and is not a key",
		strings.Replace(notes, "file, stdout", "file, s3", 1):        "sink is one of s3, which is not a key of it",
		strings.Replace(notes, "one of: keep, set", "one of: x", 1):  "steps is one of x, which is not a key of it",
		strings.Replace(notes, "sink.stdout | - | Standard", "#", 1): "sink.stdout has no note",
	} {
		types, n := described(t, change)
		if err := n.Check(types); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestALineThatIsNoNoteIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		"a | b":                   "line 1",
		"\na | - | x\na | - | y":  "line 3: a has a note already",
		"a | - | ":                "line 1",
		"# fine\nwhatever it is.": "line 2",
	} {
		if _, err := schema.ParseNotes(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
