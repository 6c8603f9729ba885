package sim_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/cut"
	"github.com/spate-go/spate/pkg/intake"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

const (
	intakes    = 2 // invocations at once
	unattended = 2 * time.Minute
)

// inbox is the queue that notifications go to: in no order, at least once.
type inbox struct {
	w        *world
	messages []*notice
	serial   int
}

// notice is the announcement of a version.
type notice struct {
	*version
	id       int
	receives int
	receipt  int
	visible  time.Time
}

// body is the notice as S3 writes it.
func (n *notice) body() []byte {
	return fmt.Appendf(nil, `{"Records":[{"eventVersion":"2.1","eventSource":"aws:s3","eventName":"ObjectCreated:Put","eventTime":"2000-01-01T00:00:00Z",`+
		`"s3":{"bucket":{"name":"b"},"object":{"key":%q,"size":%d,"eTag":%q,"sequencer":"%016X"}}}]}`,
		n.Key, n.Size, strings.Trim(n.ETag, `"`), n.id)
}

// announce has the store tell of a version: soon, or late, and now and then again.
func (b *inbox) announce(v *version) {
	times := 1
	if b.w.on("echo") && !b.w.quiet {
		times += b.w.rng.IntN(3)
	}
	for range times {
		b.serial++
		n := &notice{version: v, id: b.serial, visible: time.Now()}
		if !b.w.quiet && b.w.script == nil {
			n.visible = n.visible.Add([]time.Duration{0, time.Second, time.Minute, 20 * time.Minute}[b.w.rng.IntN(4)])
		}
		b.messages = append(b.messages, n)
	}
}

// moves are what may happen to the notices now, and when there is more.
func (b *inbox) moves(sooner func(time.Time)) []move {
	b.w.taking = slices.DeleteFunc(b.w.taking, func(a *actor) bool { return a.gone() })
	if len(b.w.taking) >= intakes {
		return nil
	}
	var ready []*notice
	for _, n := range b.messages {
		if n.visible.After(time.Now()) {
			sooner(n.visible)
			continue
		}
		ready = append(ready, n)
	}
	if len(ready) == 0 {
		return nil
	}
	return []move{{what: "notices are received", make: func() { b.w.takeIn(b.some(ready)) }}}
}

// some are a batch.
func (b *inbox) some(ready []*notice) []*notice {
	b.w.rng.Shuffle(len(ready), func(i, k int) { ready[i], ready[k] = ready[k], ready[i] })
	return ready[:1+b.w.rng.IntN(len(ready))]
}

// takeIn is an invocation of the intake.
func (w *world) takeIn(batch []*notice) {
	receipts := map[string]int{}
	var messages []intake.Message
	for _, n := range batch {
		n.receives++
		n.receipt++
		n.visible = time.Now().Add(unattended)
		id := fmt.Sprint(n.id)
		receipts[id] = n.receipt
		messages = append(messages, intake.Message{ID: id, Body: n.body(), Receives: n.receives})
		w.note("", fmt.Sprintf("  n%d(%s) for the %d. time", n.id, n.ETag, n.receives), "")
		if w.on("duplicate") && !w.quiet && w.rng.Float64() < 0.15 {
			n.visible = time.Now()
		}
	}
	w.taking = append(w.taking, w.spawn("intake", time.Minute, func(ctx context.Context, a *actor) {
		failed := w.intake(a).Handle(ctx, messages)
		_ = a.do(context.Background(), "answer", fmt.Sprintf("ack %d of %d notices", len(messages)-len(failed), len(messages)), func(context.Context, float64) error {
			for _, n := range batch {
				id := fmt.Sprint(n.id)
				switch {
				case n.receipt != receipts[id]: // another has it now
				case slices.ContainsFunc(failed, func(f intake.Failed) bool { return f.ID == id }):
					n.visible = time.Now().Add(15 * time.Second)
				default:
					w.laws.tookIn(n)
					w.inbox.messages = slices.DeleteFunc(w.inbox.messages, func(o *notice) bool { return o == n })
				}
			}
			return nil
		})
	}))
}

func (w *world) intake(a *actor) *intake.Intake {
	who := func() *actor { return a }
	return intake.New(w.wire(a), sender{w.queue, who}, bucket{w, who}, intake.Options{
		Job: job, Bucket: "b", Options: cut.Options{Target: 12 * mib}, Start: ledger.Start{Digests: ledger.Digests{Read: "read"}}, Log: w.log,
	})
}

// takes is how the schedule has keys taken that are to be looked at again.
func (w *world) takes(a *actor) func(context.Context, ledger.Meta, []unit.Object) ([]error, error) {
	return func(ctx context.Context, m ledger.Meta, objects []unit.Object) ([]error, error) {
		taken, err := w.intake(a).Take(ctx, m, objects)
		errs := make([]error, len(taken))
		for i, t := range taken {
			errs[i] = t.Err
		}
		return errs, err
	}
}
