package jsondecode_test

import (
	"cmp"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

func TestValueOfNumbers(t *testing.T) {
	for text, want := range map[string]any{
		"0": 0, "-0": 0, "7": 7, "-7": -7,
		"9223372036854775807": 9223372036854775807, "-9223372036854775808": -9223372036854775808,
		"9223372036854775808":  jsondecode.Number("9223372036854775808"),
		"-9223372036854775809": jsondecode.Number("-9223372036854775809"),
		"99999999999999999999": jsondecode.Number("99999999999999999999"),
		"1.10":                 1.1, "1.0": 1.0, "1e3": 1000.0, "0.1": 0.1, "0e0": 0.0, "0.0": 0.0,
		"1e400": jsondecode.Number("1e400"), "-1e400": jsondecode.Number("-1e400"), "1e-400": jsondecode.Number("1e-400"),
	} {
		if got := jsondecode.Value([]byte(text)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, want %#v", text, got, want)
		}
	}
}

// random writes a number in one of the ways that JSON allows, close to others.
func random(r *rand.Rand) string {
	digits := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte("0019"[r.IntN(4)])
		}
		return b.String()
	}
	s := []string{"", "-"}[r.IntN(2)] + []string{"0", "1", "9", "1" + digits(r.IntN(20)), "922337203685477580" + strconv.Itoa(r.IntN(10))}[r.IntN(5)]
	if r.IntN(2) == 0 {
		s += "." + digits(1+r.IntN(4))
	}
	if r.IntN(3) == 0 {
		s += []string{"e", "E+", "e-"}[r.IntN(3)] + strconv.Itoa(r.IntN(24))
	}
	return s
}

func rational(t *testing.T, s string) *big.Rat {
	x, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatalf("%s is no number", s)
	}
	return x
}

func TestCompareIsExact(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 20_000 {
		a, b := random(r), random(r)
		want := rational(t, a).Cmp(rational(t, b))
		if got := jsondecode.Compare(jsondecode.Number(a), jsondecode.Number(b)); got != want {
			t.Fatalf("%s to %s: got %d, want %d", a, b, got, want)
		}
		if n, err := strconv.Atoi(b); err == nil {
			if got := jsondecode.CompareInt([]byte(a), n); got != want {
				t.Fatalf("%s to int %d: got %d, want %d", a, n, got, want)
			}
		}
		f, _ := strconv.ParseFloat(b, 64)
		shortest := rational(t, strconv.FormatFloat(f, 'g', -1, 64))
		if got := jsondecode.CompareFloat([]byte(a), f); got != rational(t, a).Cmp(shortest) {
			t.Fatalf("%s to float %v: got %d", a, f, got)
		}
	}
}

func TestCompareOfExponentsBeyondAnyMachine(t *testing.T) {
	ordered := []jsondecode.Number{"-1e99999999999999999999", "-1e400", "0", "0e99999999999999999999", "1e-99999999999999999999", "1e-400", "1", "1e400", "2e400", "1e99999999999999999999"}
	for i, a := range ordered {
		for j, b := range ordered {
			want := cmp.Compare(i, j)
			if (i == 2 || i == 3) && (j == 2 || j == 3) {
				want = 0 // both are zero
			}
			if got := jsondecode.Compare(a, b); got != want {
				t.Errorf("%s to %s: got %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestAnExactValueIsNeverRounded(t *testing.T) {
	for text, want := range map[string]any{
		"7":                           7,
		"12345678901234567890123":     jsondecode.Number("12345678901234567890123"),
		"1.10":                        1.1,
		"-0.0":                        math.Copysign(0, -1),
		"1e3":                         1000.0,
		"0.1":                         0.1,
		"0.12345678901234567890123":   jsondecode.Number("0.12345678901234567890123"),
		"9007199254740993.0":          jsondecode.Number("9007199254740993.0"),
		"1e400":                       jsondecode.Number("1e400"),
		"1e-400":                      jsondecode.Number("1e-400"),
		`[0.10000000000000000000001]`: []any{jsondecode.Number("0.10000000000000000000001")},
		`{"a":[1.5]}`:                 map[string]any{"a": []any{1.5}},
	} {
		if got := jsondecode.ExactValue([]byte(text)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %#v, want %#v", text, got, want)
		}
	}
	if got := jsondecode.Value([]byte("0.12345678901234567890123")); got != 0.12345678901234568 {
		t.Errorf("the nearest is %v", got)
	}
}
