package reader_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/pipe"
	"github.com/spate-go/spate/pkg/reader"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/unit"
)

const attempts = 3

// script is in place of a pipe; what is nil succeeds.
type script struct {
	rest   func(ctx context.Context, known []unit.Fault, found func(context.Context, unit.Fault) error) error
	member func(context.Context, unit.Fault) error
	read   []string // what was asked for, in order
	asked  []pipe.Reading
	// pause is where calls stop, one a call; the zero cursor goes to the end.
	pause []unit.Cursor
}

func counted(n int64) unit.Counts { return unit.Counts{Counts: record.Counts{In: n, Out: n}} }

func (p *script) result(r pipe.Reading, n int64) pipe.Result {
	p.asked = append(p.asked, r)
	if r.Acked != nil {
		r.Acked()
	}
	res := pipe.Result{Counts: counted(n)}
	if len(p.pause) > 0 {
		if c := p.pause[0]; c != (unit.Cursor{}) {
			res.Cursor = &c
		}
		p.pause = p.pause[1:]
	}
	return res
}

func (p *script) ReadUnit(ctx context.Context, r pipe.Reading, known []unit.Fault, found func(context.Context, unit.Fault) error) (pipe.Result, error) {
	p.read = append(p.read, "rest")
	if p.rest != nil {
		if err := p.rest(ctx, known, found); err != nil {
			return pipe.Result{}, err
		}
	}
	return p.result(r, 10), nil
}

func (p *script) ReadMember(ctx context.Context, r pipe.Reading, f unit.Fault) (pipe.Result, error) {
	p.read = append(p.read, r.Unit.Objects[f.Member].Key)
	if p.member != nil {
		if err := p.member(ctx, f); err != nil {
			return pipe.Result{}, err
		}
	}
	return p.result(r, 1), nil
}

// quiet are the options of a reader that says nothing.
func quiet() reader.Options {
	return reader.Options{ReadDigest: "r", Log: slog.New(slog.DiscardHandler)}
}

// kit is a job of one unit of three objects.
type kit struct {
	t       *testing.T
	ledger  *memledger.Shared
	pipe    *script
	reader  *reader.Reader
	unit    *unit.Unit
	n       int // deliveries so far
	settled int
	halts   []ledger.Halt
	body    []byte // in place of the unit's; nil: that
	stop    func() // ends the delivery's context
}

func newKit(t *testing.T) *kit {
	k := &kit{t: t, ledger: memledger.NewShared(), pipe: &script{}}
	k.unit = &unit.Unit{Job: "j", Run: 1, Bucket: "b", Origin: unit.FromList, Objects: []unit.Object{
		{Key: "a", Size: 5, ETag: `"1"`}, {Key: "b", Size: 5, ETag: `"2"`}, {Key: "c", Size: 5, ETag: `"3"`},
	}}
	k.list("token", k.unit)
	k.use(quiet())
	return k
}

// use makes the reader one of those options.
func (k *kit) use(o reader.Options) {
	o.Settled = func(context.Context, string) error { k.settled++; return nil }
	o.Halted = func(_ context.Context, _ *unit.Unit, h ledger.Halt) { k.halts = append(k.halts, h) }
	k.reader = reader.New(k.ledger, k.pipe, o)
}

// through makes the reader's calls of the ledger take a step.
func (k *kit) through(o reader.Options, s step) { k.reader = reader.New(stage{k.ledger, s}, k.pipe, o) }

// relist puts other units in the place of the kit's.
func (k *kit) relist(units ...*unit.Unit) {
	k.t.Helper()
	k.ledger = memledger.NewShared()
	k.list("token", units...)
	k.use(quiet())
}

// again is relist with the kit's own, after a change.
func (k *kit) again() { k.relist(k.unit) }

// list starts a run that has the units in its plan.
func (k *kit) list(token string, units ...*unit.Unit) { list(k.t, k.ledger, token, units...) }

func list(t *testing.T, l ledger.Planner, token string, units ...*unit.Unit) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	meta, err := l.Start(ctx, "j", ledger.Start{Token: token, Digests: ledger.Digests{Plan: "p", Read: "r"}})
	must(err)
	lease := ledger.Lease{Job: "j", Run: meta.Run, Holder: "lister"}
	_, err = l.Lease(ctx, lease)
	must(err)
	page := ledger.Page{Last: "last"}
	for _, u := range units {
		u.Run = meta.Run
		body, err := u.Encode()
		must(err)
		page.Units = append(page.Units, ledger.Planned{ID: u.ID(), FirstKey: u.Objects[0].Key, Objects: len(u.Objects), Body: body})
		page.Inventory.Objects += int64(len(u.Objects))
	}
	page, _, err = l.Publish(ctx, lease, page)
	must(err)
	must(l.Advance(ctx, lease, page))
	must(l.Finish(ctx, lease))
}

func (k *kit) delivery() feed.Delivery {
	k.t.Helper()
	body, err := k.unit.Encode()
	if err != nil {
		k.t.Fatal(err)
	}
	if k.body != nil {
		body = k.body
	}
	k.n++
	return feed.Delivery{Message: feed.Message{ID: k.unit.ID(), Job: "j", Body: body}, Receives: k.n, Cap: attempts}
}

// deliver hands the unit over once more.
func (k *kit) deliver(ctx context.Context) error {
	k.t.Helper()
	return k.reader.Handle(ctx, k.delivery())
}

func (k *kit) meta() ledger.Meta {
	k.t.Helper()
	m, err := k.ledger.Meta(k.t.Context(), "j")
	if err != nil {
		k.t.Fatal(err)
	}
	return m
}

func (k *kit) halt(r failure.Reason) {
	k.t.Helper()
	if _, err := k.ledger.Halt(k.t.Context(), "j", ledger.Halt{Reason: r}); err != nil {
		k.t.Fatal(err)
	}
}

func (k *kit) census() ledger.Census {
	k.t.Helper()
	c, err := k.ledger.Prove(k.t.Context(), "j", k.unit.Run)
	if err != nil {
		k.t.Fatal(err)
	}
	return c
}

// item is the unit's item while it is not done.
func (k *kit) item() (item ledger.Item) {
	k.t.Helper()
	err := k.ledger.Unfinished(k.t.Context(), "j", k.unit.Run, func(i ledger.Item) error { item = i; return nil })
	if err != nil {
		k.t.Fatal(err)
	}
	return item
}
