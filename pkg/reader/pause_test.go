package reader_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/budget"
	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/pipe"
	"github.com/spate-go/spate/pkg/reader"
	"github.com/spate-go/spate/pkg/sink/capturesink"
	"github.com/spate-go/spate/pkg/unit"
)

// todos takes what is due of the job.
func (k *kit) todos() (n int) {
	k.t.Helper()
	var all []ledger.Todo
	err := k.ledger.Due(k.t.Context(), "j", k.unit.Run, func(d ledger.Todo) error { all = append(all, d); return nil })
	for _, d := range all {
		if err == nil {
			err = k.ledger.Sent(k.t.Context(), "j", d)
		}
	}
	if err != nil {
		k.t.Fatal(err)
	}
	return len(all)
}

func TestAUnitThatIsPausedAnyNumberOfTimesEndsAsIfItWereNot(t *testing.T) {
	for pauses := range 6 {
		t.Run(fmt.Sprint(pauses), func(t *testing.T) {
			k := newKit(t)
			for n := range pauses {
				k.pipe.pause = append(k.pipe.pause, unit.Cursor{Segment: n + 1, Record: int64(n)})
			}
			for n := range pauses {
				k.n = attempts - 1 // the message's last delivery, each time
				if err := k.deliver(t.Context()); err != nil {
					t.Fatal(err)
				}
				i := k.item()
				if i.State != ledger.Open || i.Attempts != 0 || i.Last || *i.Cursor != (unit.Cursor{Segment: n + 1, Record: int64(n)}) {
					t.Fatalf("item %+v", i)
				}
				if k.todos() != 1 {
					t.Error("acked, and not due")
				}
			}
			if err := k.deliver(t.Context()); err != nil {
				t.Fatal(err)
			}
			if c := k.census(); c.Done != 1 || c.Counts.In != int64(10*(pauses+1)) {
				t.Errorf("census %+v", c)
			}
			for n, r := range k.pipe.asked {
				if n == 0 && r.From != nil || n > 0 && r.From.Segment != n {
					t.Errorf("call %d went on from %+v", n, r.From)
				}
			}
		})
	}
}

// faulty leaves the unit with its rest done and all members faulty from record 4.
func (k *kit) faulty() {
	k.t.Helper()
	k.pipe.rest = func(ctx context.Context, _ []unit.Fault, found func(context.Context, unit.Fault) error) error {
		for m := range 3 {
			if err := found(ctx, unit.Fault{Member: m, Record: 4, Framed: 4, Reason: failure.Undecodable}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := k.deliver(k.t.Context()); err == nil {
		k.t.Fatal("acked with faulty members")
	}
	k.pipe.read, k.pipe.asked = nil, nil
}

func TestAFaultyMembersSeriesPausesTooAndGoesOnFirst(t *testing.T) {
	k := newKit(t)
	k.faulty()
	bad := true
	k.pipe.member = func(_ context.Context, f unit.Fault) error {
		if bad && f.Member == 0 {
			return failure.Errorf(failure.Member, failure.Undecodable, "a: broken still")
		}
		return nil
	}
	k.pipe.pause = []unit.Cursor{{Series: 2, Segment: 1, Member: 1, Record: 9}}
	if err := k.deliver(t.Context()); err != nil || k.todos() != 1 {
		t.Fatalf("not paused: %v", err)
	}
	if i := k.item(); i.Cursor == nil || i.Cursor.Series != 2 || len(i.Faults) != 3 || i.Counts.In != 11 {
		t.Fatalf("item %+v", i)
	}
	bad, k.pipe.asked = false, nil
	if err := k.deliver(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(k.pipe.read, " "); got != "a b b a c" {
		t.Errorf("read %q", got)
	}
	if first, second := k.pipe.asked[0].From, k.pipe.asked[1].From; first == nil || first.Record != 9 || second != nil {
		t.Errorf("went on from %+v, then %+v", first, second)
	}
	if c := k.census(); c.Done != 1 || c.Counts.In != 14 {
		t.Errorf("census %+v", c)
	}
}

func TestAPausedMemberThatIsBadAgainIsCountedOnce(t *testing.T) {
	k := newKit(t)
	k.faulty()
	k.pipe.member = func(_ context.Context, f unit.Fault) error {
		if f.Member == 0 {
			return failure.Errorf(failure.Member, failure.Undecodable, "a: broken still")
		}
		return nil
	}
	k.pipe.pause = []unit.Cursor{{Series: 2, Segment: 1, Member: 1, Record: 9}}
	if err := k.deliver(t.Context()); err != nil || k.todos() != 1 {
		t.Fatalf("not paused: %v", err)
	}
	paused := k.item().Counts
	k.n = 0                                                       // it is sent anew
	k.pipe.member = func(_ context.Context, f unit.Fault) error { // c recovers alone
		if f.Member != 2 {
			return failure.Errorf(failure.Member, failure.Undecodable, "broken")
		}
		return nil
	}
	if err := k.deliver(t.Context()); err == nil {
		t.Fatal("acked with faulty members")
	}
	if i := k.item(); i.Cursor == nil || i.Cursor.Series != 2 || len(i.Faults) != 2 {
		t.Fatalf("item %+v", i)
	}
	k.pipe.member, k.pipe.asked = nil, nil
	if err := k.deliver(t.Context()); err != nil {
		t.Fatal(err)
	}
	if from := k.pipe.asked[0].From; from == nil || from.Record != 9 {
		t.Errorf("went on from %+v", from)
	}
	if c := k.census(); c.Done != 1 || c.Counts.In != paused.In+3 {
		t.Errorf("census %+v, paused with %+v", c, paused)
	}
}

// A member that recovered is progress: the next one is not begun when time is
// up, nor does it cost an attempt if it takes what time is left.
func TestAMemberThatRecoveredIsProgress(t *testing.T) {
	for name, first := range map[string]time.Duration{"and the next one is not begun": 50 * time.Second, "and the next one hangs": 30 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				k.faulty()
				k.pipe.member = func(ctx context.Context, f unit.Fault) error {
					if f.Member == 0 {
						return backoff.Wait(ctx, first)
					}
					<-ctx.Done()
					return ctx.Err()
				}
				if err := k.limited(time.Minute); err != nil || k.todos() != 1 {
					t.Fatalf("not paused: %v", err)
				}
				if got := strings.Join(k.pipe.read, " "); first == 50*time.Second && got != "a" || first == 30*time.Second && got != "a b" {
					t.Errorf("read %q", got)
				}
				i := k.item()
				if i.Attempts != 0 || len(i.Faults) != 2 || *i.Cursor != (unit.Cursor{Series: 2, Member: 1, Record: 4}) {
					t.Errorf("item %+v", i)
				}
				k.pipe.member = nil
				if err := k.limited(time.Minute); err != nil {
					t.Fatal(err)
				}
				if c := k.census(); c.Done != 1 || c.Counts.In != 13 {
					t.Errorf("census %+v", c)
				}
			})
		})
	}
}

