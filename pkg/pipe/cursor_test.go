package pipe_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

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

// tape is what several sinks acked, in order. It refuses one write.
type tape struct {
	mu     sync.Mutex
	blocks []string
	ends   []string
	fail   int // the number of the write that is refused; 0: none
}

func (p *tape) next(entry *[]string, what string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if entry == &p.blocks && p.fail > 0 {
		if p.fail--; p.fail == 0 {
			return failure.Errorf(failure.Unit, failure.SinkRejected, "%s: refused", what)
		}
	}
	*entry = append(*entry, what)
	return nil
}

type taped struct {
	*tape
	name   string
	limits sink.Limits
}

func (s taped) Write(_ context.Context, b *sink.Block) error {
	return s.next(&s.blocks, fmt.Sprintf("%s %d.%d.%d %s", s.name, b.Series, b.Segment, b.Part, b.Token))
}

func (s taped) Commit(_ context.Context, _ unit.ID, series int) error {
	return s.next(&s.ends, fmt.Sprintf("%s %d", s.name, series))
}

func (s taped) Limits() sink.Limits { return s.limits }
func (taped) Close() error          { return nil }

// stretch is a unit that is read in several calls, as a reader would have it.
type stretch struct {
	t    *testing.T
	pipe *pipe.Pipe
	tape *tape
	unit *unit.Unit
	// Of what is read as series 0, or else of the member:
	member *unit.Fault

	known  []unit.Fault
	cursor *unit.Cursor
	counts unit.Counts
	ended  bool
}

// call makes one call and keeps what it says unless forget is set: then it is
// lost, as in a crash, but for the faults.
func (s *stretch) call(until time.Time, fail int, forget bool) {
	s.t.Helper()
	s.tape.fail = fail
	r := pipe.Reading{Unit: s.unit, ID: s.unit.ID(), From: s.cursor, Until: until}
	var res pipe.Result
	var err error
	if s.member != nil {
		res, err = s.pipe.Member(s.t.Context(), r, *s.member)
	} else {
		res, err = s.pipe.Rest(s.t.Context(), r, slices.Clone(s.known), func(_ context.Context, f unit.Fault) error {
			s.known = append(slices.DeleteFunc(s.known, func(k unit.Fault) bool { return k.Member == f.Member }), f)
			return nil
		})
	}
	if _, reason := failure.Of(err); err != nil && reason != failure.SinkRejected {
		s.t.Fatalf("from %+v: %v", s.cursor, err)
	}
	switch {
	case forget && (err != nil || res.Cursor != nil):
	case err != nil && res.Cursor == nil:
	default:
		s.counts.Add(res.Counts)
		s.cursor = res.Cursor
		s.ended = err == nil && res.Cursor == nil
	}
}

// scenario is something to read.
type scenario struct {
	name    string
	framer  func() frame.Framer
	chain   chain.Constructor
	rejects bool
	unit    func(k *kit) *unit.Unit
	member  *unit.Fault
	blocks  int // at least
}

func (c scenario) open(t *testing.T) (k *kit, fresh func() *stretch) {
	k = newKit(t)
	if c.framer != nil {
		k.config.Framer = c.framer
	}
	if c.chain != nil {
		k.config.Chain = c.chain
	}
	u := c.unit(k)
	return k, func() *stretch {
		p := &tape{}
		k.config.Sinks = []pipe.NamedSink{{Name: "one", Type: "tape", Sink: taped{p, "one", sink.Limits{Bytes: 5 << 20}}}}
		if c.rejects {
			k.config.Rejects = &pipe.Rejects{NamedSink: pipe.NamedSink{Name: "no", Type: "tape", Sink: taped{p, "no", sink.Limits{}}}}
		}
		if c.chain == nil {
			k.config.Chain = split()
			k.config.Sinks = append(k.config.Sinks, pipe.NamedSink{Name: "two", Type: "tape", Sink: taped{p, "two", sink.Limits{}}})
		}
		return &stretch{t: t, pipe: pipe.New(k.config), tape: p, unit: u, member: c.member}
	}
}

func strictly(p chain.Policy) chain.Constructor {
	return chain.Encode(chain.Decode(newStrict, p), p, appendLine)
}

// split sends every third row to the second sink.
func split() chain.Constructor {
	third := func(_ *chain.Context, v *[]byte) (bool, error) {
		return (*v)[bytes.IndexByte(*v, ':')+1]%3 == 0, nil // by the first digit of its number
	}
	return chain.Split(chain.Decode(newStrict, chain.Skip), chain.SplitOptions{},
		chain.Route[[]byte]{Sink: 1, When: third, Encode: appendLine}, chain.Route[[]byte]{Encode: appendLine})
}

