package reader_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/pipe"
	"github.com/spate-go/spate/pkg/reader"
	"github.com/spate-go/spate/pkg/unit"
)

// events is a continuous job with what lies around its readers: the bucket, whose
// events are claimed, the feed, the sink. Every object has one record.
type events struct {
	t       *testing.T
	ledger  *memledger.Shared
	step    step
	opt     reader.Options
	reader  *reader.Reader // nil: a process for each delivery
	current map[string]string
	broken  map[string]failure.Reason // keys
	rows    map[string]bool           // key, etag
	read    []string                  // keys asked for
	log     bytes.Buffer
	receive map[unit.ID]int
	fails   error // of the last delivery
}

func newEvents(t *testing.T) *events {
	e := &events{
		t: t, ledger: memledger.NewShared(), current: map[string]string{}, rows: map[string]bool{},
		broken: map[string]failure.Reason{}, receive: map[unit.ID]int{},
	}
	e.step = func(_ string, apply func() error) error { return apply() }
	e.opt = reader.Options{ReadDigest: "r", Stat: e.stat, Overwritten: new(metric.Value), Log: slog.New(slog.NewJSONHandler(&e.log, nil))}
	e.opt.Announced = announcedStage{e}
	e.must(e.ledger.Open(t.Context(), "j", ledger.Start{Token: "t", Digests: ledger.Digests{Read: "r"}}))
	return e
}

