package pipe_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/budget"
	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/pipe"
	"github.com/spate-go/spate/pkg/segment"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/capturesink"
	"github.com/spate-go/spate/pkg/unit"
)

// written are the blocks that a sink was given, each once.
func written(s *capturesink.Sink) []sink.Block {
	var all []sink.Block
	for _, c := range s.Calls() {
		if c.Op == capturesink.Write && !slices.ContainsFunc(all, func(b sink.Block) bool { return b.Token == c.Block.Token }) {
			all = append(all, c.Block)
		}
	}
	return all
}

func joining(n int) capturesink.Options {
	return capturesink.Options{Dedup: true, Limits: sink.Limits{Segments: n}}
}

// A group of members ends a segment and no block; a block ends where its
// segments are as many as the sink joins, and with the series.
func TestABlockIsThatOfItsSegmentsTogether(t *testing.T) {
	k := newKit(t)
	u := k.unit( // segments: 1 of two members, 1, 3 and a rest, 1
		k.bucket.Put("a", lines("a", 100, 100)), k.bucket.Put("b", lines("b", 1500, 4000)), k.bucket.Put("c", lines("c", 1500, 4000)),
		k.bucket.Put("d.gz", zipped(t, lines("d", 7000, 4000))), k.bucket.Put("e", lines("e", 4500, 4000)))
	k.rest(k.pipe(joining(0)), u)
	single := written(k.sink)
	for _, n := range []int{1, 2, 3, 8} {
		t.Run(fmt.Sprint(n, " segments"), func(t *testing.T) {
			k.t = t
			k.rest(k.pipe(joining(n)), u)
			got := written(k.sink)
			if want := (len(single) + n - 1) / n; len(got) != want {
				t.Fatalf("%d blocks, want %d of %d segments", len(got), want, len(single))
			}
			for i, b := range got {
				var data []byte
				for _, s := range single[i*n : min(i*n+n, len(single))] {
					data = append(data, s.Data...)
				}
				if b.Segment != i*n || b.Part != 0 || !bytes.Equal(b.Data, data) {
					t.Errorf("block %d: %d.%d of %d bytes, want %d", i, b.Segment, b.Part, len(b.Data), len(data))
				}
				if want := sink.Token(u.ID(), "out", 0, b.Segment, 0, b.Data); b.Token != want {
					t.Errorf("token %s, want %s", b.Token, want)
				}
				if row := b.Row(b.Rows - 1); !bytes.HasSuffix(b.Data, row) || bytes.Count(row, []byte("\n")) != 1 {
					t.Errorf("block %d ends with row %.40q", i, row)
				}
			}
		})
	}
}

// INV-3: what memory there is decides how often a unit is begun, not where its
// blocks end.
func TestJoinedBlocksAreTheSameUnderAnyMemory(t *testing.T) {
	k := newKit(t)
	u := k.unit(k.bucket.Put("a", lines("a", 100, 700)), k.bucket.Put("b.gz", zipped(t, lines("b", 10_000, 4000))), k.bucket.Put("c", lines("c", 1000, 4000)))
	for _, n := range []int{2, 3, 8} {
		k.config.Budget = budget.New(512 << 20)
		k.rest(k.pipe(joining(n)), u)
		want := k.tokens()
		floor := pipe.Floor(frame.NDJSON(1<<20), sink.Limits{Segments: n})
		k.bucket.Wrap = func(_ context.Context, r memobject.Request, b memobject.Body) memobject.Body { return trickle{b} }
		for _, memory := range []int64{floor, floor + 1, floor + 20<<20, 2 * floor} {
			for _, held := range []int64{0, min(memory-20<<20, 30<<20)} { // by others, for a while
				k.config.Budget = budget.New(memory)
				p := k.pipe(joining(n))
				if held > 0 {
					b := k.config.Budget
					_ = b.TryAcquire(held)
					time.AfterFunc(20*time.Millisecond, func() { b.Release(held) })
				}
				if k.rest(p, u); !slices.Equal(k.tokens(), want) {
					t.Fatalf("%d joined under %d: %v, want %v", n, memory, k.tokens(), want)
				}
			}
		}
		k.bucket.Wrap = nil
	}
}