// array makes lines the elements of a JSON array.
func array(lines []byte) []byte {
	return fmt.Appendf(nil, "[%s]\n", bytes.ReplaceAll(bytes.TrimSuffix(lines, []byte("\n")), []byte("\n"), []byte(",\n")))
}

func scenarios() []scenario {
	const mib = 1 << 20
	// Long records: it is places that count here.
	csv := bytes.Repeat(append(bytes.Repeat([]byte("a,b,"), 1000), '\n'), 17*mib/4001)
	gzip := func(k *kit, name string, n int) unit.Object {
		return k.bucket.Put(name+".gz", zipped(k.t, lines(name, n, 4000)))
	}
	return []scenario{
		{name: "plain members in groups", blocks: 6, unit: func(k *kit) *unit.Unit {
			return k.unit(k.bucket.Put("a", lines("a", 100, 100)), k.bucket.Put("b", lines("b", 1500, 4000)),
				k.bucket.Put("c", lines("c", 10, 100)), k.bucket.Put("d", lines("d", 1500, 4000)), k.bucket.Put("e", lines("e", 4500, 4000)), k.bucket.Put("f", nil))
		}},
		{name: "compressed members in one group", blocks: 6, unit: func(k *kit) *unit.Unit {
			return k.unit(gzip(k, "a", 1500), gzip(k, "b", 4000), k.bucket.Put("c", lines("c", 10, 100)))
		}},
		{name: "one range of an object", blocks: 6, unit: func(k *kit) *unit.Unit {
			u := k.unit(k.bucket.Put("a", lines("a", 7500, 4000)))
			u.Range = &unit.Range{Start: 777_777, End: 27 * mib, Delimiter: '\n'}
			return u
		}},
		{name: "a range whose last record goes on after it", blocks: 4, unit: func(k *kit) *unit.Unit {
			u := k.unit(k.bucket.Put("a", lines("a", 33, mib)))
			u.Range = &unit.Range{Start: 0, End: segment.Bytes*2 - mib/2, Delimiter: '\n'}
			return u
		}},
		{name: "what is no lines", blocks: 4, framer: func() frame.Framer { return frame.JSONArray(mib) }, unit: func(k *kit) *unit.Unit {
			return k.unit(k.bucket.Put("a", array(lines("a", 4500, 4000))), k.bucket.Put("b", array(lines("b", 3, 60))))
		}},
		{name: "a member that breaks off", blocks: 6, unit: func(k *kit) *unit.Unit {
			z := zipped(k.t, lines("b", 4500, 4000))
			return k.unit(gzip(k, "a", 500), k.bucket.Put("b.gz", z[:len(z)-len(z)/5]), gzip(k, "c", 1500))
		}},
		{name: "a member that is gone", blocks: 4, unit: func(k *kit) *unit.Unit {
			u := k.unit(gzip(k, "a", 2200), k.bucket.Put("b", lines("b", 3, 50)), gzip(k, "c", 2200))
			k.bucket.Delete("b")
			u.Objects[1].Version = ""
			return u
		}},
		{name: "a member of another format", blocks: 7, chain: strictly(chain.Skip), rejects: true, unit: func(k *kit) *unit.Unit {
			return k.unit(gzip(k, "a", 1000), k.bucket.Put("b.gz", zipped(k.t, csv)), gzip(k, "c", 1500))
		}},
		{name: "rejects all over", blocks: 6, chain: strictly(chain.Skip), rejects: true, unit: func(k *kit) *unit.Unit {
			a, _ := mixed(3000, 4000)
			b, _ := mixed(5, 20)
			return k.unit(k.bucket.Put("a", a), k.bucket.Put("b", b))
		}},
		{name: "a record that fails its member", blocks: 3, chain: strictly(chain.Fail), unit: func(k *kit) *unit.Unit {
			return k.unit(k.bucket.Put("a", append(lines("a", 3000, 4000), "oops\n{}\n"...)), k.bucket.Put("b", lines("b", 500, 4000)))
		}},
		{name: "a faulty member's own series", blocks: 6, member: &unit.Fault{Member: 1, Record: 77, Framed: 77}, unit: func(k *kit) *unit.Unit {
			return k.unit(gzip(k, "a", 10), gzip(k, "b", 4500), gzip(k, "c", 10))
		}},
	}
}

