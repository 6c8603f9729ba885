package config_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/config"
)

type texts struct {
	A    string   `yaml:"a"`
	B    string   `yaml:"b"`
	List []string `yaml:"list"`
}

func parseTexts(t *testing.T, text string, env map[string]string) texts {
	t.Helper()
	doc, err := config.Parse("f.yaml", []byte(text), func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	var out texts
	if err := doc.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestVariables(t *testing.T) {
	env := map[string]string{"X": "x", "EMPTY": "", "_a1": "low", "1": "digit", "REF": "${X}", "PATTERN": "a$$b"}
	for _, tc := range []struct{ name, yaml, want string }{
		{"a plain value", `a: ${X}`, "x"},
		{"a quoted value", `a: "${X}"`, "x"},
		{"a single-quoted value", `a: '${X}'`, "x"},
		{"a value in a flow mapping needs no quotes", `{a: ${X}, b: ${X}}`, "x"},
		{"a part of a value", `a: s3://${X}/${_a1}-${1}/`, "s3://x/low-digit/"},
		{"an empty variable is a text", `a: ${EMPTY}`, ""},
		{"a set variable beats the default", `a: ${X:-d}`, "x"},
		{"the default of an unset variable", `a: ${NO:-d}`, "d"},
		{"the default of an empty variable", `a: ${EMPTY:-d}`, "d"},
		{"an empty default", `a: ${NO:-}`, ""},
		{"a default ends at the first brace", `a: ${NO:-{d}}`, "{d}"},
		{"a default may hold punctuation", `a: ${NO:-s3://b/p: #1, "q"}`, `s3://b/p: #1, "q"`},
		{"a default is taken as written", `a: "${NO:-a\tb}"`, `a\tb`},
		{"a default is not looked into", `a: ${NO:-$$x}`, `$$x`},
		{"a variable that must be set, and is", `a: ${X:?why not}`, "x"},
		{"two dollars are one", `a: $$5`, "$5"},
		{"two dollars before a brace", `a: $${X}`, "${X}"},
		{"three dollars are one and a reference", `a: $$${X}`, "$x"},
		{"a lone dollar stays", `a: $X and 5$`, "$X and 5$"},
		{"a value is not looked into for references", `a: ${REF}`, "${X}"},
		{"a value keeps its dollars", `a: ${PATTERN}`, "a$$b"},
		{"a literal block", "a: |-\n  1 ${X}\n  2 ${X}", "1 x\n2 x"},
		{"a comment is not looked at", "# ${NO} ${\na: 1 # ${NO} ${", "1"},
		{"a private-use character in the file is left alone", "a: \ue000${X}\ue000", "\ue000x\ue000"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := parseTexts(t, tc.yaml, env).A; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// A variable's value is data, whatever is in it and wherever it stands.
func TestNoValueChangesTheStructure(t *testing.T) {
	const text = `# ${V}
a: ${V}
b: pre ${V} post # ${V}
list: [ ${V}, "${V}", '${V}' ]
`
	check := func(t *testing.T, v string) {
		t.Helper()
		got := parseTexts(t, text, map[string]string{"V": v})
		want := texts{A: v, B: "pre " + v + " post", List: []string{v, v, v}}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("value %q changed the file (-want +got):\n%s", v, d)
		}
	}
	for _, v := range []string{
		"x, evil: y", "x # comment", "x: y", `x" evil: "y`, `x' evil: 'y`, "]", "}", "[a", "{a: b}",
		"&anchor x", "*alias", "!!int 1", "|", ">", "- x", "? x", "---", "...", "%YAML 1.2", "null", "~",
		"<<", "true", "1e3", "0777", "\t", " lead", "trail ", "\\n", `\"`, "\x00", "\x1b[2J", "\u2028", "\u0085",
		"${X}", "$$", "\ue000", "\ue0000\ue000", "\xff", "",
	} {
		check(t, v)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	const alphabet = "ab1 :#,[]{}&*!|>'\"%@`-?<=\\$\t~.\u00e9\ue000\u2028\ufeff"
	runes := []rune(alphabet)
	for range 2000 {
		v := make([]rune, rng.IntN(12))
		for i := range v {
			v[i] = runes[rng.IntN(len(runes))]
		}
		check(t, string(v))
	}
}

func TestNumbersAndBooleansMayComeFromVariables(t *testing.T) {
	text := `pipeline: {name: ${N}, threads: ${N}, memory: "${SIZE}"}
source: {s3: {url: u, path_style: ${YES}, timeout: ${D}}}`
	env := map[string]string{"N": "8", "SIZE": "64MiB", "YES": "true", "D": "2m"}
	s, err := load("f.yaml", []byte(text), func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	if s.Pipeline.Name != "8" || s.Pipeline.Threads != 8 || s.Pipeline.Memory != 64<<20 {
		t.Errorf("pipeline is %+v", s.Pipeline)
	}
	s3 := s.Source.S3
	if !s3.PathStyle || s3.Timeout.Minutes() != 2 {
		t.Errorf("source is %+v", s3)
	}
}

func TestALineBreakInAValueIsRefused(t *testing.T) {
	for _, v := range []string{"a\nb", "a\rb", "\n", "a\r\n"} {
		_, err := config.Parse("f.yaml", []byte("a: ${V}"), func(string) (string, bool) { return v, true })
		if err == nil || !strings.Contains(err.Error(), "f.yaml:1: a: the value of ${V} holds a line break") {
			t.Errorf("%q: %v", v, err)
		}
	}
}

func TestAnEscapedPlaceholderIsRefused(t *testing.T) {
	for _, text := range []string{`a: "\ue0007\ue000"`, `a: "x\ue000y"`, `a: "\ue000-1\ue000${X:-d}"`} {
		if _, err := config.Parse("f.yaml", []byte(text), nil); err == nil || !strings.Contains(err.Error(), "private-use") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestASuggestionTellsNothingOfAName(t *testing.T) {
	_, err := load("f.yaml", []byte("pipeline: {name: a}\nfeed: ${V}\nsource: {}"), func(string) (string, bool) { return "memory", true })
	if err == nil || err.Error() != "f.yaml:2: feed: want a mapping, got a scalar" {
		t.Errorf("got %v", err)
	}
}

func TestASuggestionTellsNothingOfAValue(t *testing.T) {
	text := "pipeline: {name: a}\nsource: {s3: {url: u, compression: ${V}}}"
	_, err := load("f.yaml", []byte(text), func(string) (string, bool) { return "gzp", true })
	if err == nil || err.Error() != "f.yaml:2: source.s3.compression: the value of ${V} is not one of auto, none, gzip, zstd" {
		t.Errorf("got %v", err)
	}
}

func TestNilEnvironmentHoldsNothing(t *testing.T) {
	if _, err := config.Parse("f.yaml", []byte("a: ${V:-x}"), nil); err != nil {
		t.Error(err)
	}
	if _, err := config.Parse("f.yaml", []byte("a: ${V}"), nil); err == nil {
		t.Error("an unset variable was taken")
	}
}