// Memory is bounded by configuration (INV-6): whenever a sink looks, what lives
// is within the budget.
func TestJoinedRowsStayWithinTheBudget(t *testing.T) {
	const n = 4
	limits := sink.Limits{Segments: n}
	some := chain.Filter(chain.Decode(newStrict, chain.Skip), func(_ *chain.Context, v *[]byte) (bool, error) {
		return (*v)[bytes.IndexByte(*v, ',')-1] < '6', nil // by the last digit of its number
	})
	for name, c := range map[string]struct {
		chain         chain.Constructor
		beside, least int64 // the floor; what lives
	}{
		"with memory for two blocks": {chain.Raw("\n"), n * 9 << 20, 2 * n * segment.Bytes},
		// 20 MiB of rows in 34: that is what a block under way takes.
		"with memory for two blocks, if they were full": {chain.Encode(some, chain.Skip, appendLine), 24 << 20, n * segment.Bytes},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			k.config.Chain = c.chain
			u := k.unit(k.bucket.Put("a", lines("a", 20_000, 4000))) // 9.5 segments
			k.config.Budget = budget.New(pipe.Floor(frame.NDJSON(1<<20), limits) + c.beside)
			before := live()
			var most int64
			s := &watching{limits: limits, at: func(*sink.Block) {
				time.Sleep(100 * time.Millisecond) // the next block is ready by then, and waits
				// The least of three looks: what goes on beside them leaves garbage.
				most = max(most, min(live(), live(), live())-before)
			}}
			k.config.Sinks = []pipe.NamedSink{{Name: "out", Type: "watch", Sink: s}}
			p := pipe.New(k.config)
			for range 2 {
				k.rest(p, u)
			}
			if size := k.config.Budget.Size(); most > size || most < c.least {
				t.Errorf("%d bytes live, of a budget of %d, want %d at least", most, size, c.least)
			}
			// What nobody uses is not kept: a segment's buffers for the next unit at most.
			if idle := live() - before; idle > 24<<20 {
				t.Errorf("%d bytes live between units", idle)
			}
			runtime.KeepAlive(p)
		})
	}
}

