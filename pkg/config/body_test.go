package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/config"
)

// component is a struct with a field for each thing that may be named.
type component struct {
	Stdout *bodiless `yaml:"stdout"`
	File   *bodyFile `yaml:"file"`
	Count  *int      `yaml:"count"`
}

type bodyFile struct {
	Path string `yaml:"path,required" example:"out/"`
}

type components struct {
	Stdout   *bodiless             `yaml:"stdout"`
	File     *bodyFile             `yaml:"file"`
	After    *config.Time          `yaml:"after"`
	Count    *int                  `yaml:"count"`
	Sink     component             `yaml:"sink"`
	Maybe    *component            `yaml:"maybe"`
	Must     *bodiless             `yaml:"must,required"`
	List     []component           `yaml:"list"`
	Pointers []*component          `yaml:"pointers"`
	Named    map[string]*component `yaml:"named"`
}

func TestANameWithoutABodyIsThere(t *testing.T) {
	here := component{Stdout: &bodiless{}}
	for _, tc := range []struct {
		name, yaml string
		want       components
	}{
		{"at the top", "stdout:", components{Stdout: &bodiless{}}},
		{"written as null", "stdout: null", components{Stdout: &bodiless{}}},
		{"written as a tilde", "stdout: ~", components{Stdout: &bodiless{}}},
		{"nested", "sink:\n  stdout:\n", components{Sink: here}},
		{"in a flow mapping", "sink: {stdout: }", components{Sink: here}},
		{"behind a pointer", "maybe: {stdout: }", components{Maybe: &here}},
		{"as a pointer with nothing in it", "maybe:", components{Maybe: &component{}}},
		{"in a list", "list:\n- stdout:\n-\n", components{List: []component{here, {}}}},
		{"in a list of pointers", "pointers:\n- stdout:\n-\n", components{Pointers: []*component{&here, {}}}},
		{"in a map", "named: {a: {stdout: }, b: }", components{Named: map[string]*component{"a": &here, "b": {}}}},
		{"but not where it is left out", "sink: {}\nmaybe: {}", components{Maybe: &component{}}},
		{"but not where a scalar belongs", "after:\ncount:", components{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			doc, err := config.Parse("f.yaml", []byte("must:\n"+tc.yaml), nil)
			if err != nil {
				t.Fatal(err)
			}
			var got components
			if err := doc.Decode(&got); err != nil {
				t.Fatal(err)
			}
			tc.want.Must = &bodiless{}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestABodyThatIsMissingLacksWhatItRequires(t *testing.T) {
	text := `must:
file:
sink:
  file:
list:
  - file:
pointers: [{file: }]
named:
  a:
    file:
`
	doc, err := config.Parse("f.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `f.yaml:2: file.path: required, for example out/
f.yaml:4: sink.file.path: required, for example out/
f.yaml:6: list[0].file.path: required, for example out/
f.yaml:7: pointers[0].file.path: required, for example out/
f.yaml:10: named.a.file.path: required, for example out/`
	var got components
	if err := doc.Decode(&got); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestANullIsNoMemberWhereItHasNoBody(t *testing.T) {
	doc, err := config.Parse("f.yaml", []byte("times: [~]\nnumbers: [1, ~]\nnamed: {a: }"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Times   []config.Time   `yaml:"times"`
		Numbers []*int          `yaml:"numbers"`
		Named   map[string]bool `yaml:"named"`
	}
	want := "f.yaml:1: times[0]: no value\nf.yaml:2: numbers[1]: no value\nf.yaml:3: named.a: no value"
	if err := doc.Decode(&s); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestSettingANullTakesANameAway(t *testing.T) {
	doc, err := config.Parse("f.yaml", []byte("must:\nsink: {file: {path: out}, stdout: }"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"sink.file", "sink.count", "must"} {
		if err := doc.Set(path, "null"); err != nil {
			t.Fatal(err)
		}
	}
	var got components
	if err := doc.Decode(&got); err == nil || err.Error() != "f.yaml:1: must: required" {
		t.Errorf("got %v", err)
	}
	if got.Sink.File != nil || got.Sink.Stdout == nil {
		t.Errorf("sink %+v", got.Sink)
	}
}