// same compares what a unit amounted to, however often its bytes were read.
func same(t *testing.T, got, want *stretch) {
	t.Helper()
	if d := gocmp.Diff(want.counts.Counts, got.counts.Counts); d != "" {
		t.Errorf("counts (-whole +in parts):\n%s", d)
	}
	if d := gocmp.Diff(want.counts.Sinks, got.counts.Sinks); d != "" {
		t.Errorf("counts of the sinks (-whole +in parts):\n%s", d)
	}
	if d := gocmp.Diff(want.known, got.known); d != "" {
		t.Errorf("faults (-whole +in parts):\n%s", d)
	}
}

// INV-3: whoever goes on from a cursor reads what one call reads from there on.
func TestAReadingInPartsIsTheWholeReading(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for i, c := range scenarios() {
		t.Run(c.name, func(t *testing.T) {
			_, fresh := c.open(t)
			whole := fresh()
			whole.call(time.Time{}, 0, false)
			if !whole.ended || len(whole.tape.blocks) < c.blocks {
				t.Fatalf("%d blocks of %d, cursor %+v", len(whole.tape.blocks), c.blocks, whole.cursor)
			}
			t.Run("paused at every place", func(t *testing.T) { paused(t, whole, fresh()) })
			t.Run("stopped anywhere", func(t *testing.T) { disturbed(t, whole, fresh(), rand.New(rand.NewPCG(seed, uint64(i)))) })
		})
	}
}

// paused reads s, stopping wherever it can.
func paused(t *testing.T, whole, s *stretch) {
	s.t = t
	for calls := 0; !s.ended; calls++ {
		before, from := len(s.tape.blocks), s.cursor
		s.call(time.Unix(0, 0), 0, false)
		at := s.cursor
		if at == nil {
			break
		}
		if from != nil && (at.Segment < from.Segment || *at == *from) || calls > 30 {
			t.Fatalf("from %+v to %+v", from, at)
		}
		beyond := fmt.Sprintf(" %d.%d.", at.Series, at.Segment)
		if slices.ContainsFunc(s.tape.blocks[before:], func(b string) bool { return strings.Contains(b, beyond) }) {
			t.Errorf("paused at %+v, and wrote beyond", at)
		}
		if len(s.tape.ends) > 0 {
			t.Errorf("paused at %+v, and committed", at)
		}
	}
	if d := gocmp.Diff(whole.tape.blocks, s.tape.blocks); d != "" {
		t.Errorf("blocks (-whole +in parts):\n%s", d)
	}
	if !slices.Equal(whole.tape.ends, s.tape.ends) {
		t.Errorf("committed %v, want %v", s.tape.ends, whole.tape.ends)
	}
	same(t, s, whole)
	if whole.counts.BytesDecoded != s.counts.BytesDecoded {
		t.Errorf("decoded %d bytes, in parts %d", whole.counts.BytesDecoded, s.counts.BytesDecoded)
	}
}

// disturbed reads s, its calls being stopped in the middle of a write, or lost
// with all that they knew.
func disturbed(t *testing.T, whole, s *stretch, rnd *rand.Rand) {
	s.t = t
	for calls := 0; !s.ended; calls++ {
		until, fail := time.Time{}, 0
		switch n := rnd.IntN(3); {
		case n == 0:
			until = time.Unix(0, 0)
		case calls < 4:
			fail = 1 + rnd.IntN(4)
		}
		at, before := blocks(s.counts), len(s.tape.blocks)
		s.call(until, fail, calls < 4 && rnd.IntN(3) == 0)
		wrote := s.tape.blocks[before:]
		if at+len(wrote) > len(whole.tape.blocks) || !slices.Equal(wrote, whole.tape.blocks[at:at+len(wrote)]) {
			t.Fatalf("behind %d blocks of\n%v\nwrote\n%v", at, whole.tape.blocks, wrote)
		}
	}
	same(t, s, whole)
}