// rowsOf reads a unit with a real pipe, in as many deliveries as it takes.
func rowsOf(t *testing.T, objects []unit.Object, b *memobject.Bucket, limited bool) (rows []byte, counts unit.Counts, deliveries int) {
	t.Helper()
	out := capturesink.New(capturesink.Options{Violation: t.Errorf})
	p := pipe.New(pipe.Config{
		Source: b, Framer: func() frame.Framer { return frame.NDJSON(1 << 20) }, Chain: chain.Raw("\n"), Threads: 1,
		Sinks: []pipe.NamedSink{{Name: "out", Type: "capture", Sink: out}}, Budget: budget.New(100 << 20),
	})
	l := memledger.NewShared()
	u := &unit.Unit{Job: "j", Bucket: "b", Origin: unit.FromList, Objects: objects}
	list(t, l, "token", u)
	body, err := u.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for {
		c, err := l.Prove(t.Context(), "j", 1)
		if err != nil {
			t.Fatal(err)
		}
		if c.Done == 1 {
			return out.Bytes(), c.Counts, deliveries
		}
		deliveries++
		o := quiet()
		d := feed.Delivery{Message: feed.Message{ID: u.ID(), Job: "j", Body: body}, Receives: 1, Cap: attempts}
		r := reader.New(l, p, o)
		if limited {
			r = reader.New(l, past{p}, o)
		}
		if err := r.Handle(t.Context(), d); err != nil || deliveries > 20 {
			t.Fatalf("delivery %d: %v", deliveries, err)
		}
	}
}

// past is a pipe whose time is always up.
type past struct{ *pipe.Pipe }

func (p past) ReadUnit(ctx context.Context, r pipe.Reading, known []unit.Fault, found func(context.Context, unit.Fault) error) (pipe.Result, error) {
	r.Until = r.Until.AddDate(1, 0, 0)
	return p.Pipe.ReadUnit(ctx, r, known, found)
}

// INV-1, INV-3.
func TestAUnitReadInManyDeliveriesHasTheRowsAndCountsOfOne(t *testing.T) {
	var b memobject.Bucket
	var objects []unit.Object
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for _, key := range []string{"a", "b", "c"} {
		var data strings.Builder
		for n := range 2000 {
			fmt.Fprintf(&data, "{%q:%d,%q}\n", key, n, strings.Repeat("x", 3000+rnd.IntN(3000)))
		}
		objects = append(objects, b.Put(key, []byte(data.String())))
	}
	rows, counts, one := rowsOf(t, objects, &b, false)
	again, sum, many := rowsOf(t, objects, &b, true)
	if one != 1 || many < 4 || string(rows) != string(again) {
		t.Errorf("%d bytes in %d delivery, %d bytes in %d", len(rows), one, len(again), many)
	}
	sum.BytesRead = counts.BytesRead // some are read twice
	if d := cmp.Diff(counts, sum); d != "" {
		t.Errorf("counts (-in one +in many):\n%s", d)
	}
}
