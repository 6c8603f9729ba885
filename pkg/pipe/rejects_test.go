package pipe_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/budget"
	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/pipe"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/reject"
	"github.com/spate-go/spate/pkg/segment"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/capturesink"
	"github.com/spate-go/spate/pkg/unit"
)

// rejecting is a kit whose chain takes objects alone, and the sink of the rest.
type rejecting struct {
	*kit
	rejects *capturesink.Sink
}

func newRejecting(t *testing.T) *rejecting {
	k := &rejecting{kit: newKit(t)}
	k.config.Chain = chain.Encode(chain.Decode(newStrict, chain.Skip), chain.Skip, appendLine)
	return k
}

func (k *rejecting) pipe(o capturesink.Options, admit func(string, int64) bool) *pipe.Pipe {
	o.Violation = k.t.Errorf
	k.rejects = capturesink.New(o)
	k.config.Rejects = &pipe.Rejects{NamedSink: pipe.NamedSink{Name: "rejects", Type: "capture", Sink: k.rejects}, Admit: admit}
	return k.kit.pipe(capturesink.Options{})
}

// blocks are what was written of rejects, without repeats.
func (k *rejecting) blocks() []sink.Block {
	var all []sink.Block
	for _, c := range k.rejects.Calls() {
		if c.Op == capturesink.Write && !slices.ContainsFunc(all, func(b sink.Block) bool { return b.Token == c.Block.Token }) {
			all = append(all, c.Block)
		}
	}
	return all
}

func (k *rejecting) rejectTokens() []string {
	var all []string
	for _, b := range k.blocks() {
		all = append(all, b.Token)
	}
	return all
}

// records are the refused ones, in order, as they were. Each is to stand in its
// object where its line says.
func (k *rejecting) records(objects map[string][]byte) (all []byte) {
	k.t.Helper()
	for _, b := range k.blocks() {
		for line := range bytes.Lines(bytes.Clone(b.Data)) {
			var l struct {
				Key    string
				Offset int64
			}
			if err := json.Unmarshal(line, &l); err != nil {
				k.t.Fatalf("%v: %q", err, line)
			}
			start, end, ok, err := reject.Content(line)
			if err != nil || !ok {
				k.t.Fatalf("%v: %q", err, line)
			}
			if from := objects[l.Key][l.Offset:]; !bytes.HasPrefix(from, append(bytes.Clone(line[start:end]), '\n')) {
				k.t.Fatalf("%q is not at %d of %s", line[start:end], l.Offset, l.Key)
			}
			all = append(append(all, line[start:end]...), '\n')
		}
	}
	return all
}

// mixed are records of which every other one is refused, and these alone.
func mixed(n, size int) (all, refused []byte) {
	for i := range n {
		all = fmt.Appendf(all, "{\"n\":%d,\"p\":\"%s\"}\n", i, strings.Repeat("x", size))
		bad := fmt.Appendf(nil, "no %d %s\xff\n", i, strings.Repeat("y", i%size))
		all, refused = append(all, bad...), append(refused, bad...)
	}
	return all, refused
}

func TestEveryRefusedRecordIsWrittenInOrderAndAgainTheSame(t *testing.T) {
	k := newRejecting(t)
	a, badA := mixed(15_000, 800)
	b, badB := mixed(5, 20)
	objects := map[string][]byte{"a.gz": a, "b": b}
	u := k.unit(k.bucket.Put("a.gz", zipped(t, a)), k.bucket.Put("b", b))
	counts := k.rest(k.pipe(capturesink.Options{}, nil), u)
	if got := k.records(objects); !bytes.Equal(got, append(badA, badB...)) {
		t.Errorf("rejects of %d bytes differ from the %d refused", len(got), len(badA)+len(badB))
	}
	if n := counts.Sinks["rejects"].Records; n != 15_005 || counts.Rejected != n || counts.Sinks["out"].Records != n || counts.Out != n {
		t.Errorf("counts %+v", counts)
	}
	blocks := k.blocks()
	for i, b := range blocks {
		if first := i == 0 || blocks[i-1].Segment != b.Segment; first && b.Part != 0 || !first && b.Part != blocks[i-1].Part+1 {
			t.Errorf("block %d is part %d of segment %d", i, b.Part, b.Segment)
		}
		if want := sink.Token(u.ID(), "rejects", b.Series, b.Segment, b.Part, b.Data); b.Token != want {
			t.Errorf("token %s, want %s", b.Token, want)
		}
	}
	if len(blocks) < 4 || blocks[0].Segment == blocks[len(blocks)-1].Segment || len(k.rejects.Committed()) == 0 {
		t.Errorf("%d blocks, committed %v", len(blocks), k.rejects.Committed())
	}
	first, rows := k.rejectTokens(), k.tokens()
	for _, o := range []capturesink.Options{{}, {Script: capturesink.Once(2, capturesink.Refused)}} {
		p := k.pipe(o, nil)
		if o.Script != nil {
			if _, err := p.ReadUnit(t.Context(), whole(u), nil, k.found); err == nil {
				t.Fatal("a refused block of rejects passes")
			}
		}
		again := k.rest(p, u)
		if got := k.rejectTokens(); !slices.Equal(got, first) || !slices.Equal(k.tokens(), rows) {
			t.Errorf("the repeat's blocks differ:\n%v\n%v", got, first)
		}
		if again.Counts != counts.Counts || again.Sinks["rejects"] != counts.Sinks["rejects"] {
			t.Errorf("the repeat counts %+v, not %+v", again, counts)
		}
	}
}