// What was counted of a member before it was found to be of another format is
// taken off once, whether that was found in the call that ended or before.
func TestAnotherFormatFoundBehindACursorIsTakenOffOnce(t *testing.T) {
	i := slices.IndexFunc(scenarios(), func(c scenario) bool { return c.name == "a member of another format" })
	_, fresh := scenarios()[i].open(t)
	whole := fresh()
	whole.call(time.Time{}, 0, false)
	for name, again := range map[string]bool{"in one go": false, "pausing in it again": true} {
		t.Run(name, func(t *testing.T) {
			s := fresh()
			for s.cursor == nil || s.cursor.Undecoded == 0 {
				s.call(time.Unix(0, 0), 0, false)
			}
			last := len(whole.tape.blocks) - blocks(s.counts)
			s.call(time.Time{}, last, true)
			if len(s.known) != 1 || s.ended || s.cursor.Member != 1 {
				t.Fatalf("faults %+v, cursor %+v", s.known, s.cursor)
			}
			if again {
				s.call(time.Unix(0, 0), 0, false)
				if s.cursor.Member != 1 || s.counts.Rejected != 0 {
					t.Fatalf("cursor %+v, counts %+v", s.cursor, s.counts.Counts)
				}
			}
			s.call(time.Time{}, 0, false)
			same(t, s, whole)
		})
	}
}

// blocks is how many blocks of all sinks are counted.
func blocks(c unit.Counts) (n int) {
	for s := range maps.Values(c.Sinks) {
		n += int(s.Blocks)
	}
	return n
}

func TestPlainLinesGoOnAtTheByteAndTheRestFromTheBeginning(t *testing.T) {
	for name, direct := range map[string]bool{"a": true, "a.gz": false} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			data := lines("a", 4500, 4000)
			if !direct {
				data = zipped(t, data)
			}
			u := k.unit(k.bucket.Put(name, data))
			r := whole(u)
			r.Until = time.Unix(0, 0)
			p := k.pipe(capturesink.Options{})
			res, err := p.Rest(t.Context(), r, nil, k.found)
			if err != nil || res.Cursor == nil || direct != (res.Cursor.Offset >= segment.Bytes) {
				t.Fatalf("paused at %+v, %v", res.Cursor, err)
			}
			n := len(k.bucket.Requests())
			r.From = res.Cursor
			if _, err := p.Rest(t.Context(), r, nil, k.found); err != nil {
				t.Fatal(err)
			}
			first := slices.MinFunc(k.bucket.Requests()[n:], func(a, b memobject.Request) int { return cmp.Compare(a.Off, b.Off) })
			if first.Off != res.Cursor.Offset {
				t.Errorf("the first request is %+v, the cursor %+v", first, res.Cursor)
			}
		})
	}
}

func TestAMemberThatIsGoneWhenItGoesOnLosesNothingThatWasAcked(t *testing.T) {
	for _, name := range []string{"a", "a.gz"} {
		k := newKit(t)
		data := lines("a", 4500, 4000)
		if name == "a.gz" {
			data = zipped(t, data)
		}
		o := k.bucket.Put(name, data)
		o.Version = ""
		u := k.unit(o)
		r := whole(u)
		r.Until = time.Unix(0, 0)
		p := k.pipe(capturesink.Options{})
		res, err := p.Rest(t.Context(), r, nil, k.found)
		if err != nil || res.Cursor == nil {
			t.Fatalf("%+v, %v", res, err)
		}
		k.bucket.Delete(name)
		r.From = res.Cursor
		if _, err := p.Rest(t.Context(), r, nil, k.found); err != nil {
			t.Fatal(err)
		}
		if len(k.faults) != 1 || k.faults[0].Record != res.Cursor.Record || k.faults[0].Framed != res.Cursor.Record {
			t.Errorf("%s: cursor %+v, faults %+v", name, res.Cursor, k.faults)
		}
	}
}

func TestTheFirstSegmentThatIsAckedIsToldOnce(t *testing.T) {
	k := newKit(t)
	k.config.Chain = strictly(chain.Skip)
	empty := bytes.Repeat(append(bytes.Repeat([]byte("no"), 5000), '\n'), segment.Bytes/10_000+1) // a segment without rows
	u := k.unit(k.bucket.Put("a", append(empty, lines("a", 5500, 4000)...)))
	for name, c := range map[string]struct {
		script capturesink.Script
		told   int
	}{
		"all is well":            {nil, 1},
		"the second write fails": {capturesink.After(1, capturesink.Down), 1},
		"the first write fails":  {capturesink.Always(capturesink.Down), 0},
	} {
		t.Run(name, func(t *testing.T) {
			told := make(chan int, 9)
			r := whole(u)
			p := k.pipe(capturesink.Options{Script: c.script})
			r.Acked = func() { told <- len(k.sink.Calls()) }
			_, err := p.Rest(t.Context(), r, nil, k.found)
			if (err != nil) != (c.script != nil) || len(told) != c.told {
				t.Fatalf("told %d times, %v", len(told), err)
			}
			if c.told > 0 {
				if n := <-told; n != 1 {
					t.Errorf("told after %d calls of the sink", n)
				}
			}
		})
	}
}

