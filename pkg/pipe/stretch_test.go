package pipe_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/pipe"
	"github.com/spate-go/spate/pkg/segment"
	"github.com/spate-go/spate/pkg/sink"
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

// taped refuses, where its limits say that it may, every row with a 7 in the
// first half of its number.
type taped struct {
	*tape
	name   string
	limits sink.Limits
}

func (s taped) Write(_ context.Context, b *sink.Block) error {
	if err := s.next(&s.blocks, fmt.Sprintf("%s %d.%d.%d %s", s.name, b.Series, b.Segment, b.Part, b.Token)); err != nil {
		return err
	}
	r := new(sink.Rejected)
	for i := range b.Rows {
		if row := b.Row(i); s.limits.Rejects && bytes.Contains(row[:min(9, len(row))], []byte("7")) {
			r.Rows = append(r.Rows, sink.RejectedRow{Index: i, Detail: "a seven", Text: bytes.Clone(row[:9])})
		}
	}
	if len(r.Rows) == 0 {
		return nil
	}
	return r
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
		res, err = s.pipe.ReadMember(s.t.Context(), r, *s.member)
	} else {
		res, err = s.pipe.ReadUnit(s.t.Context(), r, slices.Clone(s.known), func(_ context.Context, f unit.Fault) error {
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

// sinks are what two sinks are like.
type sinks struct {
	one, two int // segments that they join
	refuse   bool
}

func (c scenario) open(t *testing.T, v sinks) (k *kit, fresh func() *stretch) {
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
		k.config.Sinks = []pipe.NamedSink{{Name: "one", Type: "tape", Sink: taped{p, "one", sink.Limits{Bytes: 5 << 20, Segments: v.one, Rejects: v.refuse}}}}
		if c.rejects || v.refuse {
			k.config.Rejects = &pipe.Rejects{NamedSink: pipe.NamedSink{Name: "no", Type: "tape", Sink: taped{p, "no", sink.Limits{}}}}
		}
		if c.chain == nil {
			k.config.Chain = split()
			k.config.Sinks = append(k.config.Sinks, pipe.NamedSink{Name: "two", Type: "tape", Sink: taped{p, "two", sink.Limits{Segments: v.two, Rejects: v.refuse}}})
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

// even are records of just a segment.
func even() (b []byte) {
	for i := range segment.Bytes / 4096 {
		b = fmt.Appendf(b, "{\"n\":%04d,\"p\":\"%s\"}\n", i, strings.Repeat("x", 4096-18))
	}
	return b
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
		{name: "a long object", blocks: 16, unit: func(k *kit) *unit.Unit {
			return k.unit(k.bucket.Put("a", lines("a", 10, 100)), k.bucket.Put("b", lines("b", 15_000, 4000)))
		}},
		{name: "plain members in groups", blocks: 6, unit: func(k *kit) *unit.Unit {
			return k.unit(k.bucket.Put("a", lines("a", 100, 100)), k.bucket.Put("b", lines("b", 1500, 4000)),
				k.bucket.Put("c", lines("c", 10, 100)), k.bucket.Put("d", lines("d", 1500, 4000)), k.bucket.Put("e", lines("e", 4500, 4000)), k.bucket.Put("f", nil))
		}},
		{name: "groups that end with a segment", blocks: 6, unit: func(k *kit) *unit.Unit {
			return k.unit(k.bucket.Put("a", even()), k.bucket.Put("b", even()), k.bucket.Put("c", even()), k.bucket.Put("d", lines("d", 10, 100)))
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