// A line of rejects is many times as long as a short record: they neither fail
// the unit nor take memory that it does not have.
func TestASegmentOfRejectsIsWrittenBlockByBlock(t *testing.T) {
	k := newRejecting(t)
	data := append(bytes.Repeat([]byte("x\n"), 80_000), "{}\n"...)
	u := k.unit(k.bucket.Put("a", data))
	k.config.Budget = budget.New(pipe.Floor(frame.NDJSON(1<<20), sink.Limits{}, sink.Limits{}))
	counts := k.rest(k.pipe(capturesink.Options{}, nil), u)
	if got := k.records(map[string][]byte{"a": data}); !bytes.Equal(got, data[:160_000]) {
		t.Errorf("%d bytes of rejects", len(got))
	}
	blocks, rows := k.blocks(), int64(0)
	for i, b := range blocks {
		if b.Part != i || b.Segment != 0 || len(b.Data) > 5<<20 || int64(b.Rows) != int64(bytes.Count(b.Data, []byte("\n"))) {
			t.Errorf("block %d: %d.%d of %d bytes and %d rows", i, b.Segment, b.Part, len(b.Data), b.Rows)
		}
		rows += int64(b.Rows)
		// Wherever the batches end, the row that reaches 4 MiB ends a block.
		last := bytes.LastIndexByte(b.Data[:len(b.Data)-1], '\n') + 1
		if i < len(blocks)-1 && (len(b.Data) < 4<<20 || last >= 4<<20) {
			t.Errorf("block %d ends at %d, its last row begins at %d", i, len(b.Data), last)
		}
	}
	if c := counts.Sinks["rejects"]; len(blocks) < 3 || rows != 80_000 || c.Records != rows || c.Blocks != int64(len(blocks)) {
		t.Errorf("%d blocks of %d rows, counted %+v", len(blocks), rows, c)
	}
}

func TestRejectsThatAreNotAdmittedAreCounted(t *testing.T) {
	k := newRejecting(t)
	data, _ := mixed(15_000, 800)
	u := k.unit(k.bucket.Put("a", data))
	var asked []string
	q := sink.NewQuota(9 << 20)
	counts := k.rest(k.pipe(capturesink.Options{}, func(token string, n int64) bool {
		asked = append(asked, token)
		return q.Admit(token, n)
	}), u)
	in, out := counts.Sinks["rejects"], counts.Sinks["rejects"+pipe.DroppedSuffix]
	if in.Records == 0 || out.Records == 0 || in.Records+out.Records != counts.Rejected || in.Bytes > 9<<20 {
		t.Errorf("written %+v, dropped %+v of %d", in, out, counts.Rejected)
	}
	if got := k.rejectTokens(); int64(len(got)) != in.Blocks || int64(len(asked)) != in.Blocks+out.Blocks {
		t.Errorf("%d blocks written, %d asked about: %+v, %+v", len(got), len(asked), in, out)
	}
	if again := k.rest(k.pipe(capturesink.Options{}, q.Admit), u); again.Sinks["rejects"] != in {
		t.Errorf("the repeat writes %+v, not %+v", again.Sinks["rejects"], in)
	}
}

