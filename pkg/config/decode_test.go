package config_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/config"
)

const whole = `
pipeline: {name: access-logs, memory: 192MiB}
source:
  s3:
    url: s3://bucket/prefix/
    include: ["**/*.gz", 7]
    compression: gzip
    path_style: true
    target: 64MiB
    max_record: 1048576
    timeout: 1m30s
    level: -128
    settings: {b: 2, a: 1}
    labels: {z: 1, y: 2, x: 3}
    codec: zstd
    password: ${SECRET}
    modified: {after: 2026-01-31, before: "2026-02-01T10:00:00+02:00"}
sinks: {good: {stdout: }, bad: {file: {path: out}}}
chain:
  - filter: "status >= 500"
  - select: [ts, status]
`

func TestEveryKindOfFieldIsRead(t *testing.T) {
	s, err := load("pipeline.yaml", []byte(whole), env)
	if err != nil {
		t.Fatal(err)
	}
	if s.Pipeline.Name != "access-logs" || s.Pipeline.Memory != 192<<20 || s.Job != nil {
		t.Errorf("pipeline %+v, job %v", s.Pipeline, s.Job)
	}
	want := s3Spec{
		URL: "s3://bucket/prefix/", Include: []string{"**/*.gz", "7"}, Compression: "gzip", PathStyle: true,
		Target: 64 << 20, MaxRecord: 1 << 20, Timeout: 90 * time.Second, Level: -128,
		Settings: map[string]int64{"a": 1, "b": 2}, Codec: "zstd",
		Labels: map[string]int{"x": 3, "y": 2, "z": 1}, Password: secret,
	}
	want.Modified.After = config.Time{Time: time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)}
	want.Modified.Before = config.Time{Time: time.Date(2026, 2, 1, 8, 0, 0, 0, time.UTC)}
	equal := cmp.Comparer(func(a, b config.Time) bool { return a.Equal(b.Time) })
	if d := cmp.Diff(&want, s.Source.S3, equal); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if good, bad := s.Sinks["good"], s.Sinks["bad"]; len(s.Sinks) != 2 || good.Stdout == nil || good.File != nil || bad.File == nil || bad.File.Path != "out" {
		t.Errorf("sinks %+v", s.Sinks)
	}
	if d := cmp.Diff([]stepSpec{{Filter: "status >= 500"}, {Select: []string{"ts", "status"}}}, s.Chain); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestWhatTheFileLeavesOutKeepsItsDefault(t *testing.T) {
	doc, err := config.Parse("f.yaml", []byte("n: 1\nnull_n:\nlist: [c]\nnested: {b: 2}\nempty: []\ntime:\nptr3: {b: 5}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	type nested struct {
		A int `yaml:"a"`
		B int `yaml:"b"`
	}
	type into struct {
		N     int            `yaml:"n"`
		NullN int            `yaml:"null_n"`
		Gone  int            `yaml:"gone"`
		List  []string       `yaml:"list"`
		Empty []string       `yaml:"empty"`
		Map   map[string]int `yaml:"map"`
		Nest  nested         `yaml:"nested"`
		Ptr   *nested        `yaml:"ptr"`
		Time  *config.Time   `yaml:"time"`
		Ptr2  *nested        `yaml:"ptr2"`
		Ptr3  *nested        `yaml:"ptr3"`
	}
	got := into{
		N: 9, NullN: 9, Gone: 9, List: []string{"a", "b"}, Empty: []string{"a"},
		Map: map[string]int{"a": 1}, Nest: nested{9, 9}, Ptr2: &nested{A: 9}, Ptr3: &nested{A: 9},
	}
	want := into{
		N: 1, NullN: 9, Gone: 9, List: []string{"c"}, Empty: []string{},
		Map: map[string]int{"a": 1}, Nest: nested{9, 2}, Ptr2: &nested{A: 9}, Ptr3: &nested{A: 9, B: 5},
	}
	if err := doc.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestRequired(t *testing.T) {
	type into struct {
		URL  string    `yaml:"url,required"`
		N    int       `yaml:"n,required"`
		Ptr  *struct{} `yaml:"ptr,required"`
		List []string  `yaml:"list,required"`
		Deep struct {
			Key string `yaml:"key,required"`
		} `yaml:"deep"`
		Maybe *struct {
			Key string `yaml:"key,required"`
		} `yaml:"maybe"`
	}
	decode := func(text string, v into) string {
		doc, err := config.Parse("f.yaml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := doc.Decode(&v); err != nil {
			return err.Error()
		}
		return ""
	}
	t.Run("names every missing key, in nested structs too", func(t *testing.T) {
		want := "f.yaml:1: url: required\nf.yaml:1: n: required\nf.yaml:1: ptr: required\nf.yaml:1: list: required\nf.yaml:1: deep.key: required"
		if got := decode("{}", into{}); got != want {
			t.Errorf("got\n%s", got)
		}
	})
	t.Run("is not content with an empty text", func(t *testing.T) {
		doc, err := config.Parse("f.yaml", []byte("a: ''\nb: ${EMPTY}"), env)
		if err != nil {
			t.Fatal(err)
		}
		var s struct {
			A string `yaml:"a,required"`
			B string `yaml:"b,required"`
		}
		want := "f.yaml:1: a: required, but empty\nf.yaml:2: b: required, but the value of ${EMPTY} is empty"
		if err := doc.Decode(&s); err == nil || err.Error() != want {
			t.Errorf("got\n%v", err)
		}
	})
	t.Run("is content with zero that is written, and with a default", func(t *testing.T) {
		if got := decode("{n: 0, ptr: {}, list: [], deep: {key: x}}", into{URL: "default"}); got != "" {
			t.Error(got)
		}
	})
	t.Run("reaches behind a pointer once the file does", func(t *testing.T) {
		got := decode("{url: u, n: 0, ptr: {}, list: [], deep: {key: x}, maybe: {}}", into{})
		if got != "f.yaml:1: maybe.key: required" {
			t.Error(got)
		}
	})
}

func TestErrorsCarryTheirPlace(t *testing.T) {
	doc, err := config.Parse("f.yaml", []byte("a:\n  b: [1, 2, x]\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var into struct {
		A struct {
			B []int `yaml:"b"`
		} `yaml:"a"`
	}
	e, ok := errors.AsType[*config.Error](doc.Decode(&into))
	if want := (&config.Error{File: "f.yaml", Line: 2, Path: "a.b[2]", Text: `"x" is not a whole number`}); !ok || *e != *want {
		t.Errorf("got %+v", e)
	}
	for _, tc := range []struct{ path, want string }{
		{"a.b[1]", "f.yaml:2: a.b[1]: bad"},
		{"a.b[9].c", "f.yaml:2: a.b[9].c: bad"},
		{"a.c", "f.yaml:1: a.c: bad"},
		{"", "f.yaml:1: bad"},
	} {
		if got := doc.Errorf(tc.path, "bad").Error(); got != tc.want {
			t.Errorf("%q: got %q", tc.path, got)
		}
	}
}

func TestErrorfHidesTheValuesOfVariables(t *testing.T) {
	text := "sink:\n  url: https://u:${SECRET}@host/\n  list: [x${SECRET}]\n  short: ${SHORT}\n"
	doc, err := config.Parse("f.yaml", []byte(text), func(name string) (string, bool) {
		return map[string]string{"SECRET": secret, "SHORT": "a"}[name], true
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ path, text, want string }{
		{"sink.url", "no host in https://u:" + secret + "@host/", "f.yaml:2: sink.url: no host in https://u:***@host/"},
		{"sink.list[0]", secret + secret, "f.yaml:3: sink.list[0]: ******"},
		{"sink", "about " + secret + " elsewhere", "f.yaml:1: sink: about *** elsewhere"},
		{"sink.short", "a short value is not hidden", "f.yaml:4: sink.short: a short value is not hidden"},
	} {
		if got := doc.Errorf(tc.path, "%s", tc.text).Error(); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

func TestAMistakeInTheProgramIsAnErrorToo(t *testing.T) {
	doc, err := config.Parse("f.yaml", []byte("a: 1\nb: {x: y}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		A chan int       `yaml:"a"`
		B map[int]string `yaml:"b"`
	}
	var nilPointer *struct{}
	for name, into := range map[string]any{
		"an unsupported type": &s, "no pointer": struct{}{}, "a nil pointer": nilPointer, "nothing": nil,
	} {
		if err := doc.Decode(into); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestAFieldThatIsNotExportedTakesNoKey(t *testing.T) {
	doc, err := config.Parse("f.yaml", []byte("a: 1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		_ int `yaml:"a"`
	}
	if err := doc.Decode(&s); err == nil || !strings.Contains(err.Error(), "a: unknown key") {
		t.Errorf("got %v", err)
	}
}

func TestNumbersThatAreNone(t *testing.T) {
	for _, text := range []string{"NaN", "inf", "1e3", "1.0", "0x10", "1_000", "''", "1 2"} {
		doc, err := config.Parse("f.yaml", []byte("a: "+text), nil)
		if err != nil {
			t.Fatal(err)
		}
		var s struct {
			A int `yaml:"a"`
		}
		if err := doc.Decode(&s); err == nil || !strings.HasSuffix(err.Error(), "is not a whole number") {
			t.Errorf("%s: got %v, %v", text, s.A, err)
		}
	}
}

func TestAnUnknownKeySuggestsTheNearestKnownOne(t *testing.T) {
	for key, want := range map[string]string{
		"max-record": "max_record", "MaxRecord": "max_record", "MAX_RECORD": "max_record", "max record": "max_record",
		"ulr": "url", "includes": "include", "PATH-STYLE": "path_style", "compresion": "compression", "timeuot": "timeout",
		"prefix": "", "x": "", "recordmax": "", strings.Repeat("url", 50): "",
	} {
		doc, err := config.Parse("f.yaml", []byte(`{url: u, "`+key+`": 1}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		var s s3Spec
		err = doc.Decode(&s)
		_, guess, _ := strings.Cut(strings.TrimSuffix(err.Error(), "?"), "did you mean ")
		if guess != want {
			t.Errorf("%s: got %q, want %q", key, guess, want)
		}
	}
}

func TestJoinOrdersAllPartsByLine(t *testing.T) {
	other := errors.New("other")
	a := &config.Error{File: "f", Line: 9, Text: "a"}
	b := &config.Error{File: "f", Line: 3, Text: "b"}
	err := config.Join(other, errors.Join(a, b), nil, &config.Error{File: "f", Line: 5, Text: "c"})
	if got, want := err.Error(), "f:3: b\nf:5: c\nf:9: a\nother"; got != want || !errors.Is(err, other) {
		t.Errorf("got %q", got)
	}
	if config.Join(nil, nil) != nil {
		t.Error("nothing became an error")
	}
}

func TestAFileThatIsTooLongIsRefused(t *testing.T) {
	_, err := config.Parse("f.yaml", []byte("a: "+strings.Repeat("x", 1<<20)), nil)
	if err == nil || !strings.Contains(err.Error(), "1048579 bytes") {
		t.Errorf("got %v", err)
	}
}
