package intake_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/cut"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/intake"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/unit"
)

const (
	mib    = 1 << 20
	job    = "tides-live"
	bucket = "harbour-logs"
)

var noon = time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)

// delivery is a message in the intake's queue.
type delivery struct {
	intake.Message
	names []unit.Object // what it announces, of what the job wants
}

// world is all that an intake touches: the queue of events, a bucket, a ledger, a
// feed, and a reader and a schedule that do just what the intake's law needs of
// them. It asserts the order of effects as they happen.
type world struct {
	t      *testing.T
	ledger *memledger.Shared
	bucket *memobject.Bucket
	opts   intake.Options
	counts *metric.Registry
	vast   bool // all objects are there, of any size, begin alike, and have no ETag to tell

	mu      sync.Mutex // guards all below
	queue   []*delivery
	flying  []*delivery // that an intake has
	serial  int
	feed    []feed.Message
	sent    map[unit.ID][]byte // everything that ever was in the feed, as it was there first
	sends   map[unit.ID]int
	dead    []string // bodies refused
	reasons []string
	rows    map[unit.ObjectID]map[unit.ID]bool // what the reader read whole, and for which units
	refuse  error
}

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, ledger: memledger.NewShared(), bucket: &memobject.Bucket{}, counts: new(metric.Registry),
		sent: map[unit.ID][]byte{}, sends: map[unit.ID]int{}, rows: map[unit.ObjectID]map[unit.ID]bool{},
	}
	w.opts = intake.Options{
		Job: job, Bucket: bucket, Filter: plan.Filter{Prefix: "p/", Exclude: []string{"**/*.tmp"}},
		Options: cut.Options{Target: mib, Cut: &plan.Cut{Delimiter: '\n'}}, Start: ledger.Start{Digests: ledger.Digests{Plan: "p", Read: "r"}, Token: "must not count"},
		Registry: w.counts,
		Refuse: func(_ context.Context, body []byte, r failure.Reason, detail string) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.refuse != nil {
				return w.refuse
			}
			w.dead = append(w.dead, string(body))
			w.reasons = append(w.reasons, string(r)+": "+detail)
			return nil
		},
	}
	return w
}

// intake is an intake of a process that knows nothing of others, with calls that
// f disturbs; nil: none.
func (w *world) intake(f *fault) *intake.Intake {
	if f == nil {
		f = &fault{}
	}
	a := &actor{w, f}
	return intake.New(a, a, a, w.opts)
}

// put puts an object of so many bytes, which are the same for the same content,
// and returns it as its event announces it.
func (w *world) put(key, content string, size int) unit.Object {
	w.t.Helper()
	o := w.bucket.Put(key, bytes.Repeat([]byte(content), size/len(content)+1)[:size])
	o.LastModified = noon
	if !w.bucket.Versioned {
		o.Version = ""
	}
	return o
}

// record is an object's record in a notification.
func (w *world) record(o unit.Object) string { return w.recordOf(bucket, "ObjectCreated:Put", o) }

