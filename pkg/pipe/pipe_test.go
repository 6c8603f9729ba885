package pipe_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/budget"
	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/pipe"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/segment"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/capturesink"
	"github.com/spate-go/spate/pkg/unit"
)

// kit is a bucket, a sink, and the pipe between them.
type kit struct {
	t      *testing.T
	bucket *memobject.Bucket
	config pipe.Config
	sink   *capturesink.Sink
	faults []unit.Fault
}

func newKit(t *testing.T) *kit {
	k := &kit{t: t, bucket: &memobject.Bucket{}}
	k.config = pipe.Config{
		Source:  k.bucket,
		Framer:  func() frame.Framer { return frame.NDJSON(1 << 20) },
		Chain:   chain.Raw("\n"),
		Budget:  budget.New(192 << 20),
		Threads: 2,
	}
	return k
}

// pipe returns a new pipe into a new capture sink.
func (k *kit) pipe(o capturesink.Options) *pipe.Pipe {
	o.Violation = k.t.Errorf
	k.sink = capturesink.New(o)
	k.config.Sinks = []pipe.NamedSink{{Name: "out", Type: "capture", Sink: k.sink}}
	k.faults = nil
	return pipe.New(k.config)
}

func (k *kit) found(_ context.Context, f unit.Fault) error {
	k.faults = append(k.faults, f)
	return nil
}

func (k *kit) rest(p *pipe.Pipe, u *unit.Unit, known ...unit.Fault) unit.Counts {
	k.t.Helper()
	res, err := p.ReadUnit(k.t.Context(), whole(u), known, k.found)
	if err != nil || res.Cursor != nil {
		k.t.Fatalf("rest: %v, %+v", err, res.Cursor)
	}
	return res.Counts
}

// whole reads all of u.
func whole(u *unit.Unit) pipe.Reading { return pipe.Reading{Unit: u, ID: u.ID()} }

// tokens are those of the blocks written, in order, without repeats.
func (k *kit) tokens() []string {
	var all []string
	for _, c := range k.sink.Calls() {
		if c.Op == capturesink.Write && !slices.Contains(all, c.Block.Token) {
			all = append(all, c.Block.Token)
		}
	}
	return all
}

func (k *kit) unit(objects ...unit.Object) *unit.Unit {
	unit.Sort(objects)
	return &unit.Unit{Job: "j", Run: 1, Bucket: "b", Objects: objects, Origin: unit.FromList}
}

// lines are n records of about size bytes, each different.
func lines(name string, n, size int) []byte {
	var b bytes.Buffer
	pad := strings.Repeat("x", max(size-len(name)-20, 0))
	for i := range n {
		fmt.Fprintf(&b, "{\"%s\":%d,\"p\":\"%s\"}\n", name, i, pad)
	}
	return b.Bytes()
}

func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestEveryRecordComesOutInOrder(t *testing.T) {
	k := newKit(t)
	a, b, c := lines("a", 100, 50), zipped(t, lines("b", 50_000, 300)), lines("c", 3, 10)
	u := k.unit(k.bucket.Put("a", a), k.bucket.Put("b.gz", b), k.bucket.Put("c", c))
	counts := k.rest(k.pipe(capturesink.Options{}), u)
	want := slices.Concat(a, lines("b", 50_000, 300), c)
	if got := k.sink.Bytes(); !bytes.Equal(got, want) {
		t.Errorf("rows differ: %d bytes, want %d", len(got), len(want))
	}
	if counts.In != 50_103 || counts.Out != counts.In {
		t.Errorf("counts %+v", counts)
	}
	if want := int64(len(a) + len(b) + len(c)); counts.BytesRead != want {
		t.Errorf("bytes read %d, want %d", counts.BytesRead, want)
	}
	if got := counts.Sinks["out"]; got.Records != counts.Out || got.Bytes != int64(len(want)) || got.Blocks < 2 {
		t.Errorf("sink counts %+v", got)
	}
	if open := k.sink.Open(); len(open) > 0 {
		t.Errorf("not committed: %v", open)
	}
}

