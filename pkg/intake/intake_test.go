package intake_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/intake"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/unit"
)

func TestObjectsOfAWindowArePackedTogether(t *testing.T) {
	w := newWorld(t)
	var all []unit.Object
	for _, key := range []string{"p/c", "p/a", "p/b"} { // events come in no order
		o := w.put(key, key, 1000)
		all = append(all, o)
		w.announce(o)
	}
	w.announce(w.put("p/d", "d", 10), w.put("p/e", "e", 10))
	if failed := w.handle(w.intake(nil), 10); len(failed) > 0 {
		t.Fatal(failed)
	}
	w.once(all...)
	us := w.units()
	if len(us) != 1 || len(us[0].Objects) != 5 || us[0].Origin != unit.FromEvent || us[0].Bucket != bucket || us[0].Run != 1 || us[0].Objects[0].LastModified != noon {
		t.Errorf("units %+v, want one of 5 objects", us)
	}
	w.ignored(nil)
	if w.count(metric.IntakeObjects, "") != 5 || w.count(metric.IntakeUnits, "") != 1 {
		t.Errorf("%d objects and %d units are counted", w.count(metric.IntakeObjects, ""), w.count(metric.IntakeUnits, ""))
	}
}

func TestTheUnitsOfAWindowAreSentTogether(t *testing.T) {
	w := newWorld(t)
	// An object of the target's size stands alone, and this one is cut.
	all := []unit.Object{w.put("p/a", "a", mib), w.put("p/b", "b", mib), w.put("p/c", "c", 3*mib)}
	for _, o := range all {
		w.announce(o)
	}
	f := &fault{}
	if failed := w.handle(w.intake(f), 10); len(failed) > 0 {
		t.Fatal(failed)
	}
	w.once(all...)
	if units, sends := w.count(metric.IntakeUnits, ""), f.calls("Send"); units != 5 || sends != 1 {
		t.Errorf("%d units in %d sends, want 5 in one", units, sends)
	}
}

func TestAUnitTakesNoMoreThanATransactionHolds(t *testing.T) {
	w := newWorld(t)
	var all []unit.Object
	for i := range 200 {
		all = append(all, w.put("p/"+strings.Repeat("x", i+1), "x", 1+i))
	}
	w.announce(all...)
	w.drain()
	w.once(all...)
	for _, u := range w.units() {
		if len(u.Objects) > 64 {
			t.Errorf("a unit of %d objects", len(u.Objects))
		}
	}
	if n := len(w.units()); n > 8 {
		t.Errorf("%d units of 200 small objects", n)
	}
}

func TestWhatIsNotForTheJobIsAckedAndCounted(t *testing.T) {
	w := newWorld(t)
	good := w.put("p/good", "g", 10)
	in := w.intake(nil)
	w.enqueue(`{"Service":"Amazon S3","Event":"s3:TestEvent","Bucket":"harbour-logs"}`)
	w.handle(in, 10)
	if _, err := w.ledger.Meta(t.Context(), job); !errors.Is(err, ledger.ErrNoJob) {
		t.Errorf("a test event opened the job: %v", err)
	}
	w.enqueue(body(w.recordOf("other", "ObjectCreated:Put", good), w.recordOf(bucket, "ObjectRemoved:Delete", good)))
	w.enqueue(body(w.record(unit.Object{Key: "q/x", Size: 1, ETag: "e"}), w.record(unit.Object{Key: "p/x.tmp", Size: 1, ETag: "e"}), w.record(good)), good)
	w.enqueue(body(w.record(unit.Object{Key: "p/folder/", Size: 0, ETag: "e"}), w.record(unit.Object{Key: "p/none", Size: 0, ETag: "e"})))
	w.enqueue(body(w.record(unit.Object{Key: "p/", Size: 0, ETag: "e"}), w.record(unit.Object{Key: "p", Size: 7, ETag: "e"})))
	if failed := w.handle(in, 10); len(failed) > 0 {
		t.Fatal(failed)
	}
	w.once(good)
	w.ignored(map[failure.Reason]int64{
		failure.Test: 1, failure.NotCreated: 1, failure.OtherBucket: 1, failure.OutsidePrefix: 2, failure.Excluded: 1, failure.Directory: 2, failure.Empty: 1,
	})
	if len(w.dead) > 0 || len(w.sent) != 1 {
		t.Errorf("refused %q, sent %d units", w.dead, len(w.sent))
	}
}