func live() int64 {
	runtime.GC()
	runtime.GC() // what a pool let go of
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// watching is a sink that looks at blocks.
type watching struct {
	limits sink.Limits
	at     func(*sink.Block)
}

func (s *watching) Write(_ context.Context, b *sink.Block) error { s.at(b); return nil }
func (s *watching) Commit(context.Context, unit.ID, int) error   { return nil }
func (s *watching) Limits() sink.Limits                          { return s.limits }
func (s *watching) Close() error                                 { return nil }

// A unit of one segment asks for no more than it did when nothing was joined.
func TestSmallUnitsAreReadSideBySideUnderTheFloorOfALargeOne(t *testing.T) {
	const together = 3 // and what they have written by then beside it
	k := newKit(t)
	limits := sink.Limits{Segments: 8}
	k.config.Budget = budget.New(pipe.Floor(frame.NDJSON(1<<20), limits))
	var came atomic.Int32
	all := make(chan struct{})
	k.config.Sinks = []pipe.NamedSink{{Name: "out", Type: "watch", Sink: &watching{limits: limits, at: func(*sink.Block) {
		if came.Add(1) == together {
			close(all)
		}
		select {
		case <-all:
		case <-time.After(10 * time.Second):
			t.Errorf("only %d units are being read", came.Load())
		}
	}}}}
	p := pipe.New(k.config)
	var wg sync.WaitGroup
	for i := range together {
		u := k.unit(k.bucket.Put(fmt.Sprint("a", i), lines("a", 1500, 4000)))
		wg.Go(func() {
			if _, err := p.ReadUnit(t.Context(), whole(u), nil, nil); err != nil {
				t.Errorf("rest: %v", err)
			}
		})
	}
	wg.Wait()
}

// No unit waits for memory while it holds some, and none writes into what
// another reads.
func TestUnitsThatOutgrowTheMemoryTogetherAllEnd(t *testing.T) {
	const units, rows = 3, 6500
	k := newKit(t)
	for _, n := range []int{2, 3} {
		floor := pipe.Floor(frame.NDJSON(1<<20), sink.Limits{Segments: n})
		for _, memory := range []int64{floor, 3*floor - 1} {
			k.config.Budget = budget.New(memory)
			p := k.pipe(joining(n))
			var wg sync.WaitGroup
			for i := range units {
				u := k.unit(k.bucket.Put(strings.Repeat("z", i+1), lines(fmt.Sprint("u", i), rows, 4000)))
				wg.Go(func() {
					if _, err := p.ReadUnit(t.Context(), whole(u), nil, nil); err != nil {
						t.Errorf("rest: %v", err)
					}
				})
			}
			wg.Wait()
			for row, times := range k.sink.Counts() {
				if times != 1 || len(row) < 3900 {
					t.Fatalf("%.30q came %d times", row, times)
				}
			}
			if got := len(k.sink.Counts()); got != units*rows {
				t.Errorf("%d joined: %d rows under %d", n, got, memory)
			}
			if !k.config.Budget.TryAcquire(memory) {
				t.Error("some of the budget was not given back")
			}
		}
	}
}

// A unit waits for what its blocks usually come to once, not step by step.
func TestAUnitThatFindsNoMemoryBeginsAgainOnce(t *testing.T) {
	k := newKit(t)
	u := k.unit(k.bucket.Put("a", lines("a", 18_000, 4000))) // 8.6 segments
	k.config.Budget = budget.New(pipe.Floor(frame.NDJSON(1<<20), sink.Limits{Segments: 8}))
	other, some := k.config.Budget.Size()-20<<20, int64(10<<20)
	if !k.config.Budget.TryAcquire(other) {
		t.Fatal("no budget")
	}
	// First what two segments want, then the rest.
	time.AfterFunc(50*time.Millisecond, func() { k.config.Budget.Release(some) })
	time.AfterFunc(time.Second, func() { k.config.Budget.Release(other - some) })
	k.rest(k.pipe(joining(8)), u)
	firsts := 0
	for _, r := range k.bucket.Requests() {
		if r.Off == 0 {
			firsts++
		}
	}
	if firsts > 2 {
		t.Errorf("begun %d times", firsts)
	}
	if got := len(k.sink.Rows()); got != 18_000 {
		t.Errorf("%d rows", got)
	}
}

func TestTheFloorHoldsAllThatIsJoined(t *testing.T) {
	f := frame.NDJSON(1 << 20)
	one, eight := pipe.Floor(f, sink.Limits{}), pipe.Floor(f, sink.Limits{Segments: 8})
	if d := eight - one; d < 7*segment.Bytes || d > 7*(segment.Bytes+1<<20) {
		t.Errorf("seven more segments are %d bytes", d)
	}
	if two := pipe.Floor(f, sink.Limits{Segments: 8}, sink.Limits{}); two-eight != eight-one-6*(two-eight) {
		t.Errorf("a second sink adds %d to %d", two-eight, eight)
	}
	k := newKit(t)
	u := k.unit(k.bucket.Put("a", lines("a", 18_000, 4000)))
	k.config.Budget = budget.New(eight - 9<<20)
	_, err := k.pipe(joining(8)).ReadUnit(t.Context(), whole(u), nil, k.found)
	if scope, reason := failure.Of(err); scope != failure.Unit || reason != failure.TooLarge {
		t.Errorf("under less than the floor: %v", err)
	}
}

// The number of segments may change between two calls, and the place that the
// first left is within a block of the second.
func TestNoTwoBlocksHaveOnePlaceWhenTheNumberOfSegmentsChanges(t *testing.T) {
	k := newKit(t)
	row := append(bytes.Repeat([]byte("x"), 1<<16-1), '\n') // so that segments are alike
	u := k.unit(k.bucket.Put("a", bytes.Repeat(row, 128*5)))
	r := whole(u)
	r.Until = time.Unix(0, 0)
	res, err := k.pipe(joining(1)).ReadUnit(t.Context(), r, nil, k.found)
	if err != nil || res.Cursor == nil || res.Cursor.Segment != 1 {
		t.Fatalf("%+v, %v", res.Cursor, err)
	}
	first := k.tokens()
	r.From = res.Cursor
	res, err = k.pipe(joining(2)).ReadUnit(t.Context(), r, nil, k.found)
	if err != nil || res.Cursor == nil || res.Cursor.Segment != 2 {
		t.Fatalf("%+v, %v", res.Cursor, err)
	}
	if b := written(k.sink); len(b) != 1 || b[0].Segment != 1 || slices.Contains(first, b[0].Token) {
		t.Errorf("%d.%d %s, behind %v", b[0].Series, b[0].Segment, b[0].Token, first)
	}
}

func TestAllSinksHaveAckedRowsWhenItIsTold(t *testing.T) {
	k := newKit(t)
	u := k.unit(k.bucket.Put("a", lines("a", 7500, 4000))) // three segments and a rest
	k.pipe(joining(1))
	slow := capturesink.New(joining(3))
	k.config.Sinks = append(k.config.Sinks, pipe.NamedSink{Name: "slow", Type: "capture", Sink: slow})
	p := pipe.New(k.config)
	r := whole(u)
	told := make(chan int, 9)
	r.Acked = func() { told <- len(written(slow)) }
	if _, err := p.ReadUnit(t.Context(), r, nil, k.found); err != nil || len(told) != 1 {
		t.Fatalf("told %d times, %v", len(told), err)
	}
	if n := <-told; n != 1 {
		t.Errorf("told after %d blocks of the slower sink", n)
	}
}

// A sink that has nothing to write does not hold up the reading: the write
// before goes on meanwhile.
func TestReadingGoesOnWhileASinkWritesItsJoinedBlock(t *testing.T) {
	k := newKit(t)
	u := k.unit(k.bucket.Put("a", lines("a", 11_000, 4000))) // five segments and a rest
	read := make(chan struct{})
	k.bucket.Wrap = func(_ context.Context, r memobject.Request, b memobject.Body) memobject.Body {
		if r.Off >= 5*segment.Bytes { // asked for in the fifth segment
			close(read)
		}
		return b
	}
	first := true
	k.config.Sinks = []pipe.NamedSink{{Name: "out", Type: "watch", Sink: &watching{limits: sink.Limits{Segments: 2}, at: func(*sink.Block) {
		if !first {
			return
		}
		first = false
		select {
		case <-read:
		case <-time.After(20 * time.Second):
			t.Error("the reading waits for the write")
		}
	}}}}
	k.rest(pipe.New(k.config), u)
}
