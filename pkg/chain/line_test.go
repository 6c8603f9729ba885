package chain_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/unit"
)

func TestLineMakesOneLineOfEveryRecord(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 5000 {
		b := &chain.Batch{Object: &unit.Object{}, Buf: []byte("[")}
		var want []string
		for range r.IntN(12) {
			f := record.Frame{Start: len(b.Buf), End: len(b.Buf)}
			if f.Oversize = r.IntN(8) == 0; !f.Oversize {
				text := []string{"", "{}", `{"a":1}`, "{\n}", "{\n\r\n  \"a\":1\n}"}[max(r.IntN(9)-4, 0)]
				b.Buf = append(b.Buf, text...)
				f.End = len(b.Buf)
				want = append(want, strings.ReplaceAll(text, "\n", " ")+"\n")
			}
			b.Buf = append(b.Buf, []string{",", "\n", ",\n", "", " "}[max(r.IntN(10)-5, 0)]...)
			f.Next = len(b.Buf)
			b.Frames = append(b.Frames, f)
		}
		kept, out := bytes.Clone(b.Buf), output()
		if err := chain.Line()().Process(b, out); err != nil {
			t.Fatal(err)
		}
		if got := rows(t, out); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Fatalf("%q %v:\n got %q\nwant %q", b.Buf, b.Frames, got, want)
		}
		n, m := int64(len(b.Frames)), int64(len(want))
		if out.Counts != counts(n, m, 0, n-m, 0) {
			t.Fatalf("got %+v", out.Counts)
		}
		if !bytes.Equal(b.Buf, kept) {
			t.Fatalf("the buffer became %q", b.Buf)
		}
	}
}

func TestLineGivesEverySinkItsRows(t *testing.T) {
	out := &chain.Output{Sinks: make([]chain.Rows, 2)}
	b := batchOf("{}", "{\n}")
	if err := chain.Line()().Process(b, out); err != nil {
		t.Fatal(err)
	}
	for i := range out.Sinks {
		if s := &out.Sinks[i]; string(s.Data) != "{}\n{ }\n" || len(s.Ends) != 2 {
			t.Errorf("sink %d: %q, ends %v", i, s.Data, s.Ends)
		}
	}
	if out.Counts != counts(2, 2, 0, 0, 0) {
		t.Errorf("got %+v", out.Counts)
	}
}

func TestLineAllocatesNothing(t *testing.T) {
	b, out, w := lines(500, 480), output(), chain.Line()()
	if err := w.Process(b, out); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(20, func() { out.Sinks[0].Reset(); _ = w.Process(b, out) }); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}
