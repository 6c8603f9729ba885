package jsontext_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/jsontext"
)

// pieces are what texts are made of that may be hard to read.
func pieces() []string {
	return []string{
		"", "a", "abcdefgh", `"`, `\`, `\"`, `\\`, `\/`, `\b\f\n\r\t`, `\x`, `\u0041`, `\u00g0`, `\ud83d/ude00`, `\u00E9`, `\ud83d\ude00`, `\ud83d`, `\ude00`, `\uD83D\u0041`, `\u12`,
		"é", "😀", "\u2028", "\ufffd", "\xff", "\xe2\x80", "\x00", "\x1f", "\x7f", "\n", "\r", "\t", "<&>",
	}
}

func TestStringsAreThoseOfEncodingJSON(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r, of := rand.New(rand.NewPCG(seed, 0)), pieces()
	for range 50_000 {
		var s string
		for range r.IntN(8) {
			s += of[r.IntN(len(of))]
		}
		checkQuoted(t, s)
		checkUnescaped(t, s)
	}
}

func FuzzStrings(f *testing.F) {
	for _, s := range pieces() {
		f.Add(s + "x" + s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		checkQuoted(t, s)
		checkUnescaped(t, s)
	})
}

func checkQuoted(t *testing.T, s string) {
	t.Helper()
	got := jsontext.AppendQuoted([]byte("x"), s)[1:]
	if of := jsontext.AppendQuoted(nil, []byte(s)); !bytes.Equal(got, of) {
		t.Errorf("%q: %s as a string, %s as bytes", s, got, of)
	}
	valid := string([]rune(s))
	var back string
	if err := json.Unmarshal(got, &back); err != nil || back != valid {
		t.Errorf("%q is quoted %s: %q, %v", s, got, back, err)
	}
	if meant, ok := jsontext.AppendUnescaped(nil, got[1:len(got)-1]); !ok || string(meant) != valid {
		t.Errorf("%q is quoted %s, and that means %q, %v", s, got, meant, ok)
	}
}

func checkUnescaped(t *testing.T, s string) {
	t.Helper()
	got, ok := jsontext.AppendUnescaped([]byte("x"), []byte(s))
	if quoted := `"` + s + `"`; json.Valid([]byte(quoted)) {
		var want string
		if err := json.Unmarshal([]byte(quoted), &want); err != nil || !ok || string([]rune(string(got))) != "x"+want {
			t.Errorf("%s means %q, %v: want %q", quoted, got, ok, want)
		}
	} else if ok && !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == '"' }) {
		t.Errorf("%s is taken for %q", quoted, got)
	}
	in := []byte(s)
	if here, same := jsontext.AppendUnescaped(in[:0], in); same != ok || ok && string(here) != string(got[1:]) {
		t.Errorf("%q means %q, %v; in place %q, %v", s, got, ok, here, same)
	}
}

func TestOnlyWhatMustBeIsEscaped(t *testing.T) {
	for in, want := range map[string]string{
		"</é \u2028\x7f>": "</é \u2028\x7f>",
		`"\`:              `\"\\`,
		"\n\r\t":          `\n\r\t`,
		"\b\f\x00\x1f":    `\u0008\u000c\u0000\u001f`,
		"\xff\xe2\x80a":   "\ufffd\ufffd\ufffda",
	} {
		if got := string(jsontext.AppendQuoted(nil, in)); got != `"`+want+`"` {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestUnescapingKeepsWhatIsNotUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"\xff":                      "\xff",
		`\ud83dx\ude00\ud83d\u0041`: "\ufffdx\ufffd\ufffdA",
		"\xe2\x80\\n":               "\xe2\x80\n",
		"\n\"":                      "\n\"", // only escapes are looked at
	} {
		if got, ok := jsontext.AppendUnescaped(nil, []byte(in)); !ok || string(got) != want {
			t.Errorf("%q: got %q, %v, want %q", in, got, ok, want)
		}
	}
}
