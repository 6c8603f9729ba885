package jsondecode_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
	"github.com/spate-go/spate/pkg/frame"
)

// judged is a text that parsers of other languages have judged.
type judged struct {
	name string
	text []byte
	good bool
}

func verdicts(t testing.TB) []judged {
	t.Helper()
	table, err := os.ReadFile(filepath.Join("testdata", "verdicts", "texts.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var all []judged
	for line := range strings.Lines(string(table)) {
		c := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(c) != 5 {
			t.Fatalf("%q has %d columns", line, len(c))
		}
		verdict := c[4]
		if verdict == "=" {
			if verdict = c[2]; c[2] != c[3] {
				t.Fatalf("%s: the two differ, and nothing says what is right", c[0])
			}
		}
		if verdict != "y" && verdict != "n" {
			t.Fatalf("%s: verdict %q: run judge.py", c[0], verdict)
		}
		all = append(all, judged{c[0], text(t, c[1]), verdict == "y"})
	}
	if len(all) < 250 {
		t.Fatalf("%d texts", len(all))
	}
	return all
}

// text reads the second column of the table.
func text(t testing.TB, column string) []byte {
	t.Helper()
	if h, ok := strings.CutPrefix(column, "hex:"); ok {
		b, err := hex.DecodeString(h)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if r, ok := strings.CutPrefix(column, "repeat:"); ok {
		var parts []any
		if err := json.Unmarshal([]byte(r), &parts); err != nil {
			t.Fatal(err)
		}
		var b []byte
		for i := 0; i < len(parts); i += 2 {
			b = append(b, strings.Repeat(parts[i].(string), int(parts[i+1].(float64)))...)
		}
		return b
	}
	var s string
	if err := json.Unmarshal([]byte(column), &s); err != nil {
		t.Fatal(err)
	}
	return []byte(s)
}

func TestDecodersJudgeAsOtherLanguagesDo(t *testing.T) {
	for _, v := range verdicts(t) {
		for name, err := range map[string]error{
			"Check":     jsondecode.Check(v.text),
			"Documents": jsondecode.Documents(jsondecode.Options{}, jsondecode.Path{"a", "b"}).Decode(v.text, new(jsondecode.Document)),
			"Typed":     jsondecode.Typed[json.RawMessage](jsondecode.Options{}).Decode(v.text, new(json.RawMessage)),
		} {
			if (err == nil) != v.good {
				t.Errorf("%s of %s, %.60q: got %v", name, v.name, v.text, err)
			}
		}
	}
}

// framed is what a framer and the decoder behind it make of text: the records,
// and whether all of it is taken.
func framed(f frame.Framer, text []byte) (records []string, ok bool) {
	buf := bytes.Clone(text)
	f.Reset(0)
	frames, _, err := f.Split(nil, buf, true)
	ok = err == nil
	for _, fr := range frames {
		r := buf[fr.Start:fr.End]
		ok = ok && jsondecode.Check(r) == nil
		records = append(records, string(r))
	}
	return records, ok
}

func equal(a []string, b ...string) bool { return strings.Join(a, "\x00|") == strings.Join(b, "\x00|") }

func TestGoodTextsAreFramedWhole(t *testing.T) {
	for _, v := range verdicts(t) {
		if !v.good {
			continue
		}
		s := string(bytes.Trim(v.text, " \t\r\n"))
		for name, c := range map[string]struct {
			f    frame.Framer
			text string
		}{
			"array":   {frame.JSONArray(0), "[" + string(v.text) + "," + s + " ]"},
			"records": {frame.JSONPath([]string{"a", "b"}, 0), `{"x":` + s + `,"a":{"b":[` + s + "," + string(v.text) + `],"y":` + s + `}}`},
			"values":  {frame.JSON(0), string(v.text) + "\n" + s + "\n"},
			"auto":    {frame.Auto(0), `{"Records":[` + s + " , " + string(v.text) + "]}"},
		} {
			if got, ok := framed(c.f, []byte(c.text)); !ok || !equal(got, s, s) {
				t.Errorf("%s of %s: %v, %.80q", name, v.name, ok, got)
			}
		}
	}
}

// A text that is no JSON is never framed and decoded as if it were, nor are its
// neighbours lost without an error.
func TestBadTextsShow(t *testing.T) {
	for _, v := range verdicts(t) {
		if v.good {
			continue
		}
		for name, c := range map[string]struct {
			f    frame.Framer
			text string
		}{
			"array":  {frame.JSONArray(0), `["before",` + string(v.text) + `,"after"]`},
			"values": {frame.JSON(0), `"before" ` + string(v.text) + ` "after"`},
		} {
			got, ok := framed(c.f, []byte(c.text))
			want, valid := streamed(t, []byte(c.text), name == "array")
			if ok != valid || ok && !equal(got, want...) {
				t.Errorf("%s of %s, %.60q: %v, %.80q", name, v.name, v.text, ok, got)
			}
			if len(got) == 0 || got[0] != `"before"` {
				t.Errorf("%s of %s: the record before is lost: %.80q", name, v.name, got)
			}
		}
	}
}