func TestWhatCannotBeUnderstoodIsRefusedAndDelaysNothing(t *testing.T) {
	w := newWorld(t)
	good, other := w.put("p/good", "g", 10), w.put("p/other", "o", 10)
	garbage := w.enqueue("the gauge is back online")
	bad := `{"eventVersion":"2.1","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"harbour-logs"},"object":{"key":"p/%zz","size":1}}}`
	w.enqueue(body(w.record(good), bad), good)
	w.announce(other)
	if failed := w.handle(w.intake(nil), 10); len(failed) > 0 {
		t.Fatal(failed)
	}
	w.once(good, other)
	if len(w.dead) != 2 || !contains(w.dead, string(garbage.Body)) || !contains(w.dead, body(bad)) {
		t.Errorf("refused %q", w.dead)
	}
	for _, r := range w.reasons {
		if !strings.HasPrefix(r, "unparsable_event: ") || !strings.Contains(r, "not a JSON object") && !strings.Contains(r, "%zz") {
			t.Errorf("refused for %q", r)
		}
	}
	w.ignored(map[failure.Reason]int64{failure.UnparsableEvent: 2})

	t.Run("what cannot be refused fails alone, and comes again", func(t *testing.T) {
		w := newWorld(t)
		w.refuse = errLost
		bad := w.enqueue("garbage")
		good := w.put("p/good", "g", 10)
		w.announce(good)
		failed := w.handle(w.intake(nil), 10)
		if len(failed) != 1 || failed[0].ID != bad.ID || !errors.Is(failed[0].Err, errLost) {
			t.Errorf("failed %v", failed)
		}
		w.once(good)
		w.ignored(nil)
	})
	t.Run("without dead letters it fails with the reason", func(t *testing.T) {
		w := newWorld(t)
		w.opts.Refuse = nil
		w.enqueue("garbage")
		failed := w.handle(w.intake(nil), 10)
		if len(failed) != 1 || !strings.Contains(failed[0].Err.Error(), "not a JSON object") {
			t.Errorf("failed %v", failed)
		}
	})
	t.Run("a message that fails for another record is not refused each time", func(t *testing.T) {
		w := newWorld(t)
		w.enqueue(body(w.record(w.put("p/good", "g", 10)), "5"))
		in := w.intake(&fault{op: "Send", at: 1, until: 4})
		if failed := w.handle(in, 10); len(failed) != 1 || len(w.dead) > 0 {
			t.Fatalf("failed %v, refused %q", failed, w.dead)
		}
		if failed := w.handle(in, 10); len(failed) > 0 || len(w.dead) != 1 {
			t.Errorf("failed %v, refused %q", failed, w.dead)
		}
	})
}

func TestAFaultFailsTheMessagesOfItsUnitAndNoOthers(t *testing.T) {
	w := newWorld(t)
	// An object of the target's size stands alone.
	a, b, c := w.put("p/a", "a", mib), w.put("p/b", "b", mib), w.put("p/c", "c", mib)
	w.announce(a)
	w.announce(b, c)
	w.announce(b)
	one, calm := 0, &actor{w, &fault{}}
	in := intake.New(&picky{calm, "p/a", &one}, calm, calm, w.opts)
	failed := w.handle(in, 10)
	if len(failed) != 1 || failed[0].ID != w.queue[0].ID || !strings.Contains(failed[0].Err.Error(), "odd") {
		t.Fatalf("failed %v, want the first message alone", failed)
	}
	if one != 4 {
		t.Errorf("the unit was tried %d times", one)
	}
	w.drain()
	w.once(a, b, c)
	w.ignored(map[failure.Reason]int64{failure.Repeated: 1})
}

