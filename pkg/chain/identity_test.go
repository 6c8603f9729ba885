package chain_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/decode"
	"github.com/spate-go/spate/pkg/record"
)

type bytesView struct{ b []byte }

type viewDecoder struct{}

func (viewDecoder) Decode(b []byte, v *bytesView) error {
	v.b = b
	return nil
}

func newViews() decode.Decoder[bytesView] { return viewDecoder{} }

// act misbehaves now and then, by r.
func act(r *rand.Rand) error {
	switch r.IntN(40) {
	case 0:
		return errors.New("operator")
	case 1:
		panic("operator")
	}
	return nil
}

// grow adds a random operator to s, of which the model keeps no account: the
// identity must hold whatever it does.
func grow(r *rand.Rand, s chain.Stream[text]) chain.Stream[text] {
	switch r.IntN(4) {
	case 0:
		return chain.Map(s, func(_ *chain.Context, in, out *text) error {
			*out = *in
			return act(r)
		})
	case 1:
		return chain.Filter(s, func(*chain.Context, *text) (bool, error) { return r.IntN(4) > 0, act(r) })
	case 2:
		return chain.Inspect(s, func(*chain.Context, *text) {})
	}
	return chain.FlatMap(s, func(_ *chain.Context, in *text, emit func(*text) error) error {
		for range r.IntN(4) {
			if err := emit(in); err != nil && r.IntN(2) == 0 {
				return err
			}
		}
		return act(r)
	})
}

// In + Expanded = Out + Filtered + Rejected, over random chains and records.
func TestCountsAddUp(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		s := decodeText(chain.Policy(r.IntN(2)))
		for range r.IntN(5) {
			s = grow(r, s)
		}
		w := chain.Encode(s, chain.Policy(r.IntN(2)), func(dst []byte, v *text) ([]byte, error) {
			return append(dst, v.s+"\n"...), act(r)
		})()
		out := output()
		for range 3 {
			var in []string
			for range r.IntN(20) {
				in = append(in, []string{"a", "a", "a", "a", "bad", "oversize"}[r.IntN(6)])
			}
			dealt := out.Counts.In
			err := w.Process(batchOf(in...), out)
			want := int64(len(in))
			if e, ok := errors.AsType[*chain.RecordError](err); ok {
				want = e.Index - 7
			} else if err != nil {
				t.Fatal(err)
			}
			if got := out.Counts.In - dealt; got != want {
				t.Fatalf("got %d records in, want %d (%v)", got, want, err)
			}
			if msg := broken(out.Counts, len(rows(t, out))); msg != "" {
				t.Fatal(msg)
			}
		}
	}
}

func broken(c record.Counts, rows int) string {
	if c.In+c.Expanded != c.Out+c.Filtered+c.Rejected || c.Out != int64(rows) || c.Expanded < 0 {
		return fmt.Sprintf("%+v with %d rows", c, rows)
	}
	return ""
}
