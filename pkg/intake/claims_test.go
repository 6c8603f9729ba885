package intake_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/intake"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/unit"
)

func TestARepeatedAnnouncementIsDropped(t *testing.T) {
	t.Run("within a window, in one message or several", func(t *testing.T) {
		w := newWorld(t)
		a, b := w.put("p/a", "a", 9), w.put("p/b", "b", 9)
		w.announce(a, a, b)
		w.announce(b, a)
		w.handle(w.intake(nil), 10)
		w.once(a, b)
		w.ignored(map[failure.Reason]int64{failure.Repeated: 3})
		if us := w.units(); len(us) != 1 || len(us[0].Objects) != 2 {
			t.Errorf("units %+v", us)
		}
	})
	for name, read := range map[string]bool{"later, while its unit is open": false, "later, when its unit is done": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			in := w.intake(nil)
			a, b, c := w.put("p/a", "a", 9), w.put("p/b", "b", 9), w.put("p/c", "c", 9)
			w.announce(a, b)
			w.handle(in, 10)
			if read {
				w.readAll()
			}
			w.announce(b, c)
			w.handle(in, 10)
			w.once(a, b, c)
			w.ignored(map[failure.Reason]int64{failure.Repeated: 1})
			w.rest("p/a", "p/b", "p/c")
		})
	}
	for name, later := range map[string]time.Duration{"also when it makes the very same unit": 0, "and when that would say another time": time.Second} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			in := w.intake(nil)
			a := w.put("p/a", "a", 9)
			w.announce(a)
			w.handle(in, 10)
			for i := range int64(2) {
				again := a
				again.LastModified = noon.Add(later)
				w.announce(again)
				w.handle(in, 10)
				w.ignored(map[failure.Reason]int64{failure.Repeated: i + 1})
				w.readAll()
			}
			if n := w.sends[w.units()[0].ID()]; n != 1 {
				t.Errorf("sent %d times", n)
			}
		})
	}
}

func TestTheLastPutOfTheSameBytesIsTheOneThatIsPinned(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		w := newWorld(t)
		w.bucket.Versioned = true
		var puts []unit.Object
		var records []string
		for range 3 {
			o := w.put("p/a", "a", 9)
			puts = append(puts, o)
			records = append(records, w.record(o)) // sequencers rise
		}
		w.enqueue(body(records[order[0]], records[order[1]], records[order[2]]), puts[0])
		w.handle(w.intake(nil), 10)
		if us := w.units(); len(us) != 1 || len(us[0].Objects) != 1 || us[0].Objects[0].Version != puts[2].Version {
			t.Errorf("order %v: units %+v, want version %s", order, us, puts[2].Version)
		}
	}
}

func TestEveryVersionOfAKeyIsAnObject(t *testing.T) {
	for _, versioned := range []bool{true, false} {
		t.Run(fmt.Sprint("versioned ", versioned), func(t *testing.T) {
			w := newWorld(t)
			w.bucket.Versioned = versioned
			var all []unit.Object
			for i := range 5 {
				all = append(all, w.put("p/a", fmt.Sprint(i), 9))
			}
			w.announce(all...)
			w.drain()
			w.once(all...)
			w.rest("p/a")
			if want := map[bool]int{true: 5, false: 1}[versioned]; len(w.rows) != want {
				t.Errorf("%d versions were read, want %d", len(w.rows), want)
			}
		})
	}
}

// A unit that was entered and not sent is sent when its messages come again, and
// so is one whose message was lost on its way, while it is open.
func TestAClaimedUnitThatNobodyHasIsSentAgain(t *testing.T) {
	for name, disturb := range map[string]*fault{
		"whoever entered it died before sending":           {op: "Send", at: 1, dies: true},
		"whoever entered it died before it knew":           {op: "Enter", at: 1, dies: true, applied: true},
		"whoever sent it died, and the message was purged": {op: "Send", at: 1, dies: true, applied: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			a, b := w.put("p/a", "a", 9), w.put("p/b", "b", 9)
			w.announce(a)
			w.announce(b)
			if failed := w.handle(w.intake(disturb), 10); len(failed) != 2 {
				t.Fatalf("failed %v", failed)
			}
			w.feed = nil // purged
			w.announce(a)
			in := w.intake(nil)
			// One of its messages comes again, with others this time, and a new one.
			w.announce(w.put("p/c", "c", 9))
			w.handle(in, 1)
			if len(w.feed) != 1 {
				t.Fatalf("%d units were sent, want that of the message that came again", len(w.feed))
			}
			w.rest("p/a", "p/b", "p/c")
			w.once(a, b)
			w.ignored(map[failure.Reason]int64{failure.Repeated: 1})
		})
	}
	t.Run("a message that comes again for another reason sends nothing that is done", func(t *testing.T) {
		w := newWorld(t)
		a := w.put("p/a", "a", 9)
		w.announce(a)
		in := w.intake(&fault{op: "Send", at: 1, until: 4, applied: true})
		if failed := w.handle(in, 10); len(failed) != 1 {
			t.Fatalf("failed %v", failed)
		}
		w.readAll()
		sent := w.sends[w.units()[0].ID()]
		w.handle(in, 10)
		if len(w.queue) > 0 || w.sends[w.units()[0].ID()] != sent {
			t.Errorf("%d messages left, sent %d times, was %d", len(w.queue), w.sends[w.units()[0].ID()], sent)
		}
		w.ignored(map[failure.Reason]int64{failure.Repeated: 1})
	})
}

