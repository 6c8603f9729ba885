package jsondecode_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// A decoder expects keys where they stood before. Records whose keys stand
// elsewhere, are others or are written otherwise must not notice.
func TestTheOrderOfKeysIsForgotten(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	paths := []jsondecode.Path{{"a"}, {"bb"}, {"key_of_9"}, {"a_key_of_more_than_16_bytes"}, {"o", "a"}, {"o", "bb"}, {"é"}}
	keys := []string{"a", "b", "bb", "ab", "key_of_9", "key_of_8", "key_af_9", "a_key_of_more_than_16_bytes", "a_key_of_mere_than_16_bytes", "o", "é", "\\u0061"}
	used := jsondecode.Documents(jsondecode.Options{}, paths...)
	for range 6_000 {
		b := object(r, keys, 2)
		var got, want jsondecode.Document
		if err := used.Decode(b, &got); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if err := jsondecode.Documents(jsondecode.Options{}, paths...).Decode(b, &want); err != nil || !json.Valid(b) {
			t.Fatalf("%s: %v", b, err)
		}
		for i := range paths {
			if !bytes.Equal(got.Raw(i), want.Raw(i)) || !bytes.Equal(got.Raw(i), jsondecode.Lookup(b, paths[i])) {
				t.Fatalf("%s: %v is %s, to a fresh decoder %s", b, paths[i], got.Raw(i), want.Raw(i))
			}
		}
		if cut := b[:r.IntN(len(b))]; used.Decode(cut, &got) == nil {
			t.Fatalf("%s is taken", cut)
		}
	}
}

// object is one with a few keys, mostly in their order.
func object(r *rand.Rand, keys []string, depth int) []byte {
	b := []byte{'{'}
	for i := range keys {
		key := keys[i]
		switch r.IntN(8) {
		case 0:
			continue
		case 1:
			key = keys[r.IntN(len(keys))]
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), key...), '"')
		if r.IntN(8) == 0 {
			b = append(b, ' ')
		}
		b = append(b, ':')
		if key == "o" && depth > 0 {
			b = append(b, object(r, keys, depth-1)...)
		} else {
			b = strconv.AppendInt(b, r.Int64N(100), 10)
		}
	}
	return append(b, '}')
}
