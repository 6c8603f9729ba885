package frame_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spate-go/spate/pkg/frame/frametest"
)

// rowsOf is text of n values, one behind the other: most are objects as they
// usually are, some have in their strings what looks like a value's end, nest
// deep, or are broken.
func rowsOf(rnd *rand.Rand, n int, sep string) []byte {
	var b []byte
	for i := range n {
		if i > 0 {
			b = append(b, sep...)
		}
		b = appendValue(b, rnd, 1+rnd.IntN(7))
	}
	return b
}

func appendValue(b []byte, rnd *rand.Rand, depth int) []byte {
	kind := rnd.IntN(10)
	switch {
	case depth == 0 || kind < 2:
		return appendText(b, rnd)
	case kind == 2:
		return append(b, []string{`17`, `null`, `{}`, `[]`, `-0.5e3`}[rnd.IntN(5)]...)
	case kind == 3:
		b = append(b, '[')
		b = appendValue(b, rnd, depth-1)
		b = append(b, ',')
		return append(appendValue(b, rnd, depth-1), ']')
	}
	b = append(b, '{')
	for i := range rnd.IntN(4) {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(appendText(b, rnd), ':')
		b = appendValue(b, rnd, depth-1)
	}
	return append(b, '}')
}

// appendText appends a string. Each of its parts is a string's own, but for the
// last few: they are rare, and end it early or not at all.
func appendText(b []byte, rnd *rand.Rand) []byte {
	parts := []string{
		"status", "a longer text than a vector register is wide, which it takes loops for", "é", `\n`, `\"`, `\\`, `\\\"`, "{", "}", "[", "]", "},{", `\"},{\"`, `\"}`, `{\"`,
		`"`, `\`, `"}`,
	}
	b = append(b, '"')
	for range rnd.IntN(3) {
		n := 3
		switch rnd.IntN(40) {
		case 0:
			n = len(parts)
		case 1, 2, 3, 4:
			n = len(parts) - 3
		}
		b = append(b, parts[rnd.IntN(n)]...)
	}
	return append(b, '"')
}

// The quick way to a value's end against one byte after the other, where many
// values stand in one buffer.
func TestRowsOfValuesAreFramedAsOneByteAfterTheOther(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	arrays, values := arrayHarness(), valueHarness()
	for i := range 3000 {
		h, input := arrays, slices.Concat([]byte(`[0,`), rowsOf(rnd, 1+rnd.IntN(40), []string{",", ",\n", " , "}[rnd.IntN(3)]), []byte(`]`))
		if i%2 == 1 {
			h, input = values, rowsOf(rnd, 1+rnd.IntN(40), []string{"", "\n"}[rnd.IntN(2)])
		}
		limit := []int{100, 1 << 20}[rnd.IntN(2)]
		want := h.Reference(input, limit)
		got, err := all(h.New(limit), string(input))
		if !slices.EqualFunc(got, want.Records, sameRecord) || (err != nil) != want.Faulty {
			t.Fatalf("limit %d, input %q:\ngot %q, %v\nwant %q, faulty %v", limit, input, got, err, want.Records, want.Faulty)
		}
		if i%100 < 2 {
			frametest.Check(t, h, input, limit, rnd.Uint64())
		}
	}
}

// sameRecord compares what all and a reference make of a record.
func sameRecord(got string, want []byte) bool {
	if want == nil {
		return got == "<over>"
	}
	return got == string(want)
}