// A key that was put as A, then B, then A: the first A was never read, so the
// last one is no repetition of it.
func TestWhatWasOverwrittenUnreadMayBeTakenAgain(t *testing.T) {
	for name, with := range map[string][]string{"alone": nil, "among others": {"p/x", "p/y"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			in := w.intake(nil)
			var others []unit.Object
			for _, k := range with {
				others = append(others, w.put(k, k, 9))
			}
			a := w.put("p/k", "A", 9)
			w.announce(append(others, a)...)
			w.handle(in, 10)
			w.put("p/k", "B", 9)
			m := w.feed[0]
			w.feed = nil
			w.read(m) // finds B, marks A overwritten, asks to look at the key again
			last := w.put("p/k", "A", 9)
			w.announce(last)
			w.handle(in, 10)
			h, err := w.ledger.Claimed(t.Context(), job, last.ID())
			if err != nil || h.Take != 1 || h.Overwritten {
				t.Errorf("claim %+v, %v", h, err)
			}
			w.ignored(nil)
			w.rest(append(with, "p/k")...)
			w.once(a)
			takes := map[int]bool{}
			for _, u := range w.units() {
				for _, o := range u.Objects {
					if o.ID() == last.ID() {
						takes[o.Take] = true
					}
				}
			}
			if len(takes) != 2 {
				t.Errorf("takes %v of the version", takes)
			}
		})
	}
	t.Run("many times", func(t *testing.T) {
		w := newWorld(t)
		for i := range 7 {
			w.announce(w.put("p/k", string(rune('A'+i%2)), 9))
			w.drain()
			if i < 6 {
				w.put("p/k", string(rune('B'-i%2)), 9) // overwritten before it is read
			}
			w.readAll()
		}
		w.rest("p/k")
		w.once()
	})
}

func TestAKeyPutManyTimesASecondIsReadInTheEnd(t *testing.T) {
	w := newWorld(t)
	in := w.intake(nil)
	for i := range 300 {
		w.announce(w.put("p/k", fmt.Sprint(i/3%7), 9))
		if i%10 == 9 {
			w.handle(in, 7)
		}
		if i%50 == 49 {
			w.readAll()
			w.schedule(in)
		}
	}
	w.rest("p/k")
	w.once()
}

// others is a ledger where another intake takes some of the objects each time.
type others struct {
	*actor
	takes int
}

func TestObjectsThatOthersTakeEachTimeComeAgain(t *testing.T) {
	w := newWorld(t)
	var all []unit.Object
	for i := range 20 {
		all = append(all, w.put(fmt.Sprint("p/", i), "x", i+1))
	}
	w.announce(all...)
	calm := &actor{w, &fault{}}
	o := &others{actor: calm}
	in := intake.New(o, calm, calm, w.opts)
	failed := w.handle(in, 10)
	if len(failed) != 1 || !failure.Is(failed[0].Err, failure.Transient) || !strings.Contains(failed[0].Err.Error(), "other invocations took some") {
		t.Fatalf("failed %v", failed)
	}
	w.drain()
	if n := w.count(metric.IntakeObjects, ""); n == 0 {
		t.Error("nothing was taken in the end")
	}
}

// Enter lets another intake be faster with the first object, with another unit
// each time.
func (o *others) Enter(ctx context.Context, e ledger.Entry) ([]ledger.Held, error) {
	o.takes++
	first, err := unit.Decode(e.Units[0].Body)
	if err != nil {
		return nil, err
	}
	u := &unit.Unit{Job: e.Job, Run: e.Run, Bucket: bucket, Objects: first.Objects[:1], Origin: unit.FromEvent}
	body, err := u.Encode()
	if err != nil {
		return nil, err
	}
	own := ledger.Entry{
		Job: e.Job, Run: e.Run, Units: []ledger.Planned{{ID: u.ID(), FirstKey: u.Objects[0].Key, Objects: 1, Body: body}},
		Claims: []ledger.Claim{{ID: u.Objects[0].ID(), Unit: u.ID()}},
	}
	if held, err := o.actor.Enter(ctx, own); err != nil || len(held) > 0 {
		return held, err
	}
	if err := o.Send(ctx, feed.Message{ID: u.ID(), Job: e.Job, Body: body}); err != nil {
		return nil, err
	}
	return o.actor.Enter(ctx, e)
}
