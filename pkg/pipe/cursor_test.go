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
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/segment"
	"github.com/spate-go/spate/pkg/sink/capturesink"
	"github.com/spate-go/spate/pkg/unit"
)

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
	for _, v := range []sinks{{1, 1, false}, {2, 1, true}, {1, 3, false}, {2, 3, true}} {
		for i, c := range scenarios() {
			t.Run(fmt.Sprintf("%s into %+v", c.name, v), func(t *testing.T) {
				_, fresh := c.open(t, v)
				whole := fresh()
				whole.call(time.Time{}, 0, false)
				if !whole.ended || v.one == v.two && len(whole.tape.blocks) < c.blocks {
					t.Fatalf("%d blocks of %d, cursor %+v", len(whole.tape.blocks), c.blocks, whole.cursor)
				}
				settles(t, whole.counts)
				t.Run("paused at every place", func(t *testing.T) { paused(t, whole, fresh()) })
				t.Run("stopped anywhere", func(t *testing.T) { disturbed(t, whole, fresh(), rand.New(rand.NewPCG(seed, uint64(i)))) })
			})
		}
	}
}

// settles checks that every record became something, and that what the sinks
// took is what is out.
func settles(t *testing.T, c unit.Counts) {
	t.Helper()
	if c.In+c.Expanded != c.Out+c.Filtered+c.Rejected || c.Sinks["one"].Records+c.Sinks["two"].Records != c.Out {
		t.Errorf("the counts do not add up: %+v", c)
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
	_, fresh := scenarios()[i].open(t, sinks{})
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
			res, err := p.ReadUnit(t.Context(), r, nil, k.found)
			if err != nil || res.Cursor == nil || direct != (res.Cursor.Offset >= segment.Bytes) {
				t.Fatalf("paused at %+v, %v", res.Cursor, err)
			}
			n := len(k.bucket.Requests())
			r.From = res.Cursor
			if _, err := p.ReadUnit(t.Context(), r, nil, k.found); err != nil {
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
		res, err := p.ReadUnit(t.Context(), r, nil, k.found)
		if err != nil || res.Cursor == nil {
			t.Fatalf("%+v, %v", res, err)
		}
		k.bucket.Delete(name)
		r.From = res.Cursor
		if _, err := p.ReadUnit(t.Context(), r, nil, k.found); err != nil {
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
			_, err := p.ReadUnit(t.Context(), r, nil, k.found)
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
	res, err := k.pipe(capturesink.Options{}).ReadUnit(t.Context(), r, nil, k.found)
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
	res, err := p.ReadUnit(ctx, whole(u), nil, k.found)
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
			res, err := k.pipe(capturesink.Options{}).ReadUnit(t.Context(), r, c.known, k.found)
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
	res, err := p.ReadUnit(t.Context(), r, nil, k.found)
	if err != nil || res.Cursor == nil || *res.Cursor != (unit.Cursor{Member: 1}) || len(k.sink.Calls()) > 0 {
		t.Fatalf("%+v, %v", res.Cursor, err)
	}
	r.From = res.Cursor
	if res, err = p.ReadUnit(t.Context(), r, nil, k.found); err != nil || res.Cursor != nil || res.Counts.In != 10 {
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
	res, err := k.pipe(capturesink.Options{}).ReadUnit(t.Context(), r, nil, k.found)
	if want := firstLines(lines("a", 100, 50), 90)[len(firstLines(lines("a", 100, 50), 70)):]; err != nil || res.Counts.In != 20 || !bytes.Equal(k.sink.Bytes(), want) {
		t.Errorf("%+v, %v", res, err)
	}
}
