package pipe_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/pipe"
	"github.com/spate-go/spate/pkg/reject"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/capturesink"
	"github.com/spate-go/spate/pkg/unit"
)

// refusing refuses rows with a mark.
func refusing(mark string) func([]byte) string {
	return func(row []byte) string {
		if bytes.Contains(row, []byte(mark)) {
			return "holds " + mark
		}
		return ""
	}
}

// refusal is a line of rejects that a sink has written.
type refusal struct {
	key    string
	record int64
	detail string
	row    string
}

func (k *rejecting) refusals() []refusal {
	k.t.Helper()
	var all []refusal
	for _, b := range k.blocks() {
		for line := range bytes.Lines(bytes.Clone(b.Data)) {
			var l struct {
				Key, Reason, Detail string
				Record              int64
				Offset              *int64
			}
			if err := json.Unmarshal(line, &l); err != nil {
				k.t.Fatalf("%v: %q", err, line)
			}
			if l.Reason != string(failure.SinkRejected) {
				continue
			}
			if l.Offset != nil {
				k.t.Errorf("line %s has an offset", line)
			}
			start, end, _, err := reject.Content(line)
			if err != nil {
				k.t.Fatal(err)
			}
			all = append(all, refusal{l.Key, l.Record, l.Detail, string(line[start:end])})
		}
	}
	return all
}

// marked are n records, every seventh of which holds "bad", and where those are.
func marked(name string, n, size int) (data []byte, at []int64) {
	for i := range n {
		mark := "good"
		if i%7 == 3 {
			mark = "bad"
			at = append(at, int64(i))
		}
		data = fmt.Appendf(data, "{\"%s\":%d,\"m\":\"%s\",\"p\":\"%s\"}\n", name, i, mark, strings.Repeat("x", size))
	}
	return data, at
}

// On first and on repeated delivery, whatever is joined and however often the
// reading pauses: the others are written, each refused row has its line.
func TestRowsThatASinkRefusesAreRejectedWithTheirRecords(t *testing.T) {
	a, atA := marked("a", 9, 10)
	b, atB := marked("b", 5000, 4000)
	a = append(a, "no record\n"...)
	for _, segments := range []int{1, 2, 3} {
		for _, until := range []time.Time{{}, time.Unix(0, 0)} {
			t.Run(fmt.Sprintf("%d joined, paused: %v", segments, !until.IsZero()), func(t *testing.T) {
				k := newRejecting(t)
				u := k.unit(k.bucket.Put("a", a), k.bucket.Put("b.gz", zipped(t, b)))
				k.pipe(capturesink.Options{}, nil)
				k.sink = capturesink.New(capturesink.Options{
					Dedup: true, Violation: t.Errorf, Refuses: refusing("bad"), Limits: sink.Limits{Segments: segments, Rows: 1000},
				})
				k.config.Sinks[0].Sink = k.sink
				p := pipe.New(k.config)
				var counts [2]unit.Counts
				for i := range counts {
					counts[i] = inParts(t, p, u, until)
				}
				refused := int64(len(atA) + len(atB))
				c := counts[0]
				if c.In != 5010 || c.Rejected != refused+1 || c.Out != 5009-refused || c.Sinks["out"].Records != c.Out || c.Sinks["rejects"].Records != c.Rejected {
					t.Errorf("counts %+v", c)
				}
				if got := int64(len(k.sink.Bytes())); got != c.Sinks["out"].Bytes || int64(len(k.sink.Rows())) != c.Out {
					t.Errorf("%d bytes taken, counted %+v", got, c.Sinks["out"])
				}
				if again := counts[1]; again.Counts != c.Counts || again.Sinks["out"] != c.Sinks["out"] || again.Sinks["rejects"] != c.Sinks["rejects"] {
					t.Errorf("the repeat counts %+v, not %+v", again, c)
				}
				got := k.refusals()
				if int64(len(got)) != refused {
					t.Fatalf("%d lines of %d refused rows", len(got), refused)
				}
				for i, at := range slices.Concat(atA, atB) {
					want := refusal{key: "a", record: at, detail: "sink out: holds bad"}
					if i >= len(atA) {
						want.key = "b.gz"
					}
					got[i].row, want.row = strings.SplitN(got[i].row, ",", 2)[0], fmt.Sprintf("{\"%s\":%d", want.key[:1], at)
					if got[i] != want {
						t.Fatalf("line %d is %+v, want %+v", i, got[i], want)
					}
				}
			})
		}
	}
}

