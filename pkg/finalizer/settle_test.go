package finalizer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
)

func TestSettling(t *testing.T) {
	bubble(t, "what is open is sent again three times, and then the job fails and names it", func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "a", "b", "c")
		w.done("j", "a")
		for n := 1; n <= 3; n++ {
			w.ticks(11 - min(n-1, 1)) // the first look does not count
			w.wantOut("b c")
			if m := w.meta("j"); m.Resends != n || m.State != ledger.Running {
				t.Fatalf("after %d windows: %d re-sends, %s", n, m.Resends, m.State)
			}
		}
		w.ticks(9)
		w.wantState("j", ledger.Running)
		w.ticks(1)
		r := w.ended("j", ledger.Failed)
		if r.Units.Missing != 2 || r.Missing[1].Key != "key-c" || r.Missing[1].Reason != failure.Missing || !strings.Contains(r.Reason, "re-sent 3 times") {
			t.Errorf("%s: %+v", r.Reason, r.Missing)
		}
		w.wantOut("")
	})
	bubble(t, "with re-sends off it fails at once", func(t *testing.T) {
		w := newWorld(t)
		w.opt.Resends = -1
		w.listed("j", "a")
		w.ticks(11)
		w.wantOut("")
		w.ended("j", ledger.Failed)
	})
	bubble(t, "any work on the run starts the window anew", func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "a", "b")
		for range 12 {
			w.ticks(9)
			w.must(nil, w.l.Touch(t.Context(), w.ref("j", "a")))
		}
		w.wantOut("")
		w.opt.Window = 3 * time.Minute
		w.ticks(4)
		w.wantOut("a b")
	})
	bubble(t, "a listing that goes on is not settled", func(t *testing.T) {
		w := newWorld(t)
		w.begun("j", "a")
		w.receive("j", "a", limit)
		w.ticks(60)
		if c, err := w.l.Prove(t.Context(), "j", 1); err != nil || c.Open != 1 {
			t.Errorf("%+v, %v", c, err)
		}
		w.wantOut("")
		w.wantState("j", ledger.Listing)
	})
	bubble(t, "a unit that is due and cannot be sent is not quiet", func(t *testing.T) {
		w := newWorld(t)
		w.opt.Resends = -1
		w.listed("j", "a")
		i := w.receive("j", "a", 1)
		w.must(nil, w.l.Pause(t.Context(), w.ref("j", "a"), i.Serial, ledger.Cursor{Record: 1}, ledger.Counts{}))
		w.fail = func(call, _ string) error {
			if call == "Send" {
				return errFault
			}
			return nil
		}
		for range 30 {
			if w.tick() == nil {
				t.Fatal("no error")
			}
			time.Sleep(time.Minute)
		}
		w.fail = nil
		w.ticks(10)
		w.wantOut("a")
		w.wantState("j", ledger.Running)
	})
	bubble(t, "an item that was lost fails the job, when nobody works on it any more", func(t *testing.T) {
		w := newWorld(t)
		lease := w.begun("j", "a")
		w.done("j", "a")
		p := ledger.Page{After: "z", Last: "zz", Units: []ledger.Planned{planned(t, "j", 1, "b", 1)}}
		p, _, err := w.l.Publish(t.Context(), lease, p)
		w.must(p, err)
		w.must(nil, w.l.Advance(t.Context(), lease, p))
		w.must(nil, w.l.Finish(t.Context(), lease))
		w.lost = "b"
		w.ticks(10)
		w.wantState("j", ledger.Running)
		w.ticks(2)
		w.wantState("j", ledger.Failed)
		if r := w.report("j"); !strings.Contains(r.Reason, "holds 1 of 2") {
			t.Error(r.Reason)
		}
	})
}

