// Package ledgertest is the contract of package ledger as a test suite: each
// sentence of the contract has a subtest, random histories are compared with a
// naive model, and every driver runs all of it.
package ledgertest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/unit"
)

// Run runs the suite. open returns a store to use for one subtest and cleans up
// by t.Cleanup; stores may share a place, since no two subtests share a job.
func Run(t *testing.T, open func(*testing.T) ledger.Store) {
	for _, topic := range []struct {
		name  string
		tests []subtest
	}{
		{"start", start},
		{"publish", publish},
		{"begin", begin},
		{"fences", fences},
		{"ends", ends},
		{"halt", halt},
		{"proof", proof},
		{"together", together},
	} {
		t.Run(topic.name, func(t *testing.T) {
			for _, s := range topic.tests {
				t.Run(s.name, func(t *testing.T) { s.test(newBench(t, open(t))) })
			}
		})
	}
	t.Run("random histories agree with the model", func(t *testing.T) { histories(t, open) })
}

type subtest struct {
	name string
	test func(bench)
}

// bench is a store and a job of its own.
type bench struct {
	*testing.T
	ledger.Store
	ctx context.Context
	job string
}

func newBench(t *testing.T, s ledger.Store) bench {
	return bench{t, s, t.Context(), "job-" + strings.ToLower(rand.Text())}
}

var (
	digests = ledger.Digests{Plan: "plan-1", Read: "read-1"}
	one     = ledger.Counts{
		Counts:    record.Counts{In: 7, Out: 5, Filtered: 1, Rejected: 2, Expanded: 1},
		BytesRead: 300, BytesDecoded: 1 << 40,
		Sinks: map[string]ledger.SinkCounts{"main": {Records: 5, Blocks: 2, Bytes: 90}, "side": {Records: 1, Blocks: 1, Bytes: 3}},
	}
	cause = ledger.Cause{
		Reason: failure.Undecodable, Detail: "record 3: unexpected end", Record: 3,
		Objects: []unit.Object{{Key: "in/b.json", Size: 12, ETag: `"e"`}},
	}
)

// id is the id of the nth unit of a test.
func id(n int) unit.ID { return unit.ID(fmt.Sprintf("s3-%021dA", n)) }

func planned(n int) ledger.Planned {
	return ledger.Planned{ID: id(n), FirstKey: fmt.Sprintf("in/%03d.json", n), Objects: n + 1}
}

// published is the unit as a page has it.
func published(n int) ledger.Planned {
	p := planned(n)
	p.Body = fmt.Appendf(nil, `{"v":1,"unit":%d}`, n)
	return p
}

// page is the page of the units [from, to), listed after key from.
func page(from, to int) ledger.Page {
	p := ledger.Page{Last: fmt.Sprintf("in/%03d.json", to), Inventory: ledger.Inventory{Empty: 1, Directory: 2, Archived: 3, Excluded: 4, ArchivedBytes: 5}}
	if from > 0 {
		p.After = fmt.Sprintf("in/%03d.json", from)
	}
	for n := from; n < to; n++ {
		p.Units = append(p.Units, published(n))
		p.Inventory.Objects += int64(n + 1)
		p.Inventory.Bytes += 1000
	}
	return p
}

func (b bench) ref(run, n int) ledger.Ref { return ledger.Ref{Job: b.job, Run: run, ID: id(n)} }

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

// equal compares; nothing at all and an empty list are alike.
func (b bench) equal(what string, got, want any) {
	b.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		b.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func (b bench) meta() ledger.Meta {
	b.Helper()
	m, err := b.Meta(b.ctx, b.job)
	b.ok(err)
	return m
}

// started starts a run.
func (b bench) started(token string) ledger.Meta {
	b.Helper()
	m, err := b.Start(b.ctx, b.job, token, digests)
	b.ok(err)
	return m
}

func (b bench) published(run int, p ledger.Page) []unit.ID {
	b.Helper()
	ids, err := b.Publish(b.ctx, b.job, run, p)
	b.ok(err)
	return ids
}

// running starts a run of n units, all on one page, and ends its listing.
func (b bench) running(token string, n int) ledger.Meta {
	b.Helper()
	m := b.started(token)
	b.published(m.Run, page(0, n))
	b.ok(b.Finish(b.ctx, b.job, m.Run))
	return b.meta()
}

// over ends the current run as failed.
func (b bench) over() {
	b.Helper()
	m := b.meta()
	b.ok(b.Conclude(b.ctx, b.job, m.Run, m.Generation, ledger.Failed))
}

// begun starts work on a unit, far from its limit.
func (b bench) begun(run, n int) ledger.Item {
	b.Helper()
	it, err := b.Begin(b.ctx, b.ref(run, n), 1, 10)
	b.ok(err)
	return it
}

func (b bench) done(run, n int) ledger.Tally {
	b.Helper()
	t, err := b.Done(b.ctx, b.ref(run, n), one)
	b.ok(err)
	return t
}

// killed begins a unit and marks it dead.
func (b bench) killed(run, n int) (serial int) {
	b.Helper()
	it := b.begun(run, n)
	_, err := b.Dead(b.ctx, b.ref(run, n), it.Serial, cause)
	b.ok(err)
	return it.Serial
}

func (b bench) census(run int) ledger.Census {
	b.Helper()
	c, err := b.Prove(b.ctx, b.job, run)
	b.ok(err)
	return c
}

// items are the unfinished ones of a run.
func (b bench) items(run int) (out []ledger.Item) {
	b.Helper()
	b.ok(b.Unfinished(b.ctx, b.job, run, func(it ledger.Item) error { out = append(out, it); return nil }))
	return out
}

// item is an unfinished one.
func (b bench) item(run, n int) ledger.Item {
	b.Helper()
	items := b.items(run)
	i := slices.IndexFunc(items, func(it ledger.Item) bool { return it.ID == id(n) })
	if i < 0 {
		b.Fatalf("unit %d is not among the unfinished of run %d: %+v", n, run, items)
	}
	return items[i]
}

// times is c, n times.
func times(n int, c ledger.Counts) (sum ledger.Counts) {
	for range n {
		sum.Add(c)
	}
	return sum
}