func TestAFaultOfTheJobFailsAllThatIsNotThrough(t *testing.T) {
	for _, op := range []string{"Open", "Enter", "Look", "Send"} {
		t.Run(op, func(t *testing.T) {
			w := newWorld(t)
			big := w.put("p/big", "b\n", 3*mib)
			untold := w.put("p/untold", "u", 9)
			w.announce(big)
			lacking := untold
			lacking.Size = -1
			w.enqueue(body(w.record(lacking)), untold)
			w.enqueue("garbage")
			f := &fault{op: op, at: 1, until: 1000, err: failure.Errorf(failure.Job, failure.Denied, "access denied")}
			failed := w.handle(w.intake(f), 10)
			if len(failed) != 2 || len(w.dead) != 1 {
				t.Fatalf("failed %v, refused %q", failed, w.dead)
			}
			for _, e := range failed {
				if !failure.Is(e.Err, failure.Job) {
					t.Errorf("%s: %v", e.ID, e.Err)
				}
			}
			if f.calls(op) > 2 {
				t.Errorf("%s was tried %d times", op, f.calls(op))
			}
			w.drain()
			w.once(big, untold)
		})
	}
}

func TestAnObjectThatMayNotBeReadFailsAlone(t *testing.T) {
	for _, op := range []string{"Stat", "ReadRange"} {
		t.Run(op, func(t *testing.T) {
			w := newWorld(t)
			a, b := w.put("p/a", "a", 9), w.put("p/b", "b", 9)
			theirs := w.put("p/theirs", "t\n", 3*mib)
			told := theirs
			if op == "Stat" {
				told.Size = -1
			}
			w.enqueue(body(w.record(a), w.record(told)), a, theirs)
			w.announce(b)
			f := &fault{op: op, at: 1, until: 1000, err: failure.Errorf(failure.Job, failure.Denied, "access denied")}
			in := w.intake(f)
			failed := w.handle(in, 10)
			if len(failed) != 1 || !failure.Is(failed[0].Err, failure.Job) || !strings.Contains(failed[0].Err.Error(), "access denied") {
				t.Fatalf("failed %v", failed)
			}
			w.once(a, b)
			taken, err := in.Take(t.Context(), w.meta(), []unit.Object{a, told})
			if err != nil || taken[0].Err != nil || !failure.Is(taken[1].Err, failure.Job) {
				t.Errorf("take: %+v, %v", taken, err)
			}
			f.until = 0
			w.drain()
			w.once(a, b, theirs)
		})
	}
}

func TestAnEndedJobTakesNothingAndSaysWhatToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		in := w.intake(nil)
		before := w.put("p/a", "a", 9)
		w.announce(before)
		w.handle(in, 10)
		m := w.meta()
		if err := w.ledger.Conclude(t.Context(), job, m.Run, m.Generation, ledger.Cancelled); err != nil {
			t.Fatal(err)
		}
		after := w.put("p/b", "b", 9)
		w.announce(after)
		says := func(failed []intake.Failed) {
			t.Helper()
			if len(failed) != 1 || !errors.Is(failed[0].Err, ledger.ErrState) || !strings.Contains(failed[0].Err.Error(), "spate bucket connect") {
				t.Errorf("failed %v", failed)
			}
		}
		says(w.handle(in, 10)) // which still holds that it runs
		says(w.handle(in, 10)) // which knows
		says(w.handle(w.intake(nil), 10))
		if _, err := in.Take(t.Context(), w.meta(), []unit.Object{after}); !errors.Is(err, ledger.ErrState) {
			t.Errorf("take: %v", err)
		}
		if _, err := w.ledger.Open(t.Context(), job, ledger.Start{Token: "connect"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if failed := w.handle(in, 10); len(failed) > 0 {
			t.Errorf("failed in the next run: %v", failed)
		}
		if us := w.units(); len(us) != 2 || us[0].Run+us[1].Run != 3 {
			t.Errorf("units %+v", us)
		}
	})
}