// inParts reads u to its end and returns what it counted.
func inParts(t *testing.T, p *pipe.Pipe, u *unit.Unit, until time.Time) (c unit.Counts) {
	t.Helper()
	r := whole(u)
	r.Until = until
	for {
		res, err := p.ReadUnit(t.Context(), r, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.Add(res.Counts)
		if r.From = res.Cursor; r.From == nil {
			return c
		}
	}
}

// A row counts once, whichever of its sinks refuse it and however they join.
func TestARowThatSeveralSinksRefuseCountsOnce(t *testing.T) {
	each := func(_ *chain.Context, in *[]byte, emit func(*[]byte) error) error { // a row of each element
		for _, row := range bytes.Split((*in)[1:len(*in)-1], []byte(",")) {
			if err := emit(&row); err != nil {
				return err
			}
		}
		return nil
	}
	rows := chain.FlatMap(chain.Decode(newStrict, chain.Skip), each)
	odd := func(_ *chain.Context, v *[]byte) (bool, error) { return (*v)[0]%2 == 1, nil }
	all := chain.Encode(rows, chain.Skip, appendLine)
	split := chain.Split(rows, chain.SplitOptions{}, chain.Route[[]byte]{Sink: 1, When: odd, Encode: appendLine}, chain.Route[[]byte]{Encode: appendLine})
	for _, c := range []struct {
		name                         string
		chain                        chain.Constructor
		in                           string
		in1, out, expanded, rejected int64
		one, two                     int64 // rows that the sinks took
		lines                        int
	}{
		{"one sink refuses what the other takes", all, "{2a,2,2}\n{4}\n", 2, 3, 2, 1, 3, 4, 1},
		{"both refuse a row", all, "{2,2ab,2}\n{4}\n", 2, 3, 2, 1, 3, 3, 2},
		{"each refuses another row", all, "{2a,2b,2}\n{4}\n", 2, 2, 2, 2, 3, 3, 2},
		{"every row of a record is refused", all, "{2ab,4ab}\n{4}\n", 2, 1, 1, 2, 1, 1, 4},
		{"equal rows of one record are different rows", all, "{2ab,2ab,2a}\n", 1, 0, 2, 3, 0, 1, 5},
		{"rows of one record in two sinks", split, "{2a,1b,2}\n{3}\n", 2, 2, 2, 2, 1, 1, 2},
	} {
		for _, joined := range []int{1, 2} {
			t.Run(fmt.Sprint(c.name, ", joined ", joined), func(t *testing.T) {
				k := newRejecting(t)
				k.config.Chain = c.chain
				u := k.unit(k.bucket.Put("a", []byte(c.in)))
				k.pipe(capturesink.Options{}, nil)
				one := capturesink.New(capturesink.Options{Violation: t.Errorf, Refuses: refusing("a")})
				two := capturesink.New(capturesink.Options{Violation: t.Errorf, Refuses: refusing("b"), Limits: sink.Limits{Segments: joined}})
				k.config.Sinks = []pipe.NamedSink{{Name: "one", Type: "capture", Sink: one}, {Name: "two", Type: "capture", Sink: two}}
				got := k.rest(pipe.New(k.config), u)
				if got.In != c.in1 || got.Out != c.out || got.Expanded != c.expanded || got.Rejected != c.rejected || got.In+got.Expanded != got.Out+got.Rejected {
					t.Errorf("counts %+v", got.Counts)
				}
				if got.Sinks["one"].Records != c.one || got.Sinks["two"].Records != c.two || len(k.refusals()) != c.lines {
					t.Errorf("sinks %+v, lines %+v", got.Sinks, k.refusals())
				}
			})
		}
	}
}

// Also where the second sink's block, and with it its refusal, is of later.
func TestARowThatASlowerSinkRefusesAgainCountsOnce(t *testing.T) {
	k := newRejecting(t)
	data, at := marked("a", 9000, 4000) // four segments and a rest
	u := k.unit(k.bucket.Put("a", data))
	k.pipe(capturesink.Options{}, nil)
	two := capturesink.New(capturesink.Options{Violation: t.Errorf, Refuses: refusing("bad"), Limits: sink.Limits{Segments: 2}})
	k.config.Sinks[0].Sink = capturesink.New(capturesink.Options{Violation: t.Errorf, Refuses: refusing("bad")})
	k.config.Sinks = append(k.config.Sinks, pipe.NamedSink{Name: "two", Type: "capture", Sink: two})
	p, n := pipe.New(k.config), int64(len(at))
	for _, until := range []time.Time{{}, time.Unix(0, 0)} {
		c := inParts(t, p, u, until)
		if c.Rejected != n || c.Out != 9000-n || c.Sinks["rejects"].Records != 2*n || c.Sinks["two"].Records != c.Out {
			t.Errorf("counts %+v of %d refused rows", c, n)
		}
	}
}

// The line is durable before the block counts: no cursor stands behind a row
// whose line is not written, and no unit is done.
func TestNoPlaceIsBehindARefusedRowWithoutItsLine(t *testing.T) {
	k := newRejecting(t)
	data, _ := marked("a", 5000, 4000)
	u := k.unit(k.bucket.Put("a", data))
	for n := range 4 {
		k.pipe(capturesink.Options{Script: capturesink.After(n, capturesink.Down)}, nil)
		k.sink = capturesink.New(capturesink.Options{Violation: t.Errorf, Refuses: refusing("bad")})
		k.config.Sinks[0].Sink = k.sink
		res, err := pipe.New(k.config).ReadUnit(t.Context(), whole(u), nil, k.found)
		if n < 3 && !failure.Is(err, failure.Job) || len(k.sink.Committed()) > 0 && n < 3 {
			t.Fatalf("rejects that are down from call %d on: %v, committed %v", n+1, err, k.sink.Committed())
		}
		behind := 0
		if res.Cursor != nil {
			behind = res.Cursor.Segment
		}
		if acked := min(n, 3); behind > acked {
			t.Errorf("the cursor is behind %d segments, the rejects of %d are written", behind, acked)
		}
		if c := res.Counts; res.Cursor != nil && (c.Rejected != c.Sinks["rejects"].Records || c.Out != c.Sinks["out"].Records) {
			t.Errorf("at the cursor: %+v", c)
		}
	}
}

// A segment of refused rows passes through rejects block by block.
func TestRefusedRowsFillBlocksOfRejects(t *testing.T) {
	k := newRejecting(t)
	u := k.unit(k.bucket.Put("a", bytes.Repeat([]byte("{\"bad\":\"row\"}\n"), 100_000)))
	k.pipe(capturesink.Options{}, nil)
	k.sink = capturesink.New(capturesink.Options{Violation: t.Errorf, Refuses: refusing("bad"), Limits: sink.Limits{Rows: 30_000}})
	k.config.Sinks[0].Sink = k.sink
	counts := k.rest(pipe.New(k.config), u)
	blocks, rows := k.blocks(), 0
	for i, b := range blocks {
		// A block goes out as it is full: the next one begins where it did.
		if b.Part != i || b.Base != 0 || len(b.Data) > 5<<20 {
			t.Errorf("block %d is part %d of %d bytes behind %d", i, b.Part, len(b.Data), b.Base)
		}
		rows += b.Rows
	}
	if len(blocks) < 3 || rows != 100_000 || counts.Rejected != 100_000 || counts.Out != 0 || counts.Sinks["out"].Blocks != 0 {
		t.Errorf("%d blocks of %d rows, counts %+v", len(blocks), rows, counts)
	}
}

func TestWithoutRejectsRefusedRowsAreCounted(t *testing.T) {
	k := newKit(t)
	data, at := marked("a", 100, 10)
	u := k.unit(k.bucket.Put("a", data))
	counts := k.rest(k.pipe(capturesink.Options{Refuses: refusing("bad")}), u)
	if n := int64(len(at)); counts.Rejected != n || counts.Out != 100-n || len(k.sink.Rows()) != 100-len(at) {
		t.Errorf("counts %+v", counts)
	}
}

// scripted answers every write alike.
type scripted struct {
	sink.Sink
	limits sink.Limits
	err    error
}

func (s scripted) Write(context.Context, *sink.Block) error { return s.err }
func (s scripted) Limits() sink.Limits                      { return s.limits }

func TestAnAnswerThatIsNoVerdictOnRowsFailsTheUnit(t *testing.T) {
	row := func(at ...int) *sink.Rejected {
		r := new(sink.Rejected)
		for _, i := range at {
			r.Rows = append(r.Rows, sink.RejectedRow{Index: i, Detail: "x", Text: []byte("x")})
		}
		return r
	}
	may := sink.Limits{Rejects: true}
	for name, c := range map[string]struct {
		limits sink.Limits
		err    error
		scope  failure.Scope
	}{
		"of a sink that may not reject":       {sink.Limits{}, row(1), failure.Unit},
		"of a row before the first":           {may, row(-1), failure.Unit},
		"of a row behind the last":            {may, row(10), failure.Unit},
		"of a row twice":                      {may, row(3, 3), failure.Unit},
		"of rows out of order":                {may, row(4, 3), failure.Unit},
		"within an error that says otherwise": {may, failure.Errorf(failure.Job, failure.SinkDown, "%w", row(1)), failure.Job},
		"beside an answer that was lost":      {may, errors.Join(failure.New(failure.Transient, failure.RetriesExhausted, errors.New("x")), row(1)), failure.Transient},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			u := k.unit(k.bucket.Put("a", lines("a", 10, 50)))
			k.pipe(capturesink.Options{})
			k.config.Sinks[0].Sink = scripted{k.sink, c.limits, c.err}
			_, err := pipe.New(k.config).ReadUnit(t.Context(), whole(u), nil, k.found)
			if scope, _ := failure.Of(err); err == nil || scope != c.scope || len(k.sink.Committed()) > 0 {
				t.Errorf("got %v", err)
			}
		})
	}
}

// untraced is a chain of its own that does not say whose rows are whose.
type untraced struct{ chain.Worker }

func (u untraced) Process(b *chain.Batch, out *chain.Output) error {
	err := u.Worker.Process(b, out)
	out.Sinks[0].Records = nil
	return err
}

func TestAChainThatDoesNotTraceRowsFailsTheUnitOnlyWhereOneIsRefused(t *testing.T) {
	for mark, good := range map[string]bool{"bad": false, "nothing": true} {
		k := newKit(t)
		k.config.Chain = func() chain.Worker { return untraced{chain.Raw("\n")()} }
		data, _ := marked("a", 10, 10)
		u := k.unit(k.bucket.Put("a", data))
		_, err := k.pipe(capturesink.Options{Refuses: refusing(mark)}).ReadUnit(t.Context(), whole(u), nil, k.found)
		if _, reason := failure.Of(err); (err == nil) != good || err != nil && (reason != failure.SinkRejected || !strings.Contains(err.Error(), "trace")) {
			t.Errorf("rows with %s refused: %v", mark, err)
		}
	}
}