// INV-3.
func TestSameUnitGivesSameBlocksWhateverTheTiming(t *testing.T) {
	k := newKit(t)
	u := k.unit(
		k.bucket.Put("a", lines("a", 2000, 700)), k.bucket.Put("b.gz", zipped(t, lines("b", 60_000, 400))),
		k.bucket.Put("c", lines("c", 40_000, 500)), k.bucket.Put("d", lines("d", 10, 100)))
	k.rest(k.pipe(capturesink.Options{}), u)
	want := k.tokens()
	if len(want) < 6 {
		t.Fatalf("only %d blocks: nothing to compare", len(want))
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 4 {
		k.bucket.Wrap = func(_ context.Context, r memobject.Request, b memobject.Body) memobject.Body {
			if r.N > 1<<20 && len(k.bucket.Requests())%3 == 0 {
				return memobject.Cut(trickle{b}, r.N/2)
			}
			return trickle{b}
		}
		k.config.Threads = 1 + rnd.IntN(4)
		k.config.Budget = budget.New(40<<20 + rnd.Int64N(100<<20))
		k.rest(k.pipe(capturesink.Options{Dedup: true}), u)
		if got := k.tokens(); !slices.Equal(got, want) {
			t.Fatalf("blocks differ:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// trickle returns short, uneven reads.
type trickle struct{ memobject.Body }

func (r trickle) Read(p []byte) (int, error) {
	return r.Body.Read(p[:min(len(p), 1+len(p)*2/3)])
}

func TestSegmentsEndAtTheFirstRecordThatReachesTheBound(t *testing.T) {
	k := newKit(t)
	data := lines("a", 50_000, 500) // about 24 MiB
	u := k.unit(k.bucket.Put("a", data))
	k.rest(k.pipe(capturesink.Options{}), u)
	var sizes []int
	for _, c := range k.sink.Calls() {
		if c.Op != capturesink.Write {
			continue
		}
		d := c.Block.Data
		sizes = append(sizes, len(d))
		if last := bytes.LastIndexByte(d[:len(d)-1], '\n') + 1; len(d) >= segment.Bytes && last >= segment.Bytes {
			t.Errorf("block %d goes on after %d bytes", c.Block.Segment, last)
		}
	}
	if n := len(data) / segment.Bytes; len(sizes) != n+1 {
		t.Errorf("blocks of %v bytes, want %d of them", sizes, n+1)
	}
	for _, n := range sizes[:len(sizes)-1] {
		if n < segment.Bytes {
			t.Errorf("blocks of %v bytes: one before the last is short", sizes)
		}
	}
}

func TestARecordThatEndsAtTheBoundEndsItsSegment(t *testing.T) {
	const size = 500 // so that neither pieces nor batches end there
	k := newKit(t)
	row := append(bytes.Repeat([]byte{'x'}, size-1), '\n')
	n := segment.Bytes/size - 1
	last := append(bytes.Repeat([]byte{'y'}, segment.Bytes-n*size-1), '\n')
	u := k.unit(k.bucket.Put("a", slices.Concat(bytes.Repeat(row, n), last, row)))
	k.rest(k.pipe(capturesink.Options{}), u)
	var got []int
	for _, c := range k.sink.Calls() {
		if c.Op == capturesink.Write {
			got = append(got, c.Block.Rows)
		}
	}
	if want := []int{n + 1, 1}; !slices.Equal(got, want) {
		t.Errorf("blocks of %v rows, want %v", got, want)
	}
}

func TestRangesPartitionTheRecordsOfAnObject(t *testing.T) {
	k := newKit(t)
	data := lines("a", 30_000, 200)
	o := k.bucket.Put("a", data)
	var got []byte
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	cuts := []int64{0, o.Size}
	for range 20 {
		cuts = append(cuts, rnd.Int64N(o.Size))
	}
	slices.Sort(cuts)
	for i := range cuts[1:] {
		if cuts[i] == cuts[i+1] {
			continue
		}
		u := k.unit(o)
		u.Range = &unit.Range{Start: cuts[i], End: cuts[i+1], Delimiter: '\n'}
		k.rest(k.pipe(capturesink.Options{}), u)
		got = append(got, k.sink.Bytes()...)
	}
	if !bytes.Equal(got, data) {
		t.Errorf("ranges gave %d bytes of %d", len(got), len(data))
	}
}

func TestABadMemberLeavesItsNeighboursDelivered(t *testing.T) {
	bad := func(t *testing.T) []byte { // 1,000 records, then garbage
		z := zipped(t, lines("b", 100_000, 200))
		return z[:len(z)-len(z)/3]
	}
	for name, c := range map[string]struct {
		setup  func(k *kit) unit.Object
		reason failure.Reason
		some   bool // records of it come before the fault
	}{
		"truncated gzip": {func(k *kit) unit.Object { return k.bucket.Put("b.gz", bad(k.t)) }, failure.Undecodable, true},
		"gone": {func(k *kit) unit.Object {
			o := k.bucket.Put("b", lines("b", 5, 20))
			o.Version = ""
			k.bucket.Delete("b")
			return o
		}, failure.NotFound, false},
		"overwritten": {func(k *kit) unit.Object {
			o := k.bucket.Put("b", lines("b", 5, 20))
			o.Version = ""
			k.bucket.Put("b", lines("z", 5, 20))
			return o
		}, failure.ETagDrift, false},
		"of a codec that is not read": {func(k *kit) unit.Object {
			return k.bucket.Put("b", []byte("PK\x03\x04 and so on, not that it matters"))
		}, failure.Undecodable, false},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			a, z := lines("a", 1000, 100), lines("z", 1000, 100)
			u := k.unit(k.bucket.Put("a", a), c.setup(k), k.bucket.Put("c", z))
			k.rest(k.pipe(capturesink.Options{}), u)
			if len(k.faults) != 1 || k.faults[0].Member != 1 || k.faults[0].Reason != c.reason {
				t.Fatalf("faults %+v", k.faults)
			}
			f := k.faults[0]
			if c.some != (f.Record > 0) {
				t.Errorf("faulty from record %d", f.Record)
			}
			rows := k.sink.Bytes()
			want := slices.Concat(a, firstLines(lines("b", 100_000, 200), int(f.Record)), z)
			if !bytes.Equal(rows, want) {
				t.Errorf("%d bytes of rows, want %d", len(rows), len(want))
			}
			first := k.tokens()
			// The repeat of the rest, with the fault known, gives the same
			// blocks, whether or not the member is still bad.
			k.rest(k.pipe(capturesink.Options{}), u, f)
			if got := k.tokens(); !slices.Equal(got, first) {
				t.Errorf("the repeat's blocks differ:\n%v\n%v", got, first)
			}
			if len(k.faults) > 0 {
				t.Errorf("found again: %+v", k.faults)
			}
		})
	}
}

func firstLines(data []byte, n int) []byte {
	return bytes.Join(bytes.SplitAfterN(data, []byte("\n"), n+1)[:n], nil)
}

func TestAFaultIsRecordedBeforeAnyLaterBlock(t *testing.T) {
	k := newKit(t)
	u := k.unit(k.bucket.Put("a", lines("a", 10, 50)), k.bucket.Put("b", []byte("BZh91AY&SY and more of it")), k.bucket.Put("c", lines("c", 10, 50)))
	p := k.pipe(capturesink.Options{})
	stop := errors.New("the ledger is away")
	_, err := p.ReadUnit(t.Context(), whole(u), nil, func(context.Context, unit.Fault) error {
		if n := len(k.sink.Calls()); n > 0 {
			t.Errorf("%d calls of the sink came before the fault was recorded", n)
		}
		return stop
	})
	if !errors.Is(err, stop) {
		t.Errorf("got %v, want the ledger's error", err)
	}
	if n := len(k.sink.Calls()); n > 0 {
		t.Errorf("%d calls of the sink after the fault could not be recorded", n)
	}
}

func TestAFaultyMemberIsReadFromItsRecordAsItsOwnSeries(t *testing.T) {
	k := newKit(t)
	data := lines("b", 100_000, 200)
	u := k.unit(k.bucket.Put("a", lines("a", 10, 50)), k.bucket.Put("b", data))
	p := k.pipe(capturesink.Options{})
	f := unit.Fault{Member: 1, Record: 777, Framed: 777}
	res, err := p.ReadMember(t.Context(), whole(u), f)
	if err != nil {
		t.Fatal(err)
	}
	if want := data[len(firstLines(data, 777)):]; !bytes.Equal(k.sink.Bytes(), want) {
		t.Errorf("rows of %d bytes, want %d", len(k.sink.Bytes()), len(want))
	}
	if res.Counts.In != 100_000-777 {
		t.Errorf("counts %+v", res.Counts)
	}
	for _, c := range k.sink.Calls() {
		b := c.Block
		if b.Series != 2 {
			t.Errorf("%s of series %d, want 2", c.Op, b.Series)
		}
		if want := sink.Token(u.ID(), "out", 2, b.Segment, b.Part, b.Data); c.Op == capturesink.Write && b.Token != want {
			t.Errorf("token %s, want %s", b.Token, want)
		}
	}
}

func TestAMemberOfWhichNothingDecodesIsOfAnotherFormat(t *testing.T) {
	k := newKit(t)
	k.config.Chain = chain.Encode(chain.Decode(newStrict, chain.Skip), chain.Skip, appendLine)
	csv := bytes.Repeat([]byte("a,b,c\n"), 100)
	few := bytes.Repeat([]byte("a,b,c\n"), 99)
	mixed := append(bytes.Clone(csv), "{}\n"...)
	u := k.unit(k.bucket.Put("csv", csv), k.bucket.Put("few", few), k.bucket.Put("mixed", mixed), k.bucket.Put("ok", lines("ok", 5, 20)))
	counts := k.rest(k.pipe(capturesink.Options{}), u)
	if len(k.faults) != 1 || k.faults[0].Member != 0 || k.faults[0].Reason != failure.Undecodable {
		t.Fatalf("faults %+v", k.faults)
	}
	f := k.faults[0]
	if f.Record != 0 || f.Framed != 100 {
		t.Errorf("its series begins at %d after %d framed, want 0 after 100", f.Record, f.Framed)
	}
	if counts.In != 99+101+5 || counts.Rejected != 99+100 || counts.Out != 6 {
		t.Errorf("counts %+v: the wrong member's records are not to be among them", counts.Counts)
	}
	again := k.rest(k.pipe(capturesink.Options{}), u, f)
	if again.Counts != counts.Counts || len(k.faults) > 0 {
		t.Errorf("the repeat: %+v, %+v", again.Counts, k.faults)
	}
	if _, err := k.pipe(capturesink.Options{}).ReadMember(t.Context(), whole(u), f); !failure.Is(err, failure.Member) {
		t.Errorf("its own series: got %v, want it to be bad still", err)
	}
}

func TestAFailedRecordEndsItsMemberUnderFail(t *testing.T) {
	k := newKit(t)
	k.config.Chain = chain.Encode(chain.Decode(newStrict, chain.Fail), chain.Fail, appendLine)
	u := k.unit(k.bucket.Put("a", append(lines("a", 20_000, 700), "oops\n{}\n"...)), k.bucket.Put("b", lines("b", 5, 20)))
	k.rest(k.pipe(capturesink.Options{}), u)
	if len(k.faults) != 1 || k.faults[0].Record != 20_000 || k.faults[0].Framed != 20_000 {
		t.Fatalf("faults %+v", k.faults)
	}
	if !strings.Contains(k.faults[0].Detail, "a: record 20000") {
		t.Errorf("detail %q names neither object nor record", k.faults[0].Detail)
	}
	f, first := k.faults[0], k.tokens()
	if got, want := len(k.sink.Rows()), 20_005; got != want {
		t.Errorf("%d rows, want %d", got, want)
	}
	k.rest(k.pipe(capturesink.Options{}), u, f)
	if got := k.tokens(); !slices.Equal(got, first) {
		t.Errorf("the repeat's blocks differ:\n%v\n%v", got, first)
	}
}

func TestAStoreThatStaysAwayFailsTheUnitAndMarksNoMember(t *testing.T) {
	k := newKit(t)
	u := k.unit(k.bucket.Put("a.gz", zipped(t, lines("a", 10_000, 100))))
	k.bucket.Wrap = func(_ context.Context, r memobject.Request, b memobject.Body) memobject.Body {
		return memobject.Cut(b, 0)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := k.pipe(capturesink.Options{}).ReadUnit(ctx, whole(u), nil, k.found)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's end", err)
	}
	if len(k.faults) > 0 {
		t.Errorf("a transport that broke was taken for bad data: %+v", k.faults)
	}
	if n := len(k.sink.Calls()); n > 0 {
		t.Errorf("%d calls of the sink", n)
	}
}

func TestADeniedStoreIsNamedOnceAndMarksNoMember(t *testing.T) {
	for _, key := range []string{"a.gz", "a"} {
		k := newKit(t)
		u := k.unit(k.bucket.Put(key, zipped(t, lines("a", 10_000, 100))))
		k.bucket.Hook = func(op memobject.Op, key string, _ int64) error {
			return failure.Errorf(failure.Job, failure.Denied, "get %s: denied", key)
		}
		_, err := k.pipe(capturesink.Options{}).ReadUnit(t.Context(), whole(u), nil, k.found)
		if scope, _ := failure.Of(err); scope != failure.Job || len(k.faults) > 0 {
			t.Errorf("got %v, faults %+v", err, k.faults)
		}
		if n := strings.Count(err.Error(), key); n != 1 {
			t.Errorf("%q names the object %d times", err, n)
		}
	}
}

// failing is a sink that panics.
type failing struct{ sink.Sink }

func (failing) Write(context.Context, *sink.Block) error { panic("sink") }

func TestAPanicOfASinkFailsTheUnit(t *testing.T) {
	k := newKit(t)
	u := k.unit(k.bucket.Put("a", lines("a", 100_000, 300)))
	k.pipe(capturesink.Options{})
	k.config.Sinks[0].Sink = failing{k.sink}
	_, err := pipe.New(k.config).ReadUnit(t.Context(), whole(u), nil, k.found)
	if scope, reason := failure.Of(err); scope != failure.Unit || reason != failure.Operator {
		t.Errorf("got %v", err)
	}
	if !k.config.Budget.TryAcquire(192 << 20) {
		t.Error("memory was left held")
	}
}

func TestASinksErrorEndsTheSeriesUncommitted(t *testing.T) {
	k := newKit(t)
	u := k.unit(k.bucket.Put("a", lines("a", 100_000, 300)))
	for n := range 5 {
		p := k.pipe(capturesink.Options{Script: capturesink.Once(n, capturesink.Refused)})
		_, err := p.ReadUnit(t.Context(), whole(u), nil, k.found)
		if _, reason := failure.Of(err); reason != failure.SinkRejected {
			t.Errorf("call %d refused: got %v", n+1, err)
		}
		if got := k.sink.Committed(); len(got) > 0 {
			t.Errorf("call %d refused: committed all the same", n+1)
		}
	}
}

func TestCuttingMatchesThePlan(t *testing.T) {
	k := newKit(t)
	data := lines("a", 60_000, 100)
	o := k.bucket.Put("a", data)
	p := plan.NewPacker(plan.Options{Job: "j", Run: 1, Bucket: "b", Target: plan.MinTarget})
	var got []byte
	n := 0
	err := p.Add(o, &plan.Cut{Delimiter: '\n'}, func(u *unit.Unit) error {
		n++
		k.rest(k.pipe(capturesink.Options{}), u)
		got = append(got, k.sink.Bytes()...)
		return nil
	})
	if err != nil || n < 4 {
		t.Fatalf("%d units, %v", n, err)
	}
	if !bytes.Equal(got, data) {
		t.Errorf("the units' rows differ from the object")
	}
}
