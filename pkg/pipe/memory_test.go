package pipe_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/spate-go/spate/pkg/budget"
	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/decode"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink/capturesink"
)

// strict is a decoder that takes what begins with a brace.
type strict struct{}

func newStrict() decode.Decoder[[]byte] { return strict{} }

func (strict) Decode(b []byte, v *[]byte) error {
	if len(b) == 0 || b[0] != '{' {
		return failure.Errorf(failure.Record, failure.Undecodable, "not an object")
	}
	*v = b
	return nil
}

func appendLine(dst []byte, v *[]byte) ([]byte, error) { return append(append(dst, *v...), '\n'), nil }

func windowed(t *testing.T, data []byte, window int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(window), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	for len(data) > 0 { // streamed: the frame declares its window, not its size
		n := min(len(data), 1<<20)
		if _, err := w.Write(data[:n]); err != nil {
			t.Fatal(err)
		}
		data = data[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAWindowOverTheFloorIsWaitedForWithNothingHeld(t *testing.T) {
	k := newKit(t)
	data := lines("a", 200_000, 100)
	z := windowed(t, data, 32<<20)
	const n = 4
	k.config.Budget = budget.New(64 << 20) // two floors, or one with the window
	p := k.pipe(capturesink.Options{Dedup: true})
	var wg sync.WaitGroup
	for i := range n {
		u := k.unit(k.bucket.Put(strings.Repeat("z", i+1), z))
		wg.Go(func() {
			if _, err := p.ReadUnit(t.Context(), whole(u), nil, nil); err != nil {
				t.Errorf("rest: %v", err)
			}
		})
	}
	wg.Wait()
	if got := len(k.sink.Rows()); got != n*200_000 {
		t.Errorf("%d rows, want %d", got, n*200_000)
	}
	if !k.config.Budget.TryAcquire(64 << 20) {
		t.Error("some of the budget was not given back")
	}
}

func TestAWindowThatCannotFitMakesItsMemberFaulty(t *testing.T) {
	k := newKit(t)
	u := k.unit(k.bucket.Put("a", lines("a", 10, 50)), k.bucket.Put("z", windowed(t, lines("z", 300_000, 100), 32<<20)))
	k.config.Budget = budget.New(40 << 20)
	k.rest(k.pipe(capturesink.Options{}), u)
	if len(k.faults) != 1 || k.faults[0].Reason != failure.TooLarge || !strings.Contains(k.faults[0].Detail, "window of 32MiB") {
		t.Fatalf("faults %+v: want too_large that names the window", k.faults)
	}
	if got := len(k.sink.Rows()); got != 10 {
		t.Errorf("%d rows of the neighbour, want 10", got)
	}
}

func TestRowsOverTheFloorGrowItAndOverTheBudgetFailTheUnit(t *testing.T) {
	k := newKit(t)
	wide := func(dst []byte, v *[]byte) ([]byte, error) {
		for range 10 {
			dst = append(dst, *v...)
		}
		return append(dst, '\n'), nil
	}
	k.config.Chain = chain.Encode(chain.Decode(newStrict, chain.Skip), chain.Skip, wide)
	u := k.unit(k.bucket.Put("a", lines("a", 20_000, 200)))
	k.config.Budget = budget.New(128 << 20)
	k.rest(k.pipe(capturesink.Options{Dedup: true}), u)
	if got := len(k.sink.Rows()); got != 20_000 {
		t.Errorf("%d rows", got)
	}
	k.config.Budget = budget.New(40 << 20)
	_, err := k.pipe(capturesink.Options{}).ReadUnit(t.Context(), whole(u), nil, k.found)
	if scope, reason := failure.Of(err); scope != failure.Unit || reason != failure.TooLarge {
		t.Errorf("got %v, want the unit to be too_large", err)
	}
}

func TestAFloorThatCannotFitIsRefused(t *testing.T) {
	k := newKit(t)
	u := k.unit(k.bucket.Put("a", lines("a", 10, 50)))
	k.config.Budget = budget.New(8 << 20)
	_, err := k.pipe(capturesink.Options{}).ReadUnit(t.Context(), whole(u), nil, k.found)
	if _, reason := failure.Of(err); reason != failure.TooLarge || !strings.Contains(err.Error(), "pipeline.memory") {
		t.Errorf("got %v, want too_large that says what to raise", err)
	}
}

// panicking is a worker that panics once.
type panicking struct {
	chain.Worker
	calm *bool
}

func (p panicking) Process(b *chain.Batch, out *chain.Output) error {
	if !*p.calm {
		*p.calm = true
		panic("worker")
	}
	return p.Worker.Process(b, out)
}

func TestAPanicOfAWorkerLeavesNothingHeld(t *testing.T) {
	k := newKit(t)
	calm := false
	k.config.Chain = func() chain.Worker { return panicking{chain.Raw("\n")(), &calm} }
	k.config.Threads = 1
	k.config.Budget = budget.New(64 << 20)
	u := k.unit(k.bucket.Put("a", lines("a", 10, 50)))
	p := k.pipe(capturesink.Options{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed: the reader would take the unit for read")
			}
		}()
		_, _ = p.ReadUnit(t.Context(), whole(u), nil, k.found)
	}()
	if k.bucket.OpenBodies() > 0 {
		t.Error("a body was left open")
	}
	if !k.config.Budget.TryAcquire(64 << 20) {
		t.Fatal("memory was left held")
	}
	k.config.Budget.Release(64 << 20)
	k.rest(p, u)
	if got := len(k.sink.Rows()); got != 10 {
		t.Errorf("%d rows, want 10", got)
	}
}

// counting is a worker that notes the largest batch.
type counting struct {
	chain.Worker
	most *int
}

func (c counting) Process(b *chain.Batch, out *chain.Output) error {
	*c.most = max(*c.most, len(b.Frames))
	return c.Worker.Process(b, out)
}

// What records become is counted before many of them have become it.
func TestTinyRecordsPassInSmallBatches(t *testing.T) {
	k := newKit(t)
	most := 0
	k.config.Chain = func() chain.Worker { return counting{chain.Raw("\n")(), &most} }
	u := k.unit(k.bucket.Put("a", bytes.Repeat([]byte("1\n"), 100_000)))
	k.rest(k.pipe(capturesink.Options{}), u)
	if most == 0 || most > 1024 {
		t.Errorf("a batch of %d records", most)
	}
	if got := len(k.sink.Rows()); got != 100_000 {
		t.Errorf("%d rows", got)
	}
}