func TestAUnitAtItsLastDeliveryCrashed(t *testing.T) {
	bubble(t, "the job fails for it once nothing else is open", func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "a", "b")
		w.receive("j", "a", limit)
		w.receive("j", "b", 1)
		w.ticks(11)
		w.wantOut("b")
		w.wantState("j", ledger.Running)
		w.done("j", "b")
		w.trigger("j")
		r := w.ended("j", ledger.Failed)
		if len(r.Dead) != 1 || r.Dead[0].Reason != failure.Crashed || r.Dead[0].Objects[0].Key != "key-a" || r.Dead[0].Attempts != 1 || r.Dead[0].Detail == "" {
			t.Errorf("dead %+v", r.Dead)
		}
	})
	bubble(t, "at once where nothing is", func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "a")
		w.receive("j", "a", limit)
		w.ticks(11)
		w.ended("j", ledger.Failed)
		w.wantOut("")
	})
	crashed := func(t *testing.T, restDone bool) report.Dead {
		w := newWorld(t)
		meta, err := w.l.Start(t.Context(), "j", ledger.Start{Callback: "task-j"})
		w.must(meta, err)
		lease := ledger.Lease{Job: "j", Run: 1, Holder: "lister"}
		w.must(w.l.Lease(t.Context(), lease))
		p, _, err := w.l.Publish(t.Context(), lease, ledger.Page{Last: "z", Units: []ledger.Planned{planned(t, "j", 1, "u", 4)}})
		w.must(p, err)
		w.must(nil, w.l.Advance(t.Context(), lease, p))
		w.must(nil, w.l.Finish(t.Context(), lease))
		i, ref := w.receive("j", "u", limit), w.ref("j", "u")
		for _, f := range []ledger.Fault{{Member: 3}, {Member: 1, Record: 7}} {
			f.Reason, f.Detail = failure.ETagDrift, "changed"
			w.must(nil, w.l.Fault(t.Context(), ref, i.Serial, f))
		}
		if restDone {
			w.must(nil, w.l.RestDone(t.Context(), ref, i.Serial, ledger.Counts{}))
		}
		w.ticks(11)
		return w.ended("j", ledger.Failed).Dead[0]
	}
	bubble(t, "all members of it are named where its rest was not delivered", func(t *testing.T) {
		if d := crashed(t, false); len(d.Objects) != 4 || d.Objects[0].Reason != "" || d.Record != nil {
			t.Errorf("%+v", d)
		}
	})
	bubble(t, "only the faulty ones where it was", func(t *testing.T) {
		d := crashed(t, true)
		var named []string
		for _, o := range d.Objects {
			named = append(named, fmt.Sprintf("%s %s %d", o.Key, o.Reason, *o.Record))
		}
		if diff := cmp.Diff([]string{"key-u-1 etag_drift 7", "key-u-3 etag_drift 0"}, named); diff != "" || *d.Record != 7 {
			t.Errorf("named (-want +got):\n%s", diff)
		}
	})
	for what, move := range map[string]func(*world){
		"touched":   func(w *world) { w.must(nil, w.l.Touch(w.Context(), w.ref("j", "b"))) },
		"cancelled": func(w *world) { w.must(nil, w.l.Conclude(w.Context(), "j", 1, 0, ledger.Cancelled)) },
		"redriven":  func(w *world) { w.must(w.l.Redrive(w.Context(), "j", 1)) },
		"resumed": func(w *world) {
			w.must(w.l.Halt(w.Context(), "j", ledger.Halt{Reason: failure.Denied}))
			w.must(w.l.Resume(w.Context(), "j", failure.Denied))
		},
	} {
		bubble(t, "a run that was "+what+" while it was queried is left alone", func(t *testing.T) {
			for _, when := range []string{"Unfinished", "Progress"} {
				w := newWorld(t)
				w.opt.Resends = -1
				w.listed("j", "a", "b")
				w.receive("j", "a", limit)
				w.ticks(10)
				queried := false
				w.fail = func(call, _ string) error {
					queried = queried || call == "Unfinished"
					if call == when && queried {
						w.fail = nil
						move(w)
					}
					return nil
				}
				w.must(nil, w.tick())
				c, err := w.l.Prove(t.Context(), "j", 1)
				w.must(c, err)
				if c.Open != 2 || w.meta("j").State == ledger.Failed {
					t.Errorf("at %s: %+v, %s", when, c, w.meta("j").State)
				}
			}
		})
	}
	bubble(t, "more of them than are remembered are given up over several windows", func(t *testing.T) {
		const n = 10_001
		w := newWorld(t)
		w.opt.Resends = -1
		lease := w.begun("j", "waiting")
		for from := 0; from < n; from += 1000 {
			p := ledger.Page{After: w.meta("j").Page, Last: fmt.Sprintf("z%06d", from)}
			for i := from; i < min(from+1000, n); i++ {
				p.Units = append(p.Units, planned(t, "j", 1, unit.ID(fmt.Sprintf("u%05d", i)), 1))
			}
			p, _, err := w.l.Publish(t.Context(), lease, p)
			w.must(p, err)
			w.must(nil, w.l.Advance(t.Context(), lease, p))
			for _, u := range p.Units {
				w.receive("j", u.ID, limit)
			}
		}
		w.must(nil, w.l.Finish(t.Context(), lease))
		window := func() {
			w.ticks(1)
			time.Sleep(9 * time.Minute)
			w.ticks(1)
		}
		window()
		if c, err := w.l.Prove(t.Context(), "j", 1); err != nil || c.Dead != 10_000 || c.Open != 2 {
			t.Fatalf("%+v, %v", c, err)
		}
		w.wantState("j", ledger.Running)
		window()
		if r := w.ended("j", ledger.Failed); r.Units.Dead != n || r.Units.Missing != 1 {
			t.Errorf("units %+v", r.Units)
		}
	})
}

func TestNoClockButThatOfTheLooksCounts(t *testing.T) {
	bubble(t, "a look whose clock is behind the last one's starts the window anew", func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "a")
		p, err := w.l.Progress(t.Context(), "j", 1)
		w.must(p, err)
		w.must(nil, w.l.Watched(t.Context(), "j", ledger.Watch{Run: 1, Beat: p.Beat, Since: time.Now().Add(24 * time.Hour), Proved: true}))
		w.ticks(10)
		w.wantOut("")
		w.ticks(1)
		w.wantOut("a")
	})
	bubble(t, "a look that took its time does not begin the window before one that did since", func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "a")
		w.ticks(9)
		w.at = len(w.calls) + 4 // it reads the watch, which takes two minutes
		w.meanwhile = func() {
			time.Sleep(time.Minute)
			w.ticks(1)
			w.wantOut("a")
		}
		w.must(nil, w.tick())
		time.Sleep(time.Minute)
		w.ticks(8)
		w.wantOut("")
		w.ticks(1)
		w.wantOut("a")
	})
	for what, watch := range map[string]ledger.Watch{
		"another run":        {Run: 7},
		"another generation": {Run: 1, Generation: 7},
	} {
		bubble(t, "what was seen of "+what+" says nothing", func(t *testing.T) {
			w := newWorld(t)
			w.listed("j", "a")
			p, err := w.l.Progress(t.Context(), "j", 1)
			w.must(p, err)
			watch.Beat, watch.Since = p.Beat, time.Now()
			w.must(nil, w.l.Watched(t.Context(), "j", watch))
			time.Sleep(time.Hour)
			w.ticks(10)
			w.wantOut("")
		})
	}
}