func TestAReadingInTimeDoesNotPause(t *testing.T) {
	k := newKit(t)
	u := k.unit(k.bucket.Put("a", lines("a", 7500, 4000)))
	r := whole(u)
	r.Until = time.Now().Add(time.Hour)
	res, err := k.pipe(capturesink.Options{}).Rest(t.Context(), r, nil, k.found)
	if err != nil || res.Cursor != nil || res.Counts.In != 7500 {
		t.Errorf("%+v, %v", res, err)
	}
}

// A stop from outside leaves the place up to which all is acked, and no write
// behind.
func TestAStopTellsUpToWhereAllIsAcked(t *testing.T) {
	k := newKit(t)
	u := k.unit(k.bucket.Put("a", lines("a", 7500, 4000)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	k.bucket.Wrap = func(_ context.Context, r memobject.Request, b memobject.Body) memobject.Body {
		if r.Off >= 2*segment.Bytes {
			cancel()
		}
		return b
	}
	p := k.pipe(capturesink.Options{})
	res, err := p.Rest(ctx, whole(u), nil, k.found)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%+v, %v", res, err)
	}
	if n := len(k.tokens()); res.Cursor != nil && res.Cursor.Segment > n || res.Cursor == nil && n > 1 {
		t.Errorf("%d blocks written, cursor %+v", n, res.Cursor)
	}
}

// What a cursor says is read is not asked for again.
func TestNothingIsAskedForWhereNothingIsLeft(t *testing.T) {
	k := newKit(t)
	data := lines("a", 100, 50)
	o := k.bucket.Put("a", data)
	fifth := int64(len(firstLines(data, 5)))
	ranged := k.unit(o)
	ranged.Range = &unit.Range{End: fifth, Delimiter: '\n'}
	for name, c := range map[string]struct {
		unit   *unit.Unit
		cursor unit.Cursor
		known  []unit.Fault
	}{
		"of a range":         {ranged, unit.Cursor{Segment: 1, Record: 5, Offset: fifth}, nil},
		"of an object":       {k.unit(o), unit.Cursor{Segment: 1, Record: 100, Offset: int64(len(data))}, nil},
		"of a faulty member": {k.unit(o), unit.Cursor{Segment: 1, Record: 5}, []unit.Fault{{Record: 5, Framed: 5}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := whole(c.unit)
			r.From = &c.cursor
			res, err := k.pipe(capturesink.Options{}).Rest(t.Context(), r, c.known, k.found)
			if err != nil || res.Cursor != nil || res.Counts.In != 0 || len(k.bucket.Requests()) > 0 || len(k.faults) > 0 {
				t.Errorf("%+v, %v, requests %v, faults %+v", res, err, k.bucket.Requests(), k.faults)
			}
		})
	}
}

func TestAGroupWithoutRecordsEndsAtAPlaceToo(t *testing.T) {
	k := newKit(t)
	blank := bytes.Repeat([]byte("  \n"), 3<<20)
	u := k.unit(k.bucket.Put("a", blank), k.bucket.Put("b", lines("b", 10, 50)))
	r := whole(u)
	r.Until = time.Unix(0, 0)
	p := k.pipe(capturesink.Options{})
	res, err := p.Rest(t.Context(), r, nil, k.found)
	if err != nil || res.Cursor == nil || *res.Cursor != (unit.Cursor{Member: 1}) || len(k.sink.Calls()) > 0 {
		t.Fatalf("%+v, %v", res.Cursor, err)
	}
	r.From = res.Cursor
	if res, err = p.Rest(t.Context(), r, nil, k.found); err != nil || res.Cursor != nil || res.Counts.In != 10 {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestRecordsThatArePassedOverAreNotOfTheLimit(t *testing.T) {
	k := newKit(t)
	k.config.Limit = new(atomic.Int64)
	k.config.Limit.Store(20)
	u := k.unit(k.bucket.Put("a.gz", zipped(t, lines("a", 100, 50))))
	r := whole(u)
	r.From = &unit.Cursor{Segment: 1, Record: 70}
	res, err := k.pipe(capturesink.Options{}).Rest(t.Context(), r, nil, k.found)
	if want := firstLines(lines("a", 100, 50), 90)[len(firstLines(lines("a", 100, 50), 70)):]; err != nil || res.Counts.In != 20 || !bytes.Equal(k.sink.Bytes(), want) {
		t.Errorf("%+v, %v", res, err)
	}
}