func (w *world) recordOf(bucket, name string, o unit.Object) string {
	w.serial++
	e := map[string]any{"key": url.QueryEscape(o.Key), "sequencer": fmt.Sprintf("%08X", w.serial)}
	if o.Size >= 0 {
		e["size"] = o.Size
	}
	if o.ETag != "" {
		e["eTag"] = strings.Trim(o.ETag, `"`)
	}
	if o.Version != "" {
		e["versionId"] = o.Version
	}
	b, err := json.Marshal(map[string]any{
		"eventVersion": "2.1", "eventSource": "aws:s3", "eventName": name, "eventTime": o.LastModified.Format(time.RFC3339Nano),
		"s3": map[string]any{"bucket": map[string]any{"name": bucket}, "object": e},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

func body(records ...string) string { return `{"Records":[` + strings.Join(records, ",") + `]}` }

// announce puts a message that announces objects into the queue.
func (w *world) announce(os ...unit.Object) *delivery {
	records := make([]string, len(os))
	for i, o := range os {
		records[i] = w.record(o)
	}
	return w.enqueue(body(records...), os...)
}

func (w *world) enqueue(body string, names ...unit.Object) *delivery {
	w.serial++
	d := &delivery{Message: intake.Message{ID: fmt.Sprintf("m%d", w.serial), Body: []byte(body)}, names: names}
	w.queue = append(w.queue, d)
	return d
}

// receive takes the first n messages off the queue.
func (w *world) receive(n int) []*delivery {
	n = min(n, len(w.queue))
	ds := slices.Clone(w.queue[:n])
	w.queue = slices.Delete(w.queue, 0, n)
	for _, d := range ds {
		d.Receives++
	}
	w.flying = append(w.flying, ds...)
	return ds
}

// handle hands a window of messages to an intake and settles them as their queue
// would.
func (w *world) handle(in *intake.Intake, n int) []intake.Failed {
	w.t.Helper()
	w.mu.Lock()
	ds := w.receive(n)
	w.mu.Unlock()
	ms := make([]intake.Message, len(ds))
	for i, d := range ds {
		ms[i] = d.Message
	}
	failed := in.Handle(context.Background(), ms)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flying = slices.DeleteFunc(w.flying, func(d *delivery) bool { return slices.Contains(ds, d) })
	for _, d := range ds {
		if slices.ContainsFunc(failed, func(f intake.Failed) bool { return f.ID == d.ID }) {
			w.queue = append(w.queue, d)
			continue
		}
		w.acked(d)
	}
	return failed
}

// acked asserts what an ack may rest on: all that the message announced is in
// units that were sent, or ended.
func (w *world) acked(d *delivery) {
	w.t.Helper()
	for _, o := range d.names {
		h, err := w.ledger.Claimed(context.Background(), job, o.ID())
		if err != nil {
			w.t.Errorf("message %s is acked, and %q is in no unit: %v", d.ID, o.Key, err)
			continue
		}
		w.announcedTo(d, o, h)
	}
}

// announcedTo asserts that some message that announced o was, or will be, sent.
func (w *world) announcedTo(d *delivery, o unit.Object, h ledger.Held) {
	w.t.Helper()
	it, err := w.ledger.Look(context.Background(), ledger.Ref{Job: job, Run: 1, ID: h.Unit})
	if err != nil {
		w.t.Errorf("%q is claimed by unit %s: %v", o.Key, h.Unit, err)
	}
	waits := func(e *delivery) bool {
		return e != d && slices.ContainsFunc(e.names, func(p unit.Object) bool { return p.ID() == o.ID() })
	}
	if it.State == ledger.Open && w.sends[h.Unit] == 0 && !slices.ContainsFunc(slices.Concat(w.queue, w.flying), waits) {
		w.t.Errorf("message %s is acked, and unit %s of %q was never sent", d.ID, h.Unit, o.Key)
	}
}

// drain handles what is in the queue with a process that nothing happens to.
func (w *world) drain() {
	w.t.Helper()
	in := w.intake(nil)
	for n := 0; len(w.queue) > 0; n++ {
		if failed := w.handle(in, 10); n > 10_000 {
			w.t.Fatalf("the queue does not get empty: %v", failed)
		}
	}
}

func (w *world) meta() ledger.Meta {
	w.t.Helper()
	m, err := w.ledger.Meta(context.Background(), job)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// units returns the units that were sent, decoded.
func (w *world) units() []*unit.Unit {
	w.t.Helper()
	var us []*unit.Unit
	for _, id := range slices.Sorted(maps.Keys(w.sent)) {
		u, err := unit.Decode(w.sent[id])
		if err != nil {
			w.t.Fatal(err)
		}
		us = append(us, u)
	}
	return us
}

// once checks the law at the end of all: every unit in the ledger was sent, and
// every version that was announced is in exactly one unit, or in ranges that tile
// it, for each time that it was taken.
func (w *world) once(announced ...unit.Object) {
	w.t.Helper()
	err := w.ledger.Pending(context.Background(), job, w.meta().Run, func(p ledger.Planned) error {
		if w.sends[p.ID] == 0 {
			w.t.Errorf("unit %s is open and was never sent", p.ID)
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	type taken struct {
		id   unit.ObjectID
		take int
	}
	held, sizes := map[taken]int64{}, map[taken]int64{}
	for _, u := range w.units() {
		for _, o := range u.Objects {
			k := taken{o.ID(), o.Take}
			sizes[k] = o.Size
			if u.Range != nil {
				held[k] += u.Size()
			} else {
				held[k] += o.Size
			}
		}
	}
	for k, n := range held {
		if n != sizes[k] {
			w.t.Errorf("object %s, take %d: %d of its %d bytes are in units", k.id, k.take, n, sizes[k])
		}
	}
	for _, o := range announced {
		if _, ok := held[taken{o.ID(), 0}]; !ok {
			w.t.Errorf("%q %s is in no unit", o.Key, o.ETag)
		}
	}
}

// count is a metric's value.
func (w *world) count(name, reason string) int64 {
	for _, s := range w.counts.Gather() {
		r := ""
		for _, l := range s.Labels {
			if l.Name == metric.LabelReason {
				r = l.Value
			}
		}
		if s.Name == name && r == reason {
			return s.Value
		}
	}
	return -1
}

// ignored checks the number of events that were ignored, of each reason; that of
// all others must be 0.
func (w *world) ignored(want map[failure.Reason]int64) {
	w.t.Helper()
	var sum int64
	for _, s := range w.counts.Gather() {
		if s.Name != metric.IntakeEventsIgnored {
			continue
		}
		r := failure.Reason(s.Labels[len(s.Labels)-1].Value)
		sum += s.Value
		if s.Value != want[r] {
			w.t.Errorf("%d events were ignored as %s, want %d", s.Value, r, want[r])
		}
	}
	if events, objects := w.count(metric.IntakeEvents, ""), w.count(metric.IntakeObjects, ""); events != objects+sum {
		w.t.Errorf("%d events, of which %d gave objects and %d were ignored", events, objects, sum)
	}
}

// actor is the world as one process sees it.
type actor struct {
	w *world
	*fault
}

func (a *actor) Meta(ctx context.Context, name string) (m ledger.Meta, err error) {
	err = a.call("Meta", func() (err error) { m, err = a.w.ledger.Meta(ctx, name); return err })
	return m, err
}

func (a *actor) Open(ctx context.Context, name string, s ledger.Start) (m ledger.Meta, err error) {
	if s.Token != "" {
		a.w.t.Error("an intake began a run of its own")
	}
	err = a.call("Open", func() (err error) { m, err = a.w.ledger.Open(ctx, name, s); return err })
	return m, err
}

func (a *actor) Enter(ctx context.Context, e ledger.Entry) (h []ledger.Held, err error) {
	if len(e.Claims) > ledger.MaxClaims {
		a.w.t.Errorf("%d claims", len(e.Claims))
	}
	// A long entry comes in pieces, as on a table: units first, claims last.
	for ; len(e.Units)+len(e.Claims) > ledger.MaxEntry; e.Units = e.Units[25:] {
		piece := ledger.Entry{Job: e.Job, Run: e.Run, Units: e.Units[:25]}
		if err := a.call("Enter", func() error { _, err := a.w.ledger.Enter(ctx, piece); return err }); err != nil {
			return nil, err
		}
	}
	err = a.call("Enter", func() (err error) { h, err = a.w.ledger.Enter(ctx, e); return err })
	return h, err
}

func (a *actor) Claimed(ctx context.Context, name string, id unit.ObjectID) (h ledger.Held, err error) {
	err = a.call("Claimed", func() (err error) { h, err = a.w.ledger.Claimed(ctx, name, id); return err })
	return h, err
}

func (a *actor) Look(ctx context.Context, r ledger.Ref) (it ledger.Item, err error) {
	err = a.call("Look", func() (err error) { it, err = a.w.ledger.Look(ctx, r); return err })
	return it, err
}

func (a *actor) Send(ctx context.Context, ms ...feed.Message) error {
	return a.call("Send", func() error {
		for _, m := range ms {
			it, err := a.w.ledger.Look(ctx, ledger.Ref{Job: m.Job, Run: 1, ID: m.ID})
			if err != nil || it.State == ledger.Open && string(it.Body) != string(m.Body) {
				a.w.t.Errorf("unit %s is sent, and is not so in the ledger: %v\n%s\n%s", m.ID, err, m.Body, it.Body)
			}
			a.w.mu.Lock()
			a.w.feed = append(a.w.feed, m)
			a.w.sends[m.ID]++
			if a.w.sent[m.ID] == nil {
				a.w.sent[m.ID] = m.Body
			}
			a.w.mu.Unlock()
		}
		return nil
	})
}

func (a *actor) Stat(ctx context.Context, key string) (o unit.Object, err error) {
	err = a.call("Stat", func() (err error) {
		if a.w.vast {
			o = unit.Object{Key: key, Size: 9}
			return nil
		}
		o, err = a.w.bucket.Stat(ctx, key)
		return err
	})
	return o, err
}