// What a member of another format left in the segment at hand is taken back.
func TestAMemberOfAnotherFormatLeavesNoRejectsInItsSegment(t *testing.T) {
	k := newRejecting(t)
	few, csv := bytes.Repeat([]byte("few\n"), 9), bytes.Repeat([]byte("a,b,c\n"), 100)
	u := k.unit(k.bucket.Put("a", few), k.bucket.Put("csv", csv), k.bucket.Put("d", few))
	counts := k.rest(k.pipe(capturesink.Options{}, nil), u)
	want := append(bytes.Clone(few), few...)
	if got := k.records(map[string][]byte{"a": few, "d": few}); !bytes.Equal(got, want) || len(k.faults) != 1 {
		t.Errorf("got %q, faults %+v", got, k.faults)
	}
	if n := counts.Sinks["rejects"].Records; n != 18 || counts.Rejected != 18 {
		t.Errorf("counts %+v", counts)
	}
	first, f := k.rejectTokens(), k.faults[0]
	if k.rest(k.pipe(capturesink.Options{}, nil), u, f); !slices.Equal(k.rejectTokens(), first) {
		t.Errorf("the repeat's blocks differ: %v, %v", k.rejectTokens(), first)
	}
}

func TestALongMemberOfAnotherFormatLeavesWhatIsWrittenAlone(t *testing.T) {
	few := bytes.Repeat([]byte("few\n"), 9)
	for name, c := range map[string]struct {
		good   int64 // bytes of the first member beside the few
		csv    []byte
		blocks int
	}{
		"of blocks":         {0, bytes.Repeat([]byte("a,b,c\n"), 60_000), 3},
		"of segments":       {0, bytes.Repeat(append(bytes.Repeat([]byte("a,"), 50_000), '\n'), 120), 3},
		"across a boundary": {segment.Bytes - 50_000, bytes.Repeat(append(bytes.Repeat([]byte("a,"), 50), '\n'), 1000), 2},
	} {
		t.Run(name, func(t *testing.T) {
			k := newRejecting(t)
			a := append(bytes.Clone(few), bytes.Repeat([]byte("{\"a\":1}\n"), int(c.good/8))...)
			u := k.unit(k.bucket.Put("a", a), k.bucket.Put("csv", zipped(t, c.csv)), k.bucket.Put("d", few))
			counts := k.rest(k.pipe(capturesink.Options{}, nil), u)
			got := k.records(map[string][]byte{"a": a, "csv": c.csv, "d": few})
			if len(k.faults) != 1 || counts.Rejected != 18 || !bytes.HasPrefix(got, few) {
				t.Fatalf("faults %+v, counts %+v", k.faults, counts.Counts)
			}
			blocks := k.blocks()
			if last := blocks[len(blocks)-1]; len(blocks) < c.blocks || last.Rows != 9 || !bytes.HasSuffix(got, few) {
				t.Errorf("%d blocks, %d rows in the last", len(blocks), last.Rows)
			}
			first, f := k.rejectTokens(), k.faults[0]
			if k.rest(k.pipe(capturesink.Options{}, nil), u, f); !slices.Equal(k.rejectTokens(), first) {
				t.Errorf("the repeat's blocks differ: %v, %v", k.rejectTokens(), first)
			}
		})
	}
}

func TestAMemberOfAnotherFormatLeavesTheRejectsBeforeItAlone(t *testing.T) {
	k := newRejecting(t)
	// About as many as fill a block: of some the rest of a batch stays behind.
	for n := 23_000; n < 27_000; n += 500 {
		many := append(bytes.Repeat([]byte("few\n"), n), "{}\n"...)
		u := k.unit(k.bucket.Put("a", many), k.bucket.Put("csv", bytes.Repeat([]byte("a,b\n"), 100)))
		k.rest(k.pipe(capturesink.Options{}, nil), u)
		if got := k.records(map[string][]byte{"a": many}); len(k.faults) != 1 || !bytes.Equal(got, many[:4*n]) {
			t.Fatalf("%d bytes of %d rejects, faults %+v", len(got), n, k.faults)
		}
		if b := k.blocks()[0]; n == 23_000 && len(b.Data) >= 4<<20 || n == 26_500 && len(b.Data) < 4<<20 {
			t.Fatalf("%d rejects make a block of %d bytes", n, len(b.Data))
		}
	}
}

func TestOffsetsOfARangeAreThoseOfItsObject(t *testing.T) {
	k := newRejecting(t)
	data, refused := mixed(20_000, 100)
	var got []byte
	units := 0
	p := plan.NewPacker(plan.Options{Job: "j", Run: 1, Bucket: "b", Target: plan.MinTarget})
	err := p.Add(k.bucket.Put("a", data), &plan.Cut{Delimiter: '\n'}, func(u *unit.Unit) error {
		units++
		k.rest(k.pipe(capturesink.Options{}, nil), u)
		got = append(got, k.records(map[string][]byte{"a": data})...)
		return nil
	})
	if err != nil || units < 3 || !bytes.Equal(got, refused) {
		t.Errorf("%d units, %v, %d bytes of rejects, want %d", units, err, len(got), len(refused))
	}
}
