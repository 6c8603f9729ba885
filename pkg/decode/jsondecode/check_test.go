package jsondecode_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
	"github.com/spate-go/spate/pkg/failure"
)

// sameValidity fails unless Check agrees with the standard library and its
// error is one that may be shown.
func sameValidity(t *testing.T, b []byte) {
	t.Helper()
	err := jsondecode.Check(b)
	if (err == nil) != json.Valid(b) {
		t.Fatalf("%q: got %v, json.Valid says %v", b, err, json.Valid(b))
	}
	if err == nil {
		return
	}
	if scope, reason := failure.Of(err); scope != failure.Record || reason != failure.Undecodable {
		t.Fatalf("%q: got scope %v, reason %v", b, scope, reason)
	}
	if !strings.Contains(err.Error(), " at offset ") || len(err.Error()) > 160 {
		t.Fatalf("%q: got %v", b, err)
	}
}

func FuzzCheckAgreesWithTheStandardLibrary(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(sameValidity)
}

func TestCheckAgreesOnMutants(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	all := seeds()
	for range 30_000 {
		sameValidity(t, mutate(r, all[r.IntN(len(all))]))
	}
}

// Strings are scanned eight bytes at a time: every special byte at every place
// of a word, behind every neighbour that could carry into it.
func TestCheckSeesEveryByteAtEveryPlace(t *testing.T) {
	for place := range 18 {
		for c := range 256 {
			for _, before := range []byte{'x', '!', '#', ' ', 0x80, 0xff} {
				b := []byte(`"` + strings.Repeat(string(rune('x')), 18) + `"`)
				b[1+place] = byte(c)
				if place > 0 {
					b[place] = before
				}
				sameValidity(t, b)
			}
		}
	}
}

func TestCheckLimitsDepth(t *testing.T) {
	for _, c := range []struct{ open, end string }{{"[", "]"}, {`{"a":`, "}"}} {
		for depth, want := range map[int]bool{10_000: true, 10_001: false} {
			text := strings.Repeat(c.open, depth) + "1" + strings.Repeat(c.end, depth)
			err := jsondecode.Check([]byte(text))
			if (err == nil) != want || json.Valid([]byte(text)) != want {
				t.Errorf("%d of %s: got %v", depth, c.open, err)
			}
			if err != nil && !strings.Contains(err.Error(), "nested deeper than 10000") {
				t.Errorf("got %v", err)
			}
		}
	}
}

func TestErrorsSayWhatIsWantedAndWhere(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":}`:                 `decode json: want a value at offset 5, near "{\"a\":}"`,
		`{"a":1,}`:               `decode json: want a key in quotes at offset 7, near "{\"a\":1,}"`,
		`{"a" 1}`:                `decode json: want a colon at offset 5, near "{\"a\" 1}"`,
		`{"a":1 "b":2}`:          `decode json: want a comma or } at offset 7, near "{\"a\":1 \"b\":2}"`,
		`[1 2]`:                  `decode json: want a comma or ] at offset 3, near "[1 2]"`,
		`{"a":`:                  `decode json: want more: the text ends early at offset 5, near "{\"a\":"`,
		`"abc`:                   `decode json: want more: the text ends early at offset 4, near "\"abc"`,
		``:                       `decode json: want more: the text ends early at offset 0, near ""`,
		`{} {}`:                  `decode json: want the end of the record at offset 3, near "{} {}"`,
		"\"a\nb\"":               `decode json: want an escape for a control character at offset 2, near "\"a\nb\""`,
		`"\x"`:                   `decode json: want an escape that JSON knows at offset 2, near "\"\\x\""`,
		`"\u00g0"`:               `decode json: want four hex digits at offset 5, near "\"\\u00g0\""`,
		`nil`:                    `decode json: want null at offset 1, near "nil"`,
		`1.x`:                    `decode json: want a digit at offset 2, near "1.x"`,
		strings.Repeat(`x`, 500): `decode json: want a value at offset 0, near "xxxxxxxxxxxxxxxxxxxx"`,
	} {
		err := jsondecode.Check([]byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestErrorsShowLittleOfTheRecord(t *testing.T) {
	for n := range 200 {
		b := []byte(strings.Repeat("\x01", n))
		_, shown, _ := strings.Cut(jsondecode.Check(b).Error(), ", near ")
		if len(shown) > 80 {
			t.Errorf("%d bytes: shows %d", n, len(shown))
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	text := []byte(accessLog)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := jsondecode.Check(text); err != nil {
			b.Fatal(err)
		}
	}
}