func TestARunThatBeginsMeanwhileIsTakenUp(t *testing.T) {
	w := newWorld(t)
	in := w.intake(nil)
	w.announce(w.put("p/a", "a", 9))
	w.handle(in, 10)
	m := w.meta()
	if err := w.ledger.Conclude(t.Context(), job, m.Run, m.Generation, ledger.Cancelled); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ledger.Open(t.Context(), job, ledger.Start{Token: "next"}); err != nil {
		t.Fatal(err)
	}
	w.announce(w.put("p/b", "b", 9))
	if failed := w.handle(in, 10); len(failed) > 0 {
		t.Errorf("failed: %v", failed)
	}
}

func TestAListedJobIsNoJobOfEvents(t *testing.T) {
	w := newWorld(t)
	if _, err := w.ledger.Start(t.Context(), job, ledger.Start{}); err != nil {
		t.Fatal(err)
	}
	w.announce(w.put("p/a", "a", 9))
	failed := w.handle(w.intake(nil), 10)
	if len(failed) != 1 || !failure.Is(failed[0].Err, failure.Job) || !errors.Is(failed[0].Err, ledger.ErrActive) {
		t.Errorf("failed %v", failed)
	}
	if _, err := w.intake(nil).Take(t.Context(), w.meta(), nil); !errors.Is(err, ledger.ErrActive) {
		t.Errorf("take: %v", err)
	}
}

func TestTheJobIsAskedForSeldomAndOpenedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f := &fault{}
		in := w.intake(f)
		for i := range 20 {
			w.announce(w.put("p/"+strings.Repeat("a", i+1), "a", 9+i))
			w.handle(in, 10)
			time.Sleep(time.Second)
		}
		if f.calls("Open") != 1 || f.calls("Meta") != 3 {
			t.Errorf("opened %d times, asked for %d times in 20 s", f.calls("Open"), f.calls("Meta"))
		}
	})
}

func TestAJobThatIsGoneIsOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		in := w.intake(nil)
		w.announce(w.put("p/a", "a", 9))
		w.handle(in, 10)
		*w.ledger = *memledger.NewShared() // somebody made the table anew
		time.Sleep(5 * time.Second)
		o := w.put("p/b", "b", 9)
		w.announce(o)
		if failed := w.handle(in, 10); len(failed) > 0 {
			t.Errorf("failed %v", failed)
		}
		w.once(o)
	})
}

func TestWhatIsBeforeTheCutoffIsForTheListedJob(t *testing.T) {
	w := newWorld(t)
	if _, err := w.ledger.Open(t.Context(), job, ledger.Start{Cutoff: noon}); err != nil {
		t.Fatal(err)
	}
	at := func(key string, d time.Duration) unit.Object {
		o := w.put(key, key, 9)
		o.LastModified = noon.Add(d)
		return o
	}
	early, near, late := at("p/early", -time.Minute-time.Millisecond), at("p/near", -time.Minute), at("p/late", time.Second)
	unknown := w.put("p/unknown", "u", 9)
	w.enqueue(body(w.record(early), w.record(near), w.record(late)), near, late)
	w.enqueue(strings.Replace(body(w.record(unknown)), `"eventTime":"2026`, `"eventTime":"soon`, 1), unknown)
	if failed := w.handle(w.intake(nil), 10); len(failed) > 0 {
		t.Fatal(failed)
	}
	w.once(near, late, unknown)
	w.ignored(map[failure.Reason]int64{failure.BeforeCutoff: 1})
	if us := w.units(); len(us) != 1 || len(us[0].Objects) != 3 {
		t.Errorf("units %+v", us)
	}
}
