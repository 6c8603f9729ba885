package ledgertest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/unit"
)

// bench is a store and a job of its own, with one lister unless a test says
// otherwise.
type bench struct {
	*testing.T
	ledger.Store
	harness Harness
	ctx     context.Context
	job     string
}

func newBench(t *testing.T, s ledger.Store, h Harness) bench {
	return bench{t, s, h, t.Context(), "job-" + strings.ToLower(rand.Text())}
}

// another is a bench of another job in the same store.
func (b bench) another() bench { return newBench(b.T, b.Store, b.harness) }

var (
	digests = ledger.Digests{Plan: "plan-1", Read: "read-1"}
	one     = ledger.Counts{
		Counts:    record.Counts{In: 7, Out: 5, Filtered: 1, Rejected: 2, Expanded: 1},
		BytesRead: 300, BytesDecoded: 1 << 40, MemoryTime: 128 << 10,
		Sinks: map[string]ledger.SinkCounts{"main": {Records: 5, Blocks: 2, Bytes: 90}, "side": {Records: 1, Blocks: 1, Bytes: 3}},
	}
	cause = ledger.Cause{
		Reason: failure.Undecodable, Detail: "record 3: unexpected end", Record: 3,
		Objects: []unit.Object{{Key: "in/b.json", Size: 12, ETag: `"e"`}},
		Faults:  []ledger.Fault{{Member: 1, Record: 3, Framed: 4, Reason: failure.Undecodable, Detail: "unexpected end"}},
	}
	place = ledger.Cursor{Series: 0, Segment: 3, Member: 2, Record: 1 << 33, Offset: 1 << 41, Undecoded: 5}
)

// times is n times c.
func times(n int, c ledger.Counts) (sum ledger.Counts) {
	for range n {
		sum.Add(c)
	}
	return sum
}

// id is the id of the nth unit of a test.
func id(n int) unit.ID { return unit.ID(fmt.Sprintf("s3-%021dA", n)) }

func ids(ns ...int) (out []unit.ID) {
	for _, n := range ns {
		out = append(out, id(n))
	}
	return out
}

func sorted(ids []unit.ID) []unit.ID {
	slices.Sort(ids)
	return ids
}

func planned(n int) ledger.Planned {
	return ledger.Planned{ID: id(n), FirstKey: key(n), Objects: n + 1}
}

// published is the unit as a page has it.
func published(n int) ledger.Planned {
	p := planned(n)
	p.Body = fmt.Appendf(nil, `{"v":1,"unit":%d}`, n)
	return p
}

func key(n int) string { return fmt.Sprintf("in/%03d.json", n) }

// page is the page of the units [from, to), listed after key from.
func page(from, to int) ledger.Page {
	p := ledger.Page{Last: key(to), Inventory: ledger.Inventory{Empty: 1, Directory: 2, Archived: 3, Excluded: 4, ArchivedBytes: 5}}
	if from > 0 {
		p.After = key(from)
	}
	for n := from; n < to; n++ {
		p.Units = append(p.Units, published(n))
		p.Inventory.Objects += int64(n + 1)
		p.Inventory.Bytes += 1000
	}
	return p
}

func (b bench) ref(run, n int) ledger.Ref { return ledger.Ref{Job: b.job, Run: run, ID: id(n)} }

// lister is the lease of the job's only lister.
func (b bench) lister(run int) ledger.Lease { return b.by("first", run) }

// by is the lease of one of several listers.
func (b bench) by(name string, run int) ledger.Lease {
	return ledger.Lease{Job: b.job, Run: run, Holder: name + " of " + b.job}
}

// lapse lets time pass.
func (b bench) lapse(d time.Duration) {
	if b.harness.Lapse == nil {
		time.Sleep(d)
		return
	}
	b.harness.Lapse(b.Store, d)
}

// ok fails the test on an error.
func (b bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// is checks an error's kind.
func (b bench) is(err, want error) {
	b.Helper()
	if !errors.Is(err, want) {
		b.Errorf("error %v, want one that is %q", err, want)
	}
}

// whole compares bodies as one value each, which takes no time.
var whole = cmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) > 0 }, cmp.Comparer(bytes.Equal))

// equal compares two values, to which nil and an empty list are equal.
func (b bench) equal(what string, got, want any) {
	b.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), whole); d != "" {
		b.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// tells compares the tally that Done or Dead returned with that of the whole
// run.
func (b bench) tells(got, want ledger.Tally) {
	b.Helper()
	switch {
	case !b.harness.Parts:
		b.equal("tally", got, want)
	case want.Settled() && !got.Settled():
		b.Errorf("tally %+v is not settled, and the run is at %+v", got, want)
	case !want.Listed && got.Settled():
		b.Errorf("tally %+v is settled, and the run has no end marker", got)
	}
}
