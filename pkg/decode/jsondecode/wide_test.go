package jsondecode_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// families are ways in which people name the columns of wide tables.
func families() map[string]func(i int) string {
	return map[string]func(i int) string{
		"numbers":   func(i int) string { return fmt.Sprint(i) },
		"c":         func(i int) string { return fmt.Sprintf("c%d", i) },
		"padded":    func(i int) string { return fmt.Sprintf("f_%04d", i) },
		"long":      func(i int) string { return fmt.Sprintf("sensor_%d_temperature_celsius", i) },
		"ending":    func(i int) string { return fmt.Sprintf("measurement_%05d", i) },
		"beginning": func(i int) string { return fmt.Sprintf("%05d_measurement_of_it", i) },
		"case":      func(i int) string { return string("Ff"[i%2]) + fmt.Sprint(i/2) },
		"accents":   func(i int) string { return fmt.Sprintf("é%d", i) },
		"no ASCII":  func(i int) string { return string(rune(0x4e00 + i)) },
	}
}

// What finding a member costs must not grow with the number of wanted ones.
func TestAKeyIsComparedWithFewOfManyNames(t *testing.T) {
	for family, name := range families() {
		for n := 1; n <= 8192; n *= 2 {
			var paths []jsondecode.Path
			for i := range n {
				paths = append(paths, jsondecode.Path{name(i)})
			}
			if got := jsondecode.Comparisons(paths...); got > 16 {
				t.Errorf("%s: of %d names a key is compared with %d", family, n, got)
			}
		}
	}
}

// Wide records, whose members are in any order, absent, repeated, strange or
// written with escapes, are what the standard library makes of them.
func TestWideRecordsAgreeWithTheStandardLibrary(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for family, name := range families() {
		n := 1 + r.IntN(400)
		var paths []jsondecode.Path
		for i := range n {
			paths = append(paths, jsondecode.Path{name(i)}, jsondecode.Path{"in", name(i)})
		}
		d := jsondecode.Documents(jsondecode.Options{}, paths...)
		for range 8 {
			b := fmt.Appendf(nil, `{"in":%s,%s`, wide(r, n, name), wide(r, n, name)[1:])
			var doc jsondecode.Document
			if err := d.Decode(b, &doc); err != nil {
				t.Fatalf("%s: %.200s: %v", family, b, err)
			}
			top := members(t, b)
			in := members(t, top["in"])
			for i := range n {
				if got, want := doc.Raw(2*i), top[name(i)]; !bytes.Equal(got, want) {
					t.Fatalf("%s of %d: %s is %s, want %s in %.200s", family, n, name(i), got, want, b)
				}
				if got, want := doc.Raw(2*i+1), in[name(i)]; !bytes.Equal(got, want) {
					t.Fatalf("%s of %d: in.%s is %s, want %s in %.200s", family, n, name(i), got, want, b)
				}
			}
		}
	}
}

// wide is an object with members of a family, of which n are wanted.
func wide(r *rand.Rand, n int, name func(int) string) []byte {
	order := r.Perm(2 * n)
	if r.IntN(2) == 0 {
		for i := range order {
			order[i] = i
		}
	}
	b := []byte(`{"":0`)
	for _, i := range order {
		for repeat := r.IntN(8); repeat > 1; repeat /= 3 {
			key := name(i)
			if r.IntN(16) == 0 {
				key = strings.ToUpper(key)
			}
			if r.IntN(4) == 0 {
				key = fmt.Sprintf(`\u%04x`, []rune(key)[0]) + string([]rune(key)[1:])
			}
			b = fmt.Appendf(b, `,"%s":%d`, key, r.IntN(1000))
		}
	}
	return append(b, '}')
}

func members(t *testing.T, b []byte) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatalf("%.200s: %v", b, err)
	}
	return m
}
