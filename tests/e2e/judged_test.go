package e2e

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/decode/decodetest"
)

// judge reads texts as hexadecimal lines and says of each whether it is JSON. It is
// Python's parser without what that takes beyond JSON, and with its bounds of
// depth and digits out of the way. Bytes that are no UTF-8 are taken for letters,
// as they pass through here untouched.
const judge = `
import json, sys
sys.setrecursionlimit(100_000)
sys.set_int_max_str_digits(0)
def refuse(word):
    raise ValueError(word)
for line in sys.stdin:
    try:
        json.loads(bytes.fromhex(line).decode("utf-8", "replace"), parse_constant=refuse)
        print("y")
    except ValueError:
        print("n")
`

// bases are texts that mutants are made of.
var bases = []string{
	`{"ts":"2026-11-01T12:34:56.789Z","http":{"status":503,"path":"/a?b=1"},"ms":12.75,"ok":true,"tags":["a","bé","c\n\u00e9"],"none":null}`,
	`{}`, `[]`, `null`, `true`, `false`, `""`, `0`, `-0`, `1.10`, `1e400`, `-1.5E-7`, `12345678901234567890`, `[[[[{"a":[{}]}]]]]`,
	` { "a" : [ 1 , 2.5 , null , { "b" : "\ud83d\ude00 \u0000 \ud800" } ] , "c" : "` + "\xff\xc3" + `" } `,
	`{"a":{"b":1,"c":2},"a":{"c":3},"\u0061":{"b":4}}`, `[1,"2",{"3":4}]`, `{"a":"\"\\\/\b\f\n\r\t"}`,
}

var fragments = []string{
	`"`, `\`, `{`, `}`, `[`, `]`, `,`, `:`, ` `, "\t", "\r", "null", "true", "NaN", "-Infinity", "1e400", "-0", "-", "+", ".", "e", "0", "01",
	"\x00", "\x1f", "\x7f", "\u0080", "\xff", "\ufeff", "\u00a0", "\u2028", `\ud800`, `\u00zz`, `\/`, `\'`, "'", "//", "#", "é", "٣", `"a":{"b":7},`,
}

// mutant is a base changed in one to three places, on one line.
func mutant(r *rand.Rand) []byte {
	return decodetest.Mutate(r, bases[r.IntN(len(bases))], fragments)
}

// TestWhatIsRejectedIsWhatAnotherLanguageRefuses has a job read mutants, and
// Python's parser too.
func TestWhatIsRejectedIsWhatAnotherLanguageRefuses(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	texts := [][]byte{[]byte(`{}`)} // at an object's beginning a byte order mark is none of the record's
	for len(texts) < 50_000 {
		if b := mutant(r); !bytes.Contains(b, []byte("\n")) && len(bytes.Trim(b, " \t\r")) > 0 {
			texts = append(texts, b)
		}
	}
	var asked bytes.Buffer
	for _, b := range texts {
		asked.WriteString(hex.EncodeToString(b) + "\n")
	}
	python := exec.CommandContext(t.Context(), "python3", "-c", judge)
	python.Stdin, python.Stderr = &asked, os.Stderr
	answers, err := python.Output()
	verdicts := strings.Fields(string(answers))
	if err != nil || len(verdicts) != len(texts) {
		t.Fatalf("%d verdicts on %d texts: %v", len(verdicts), len(texts), err)
	}

	dir := t.TempDir()
	rejects := filepath.Join(dir, "rejects")
	write(t, filepath.Join(dir, "src", "mutants"), bytes.Join(texts, []byte("\n")))
	res := run{}.spate(t, "run", pipeline(t, filepath.Join(dir, "src"), filepath.Join(dir, "out"), "decode: {json: {}}\nrejects: {url: \"file://"+rejects+"\"}"))
	if res.Code != 0 || res.Report.Records.In != int64(len(texts)) {
		t.Fatalf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
	}
	lines, _ := directory(t, rejects)
	refused := map[int]bool{}
	for line := range bytes.Lines(lines) {
		var l struct{ Record int }
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		refused[l.Record] = true
	}
	bad := 0
	for i, b := range texts {
		if verdicts[i] == "n" {
			bad++
		}
		if refused[i] != (verdicts[i] == "n") {
			t.Fatalf("record %d is rejected: %v, and the other says %s: %q", i, refused[i], verdicts[i], b)
		}
	}
	if good := len(texts) - bad; bad < 10_000 || good < 2_000 {
		t.Errorf("of %d mutants %d are no JSON", len(texts), bad)
	}
	t.Logf("%d texts, %d of them no JSON", len(texts), bad)
}