func (e *events) must(_ any, err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

// puts makes versions current, as key and ETag.
func (e *events) puts(versions ...string) {
	for i := 0; i < len(versions); i += 2 {
		e.current[versions[i]] = versions[i+1]
	}
}

func object(key, etag string) unit.Object { return unit.Object{Key: key, Size: 5, ETag: etag} }

// announce has an intake claim objects, each again if it may be, and enter them
// as one unit. nil: they are claimed.
func (e *events) announce(objects ...unit.Object) *unit.Unit {
	e.t.Helper()
	u := &unit.Unit{Job: "j", Run: 1, Bucket: "b", Origin: unit.FromEvent}
	for _, o := range objects {
		h, err := e.ledger.Claimed(e.t.Context(), "j", o.ID())
		if err == nil && !h.Overwritten {
			continue
		}
		if err == nil {
			o.Take = h.Take + 1
		}
		u.Objects = append(u.Objects, o)
	}
	if len(u.Objects) == 0 {
		return nil
	}
	unit.Sort(u.Objects)
	e.enter(u)
	return u
}

// enter enters units and claims their objects for the first of them.
func (e *events) enter(units ...*unit.Unit) {
	e.t.Helper()
	entry := ledger.Entry{Job: "j", Run: 1}
	for _, u := range units {
		entry.Units = append(entry.Units, ledger.Planned{ID: u.ID(), FirstKey: u.Objects[0].Key, Objects: len(u.Objects), Body: e.body(u)})
	}
	for _, o := range units[0].Objects {
		entry.Claims = append(entry.Claims, ledger.Claim{ID: o.ID(), Unit: units[0].ID(), Take: o.Take})
	}
	held, err := e.ledger.Enter(e.t.Context(), entry)
	if err != nil || len(held) > 0 {
		e.t.Fatalf("held %v, %v", held, err)
	}
}

func (e *events) body(u *unit.Unit) []byte {
	e.t.Helper()
	body, err := u.Encode()
	e.must(body, err)
	return body
}

// deliver hands a unit to a reader once more.
func (e *events) deliver(u *unit.Unit) error {
	e.t.Helper()
	id := u.ID()
	e.receive[id]++
	r := e.reader
	if r == nil {
		r = reader.New(stage{e.ledger, func(c string, apply func() error) error { return e.step(c, apply) }}, e, e.opt)
	}
	e.fails = r.Handle(e.t.Context(), feed.Delivery{
		Message: feed.Message{ID: id, Job: "j", Body: e.body(u)}, Receives: e.receive[id], Cap: attempts,
	})
	return e.fails
}

func (e *events) item(u *unit.Unit) ledger.Item {
	e.t.Helper()
	i, err := e.ledger.Look(e.t.Context(), ledger.Ref{Job: "j", Run: 1, ID: u.ID()})
	e.must(i, err)
	return i
}

func (e *events) claim(o unit.Object) ledger.Held {
	e.t.Helper()
	h, err := e.ledger.Claimed(e.t.Context(), "j", o.ID())
	e.must(h, err)
	return h
}

// todos are the keys that are to be looked at again, as they were then.
func (e *events) todos() (todos []string) {
	e.t.Helper()
	e.must(nil, e.ledger.Keys(e.t.Context(), "j", func(t ledger.KeyTodo) error {
		todos = append(todos, fmt.Sprintf("%s %s %d", t.Object.Key, t.Object.ETag, t.Object.Again))
		return nil
	}))
	return todos
}

func (e *events) wantTodos(want ...string) {
	e.t.Helper()
	if got := e.todos(); !slices.Equal(got, want) {
		e.t.Errorf("to be looked at again %q, want %q", got, want)
	}
}

func (e *events) wantState(u *unit.Unit, s ledger.UnitState) {
	e.t.Helper()
	if i := e.item(u); i.State != s {
		e.t.Errorf("the unit is %s, want %s: %+v, last failed with %v", i.State, s, i, e.fails)
	}
}

// stat looks at the key as it is.
func (e *events) stat(_ context.Context, bucket, key string) (o unit.Object, err error) {
	if bucket != "b" {
		return o, errors.New("of another bucket")
	}
	err = e.step("stat "+key, func() error {
		if e.current[key] == "" {
			return failure.Errorf(failure.Member, failure.NotFound, "stat %q: no such object", key)
		}
		o = object(key, e.current[key])
		return nil
	})
	return o, err
}

func (e *events) wrong(o unit.Object) error {
	switch etag := e.current[o.Key]; {
	case e.broken[o.Key] != "":
		return failure.Errorf(failure.Member, e.broken[o.Key], "get %q: it is bad", o.Key)
	case etag == "":
		return failure.Errorf(failure.Member, failure.NotFound, "get %q: no such object", o.Key)
	case etag != o.ETag:
		return failure.Errorf(failure.Member, failure.ETagDrift, "get %q: it is %s", o.Key, etag)
	}
	return nil
}

func (e *events) write(o unit.Object) error {
	return e.step("write "+o.Key, func() error { e.rows[o.Key+" "+o.ETag] = true; return nil })
}

// ReadUnit implements reader.Pipe.
func (e *events) ReadUnit(ctx context.Context, r pipe.Reading, known []unit.Fault, found func(context.Context, unit.Fault) error) (res pipe.Result, err error) {
	for m, o := range r.Unit.Objects {
		if slices.ContainsFunc(known, func(f unit.Fault) bool { return f.Member == m }) {
			continue
		}
		e.read = append(e.read, o.Key)
		err := e.wrong(o)
		if err != nil {
			_, reason := failure.Of(err)
			err = found(ctx, unit.Fault{Member: m, Reason: reason, Detail: err.Error()})
		} else if err = e.write(o); err == nil {
			res.Counts.Add(counted(1))
		}
		if err != nil {
			return pipe.Result{}, err
		}
	}
	return res, nil
}

// ReadMember implements reader.Pipe.
func (e *events) ReadMember(_ context.Context, r pipe.Reading, f unit.Fault) (pipe.Result, error) {
	o := r.Unit.Objects[f.Member]
	e.read = append(e.read, o.Key)
	if err := e.wrong(o); err != nil {
		return pipe.Result{}, err
	}
	return pipe.Result{Counts: counted(1)}, e.write(o)
}

// announcedStage puts the step in front of what only units of events need.
type announcedStage struct{ e *events }

func (s announcedStage) Overwritten(ctx context.Context, r ledger.Ref, serial int, f ledger.Fault, o unit.Object) error {
	return s.e.step("overwritten "+o.Key, func() error { return s.e.ledger.Overwritten(ctx, r, serial, f, o) })
}

func (s announcedStage) Again(ctx context.Context, job string, o unit.Object) error {
	return s.e.step("again "+o.Key, func() error { return s.e.ledger.Again(ctx, job, o) })
}

func (s announcedStage) Adopt(ctx context.Context, job string, run int, read string) (string, error) {
	return through(s.e.step, "adopt", func() (string, error) { return s.e.ledger.Adopt(ctx, job, run, read) })
}
