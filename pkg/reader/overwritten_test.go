package reader_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/reader"
	"github.com/spate-go/spate/pkg/unit"
)

func TestAnOverwrittenMember(t *testing.T) {
	t.Run("keeps its unit from nothing, and its key is looked at again", func(t *testing.T) {
		e := newEvents(t)
		u := e.announce(object("a", "1"), object("b", "1"), object("c", "1"))
		e.puts("a", "1", "b", "2", "c", "1")
		var calls []string
		e.step = func(c string, apply func() error) error { calls = append(calls, c); return apply() }
		e.must(nil, e.deliver(u))
		e.wantState(u, ledger.Done)
		e.wantTodos("b 2 1")
		if !e.claim(object("b", "1")).Overwritten || e.claim(object("a", "1")).Overwritten {
			t.Error("claims are marked wrongly")
		}
		if len(e.rows) != 2 || e.item(u).Counts.In != 2 || e.item(u).Counts.Overwritten != 1 || e.opt.Overwritten.Load() != 1 {
			t.Errorf("rows %v, counts %+v, metric %d", e.rows, e.item(u).Counts, e.opt.Overwritten.Load())
		}
		// It is marked before any later block, and before the look; it is looked at
		// before the unit is done.
		if got := strings.Join(calls, ", "); got != "meta, begin, write a, overwritten b, write c, rest done, stat b, again b, done" {
			t.Errorf("calls %s", got)
		}
		var line struct{ Overwritten int }
		e.must(nil, json.Unmarshal(e.log.Bytes(), &line))
		if line.Overwritten != 1 {
			t.Errorf("%s", &e.log)
		}
	})
	t.Run("may be every one: then the unit is done without a row", func(t *testing.T) {
		e := newEvents(t)
		u := e.announce(object("a", "1"), object("b", "1"))
		e.puts("a", "2", "b", "2")
		e.must(nil, e.deliver(u))
		e.wantState(u, ledger.Done)
		e.wantTodos("a 2 1", "b 2 1")
		if len(e.rows) > 0 || e.item(u).Counts.In != 0 {
			t.Errorf("rows %v", e.rows)
		}
	})
	t.Run("that is gone is not found, and nothing else is read again for it", func(t *testing.T) {
		e := newEvents(t)
		u := e.announce(object("a", "1"), object("b", "1"))
		e.puts("a", "1", "b", "2")
		e.step = func(c string, apply func() error) error {
			if c == "stat b" {
				e.current["b"] = ""
			}
			return apply()
		}
		for range attempts {
			if err := e.deliver(u); !failure.Is(err, failure.Member) {
				t.Fatalf("delivered: %v", err)
			}
		}
		c := e.item(u).Cause
		if c == nil || c.Reason != failure.NotFound || len(c.Objects) != 1 || c.Objects[0].Key != "b" || c.Faults[0].Reason != failure.NotFound {
			t.Errorf("cause %+v", c)
		}
		if got := strings.Join(e.read, " "); got != "a b" {
			t.Errorf("read %s", got)
		}
		e.wantTodos()
		if e.opt.Overwritten.Load() != 0 {
			t.Error("counted as overwritten")
		}
	})
	t.Run("that was gone and is back ends its unit", func(t *testing.T) {
		e := newEvents(t)
		u := e.announce(object("a", "1"))
		e.puts("a", "2")
		gone := true
		e.step = func(c string, apply func() error) error {
			if c == "stat a" && gone {
				return failure.Errorf(failure.Member, failure.NotFound, "gone")
			}
			return apply()
		}
		if err := e.deliver(u); err == nil {
			t.Fatal("acked")
		}
		gone = false
		e.must(nil, e.deliver(u))
		e.wantState(u, ledger.Done)
		e.wantTodos("a 2 1")
	})
	t.Run("is seen to although another member is bad, which is named alone", func(t *testing.T) {
		e := newEvents(t)
		u := e.announce(object("a", "1"), object("b", "1"))
		e.puts("a", "1", "b", "2")
		e.broken["a"] = failure.Undecodable
		for range attempts {
			_ = e.deliver(u)
		}
		e.wantState(u, ledger.Dead)
		e.wantTodos("b 2 1")
		if c := e.item(u).Cause; len(c.Objects) != 1 || c.Objects[0].Key != "a" || c.Reason != failure.Undecodable {
			t.Errorf("cause %+v", c)
		}
		e.broken["a"] = ""
		if _, err := e.ledger.Redrive(t.Context(), "j", 1); err != nil {
			t.Fatal(err)
		}
		e.receive[u.ID()] = 0
		e.must(nil, e.deliver(u))
		e.wantState(u, ledger.Done)
		if got := strings.Join(e.read, " "); got != "a b a a a" || e.item(u).Counts.Overwritten != 1 {
			t.Errorf("read %s, counts %+v", got, e.item(u).Counts)
		}
	})
	t.Run("is found when a bad one is read again", func(t *testing.T) {
		e := newEvents(t)
		u := e.announce(object("a", "1"), object("b", "1"))
		e.puts("b", "1")
		if err := e.deliver(u); !failure.Is(err, failure.Member) {
			t.Fatalf("delivered: %v", err)
		}
		e.puts("a", "2")
		e.must(nil, e.deliver(u))
		e.wantState(u, ledger.Done)
		e.wantTodos("a 2 1")
		if !e.claim(object("a", "1")).Overwritten {
			t.Error("the claim is not marked")
		}
	})
	t.Run("of which the mark cannot be written is not looked at", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := newEvents(t)
			u := e.announce(object("a", "1"))
			e.puts("a", "2")
			e.step = func(c string, apply func() error) error {
				switch {
				case c == "overwritten a":
					return errAway
				case strings.HasPrefix(c, "stat"), strings.HasPrefix(c, "again"), c == "rest done":
					t.Errorf("%s before the mark", c)
				}
				return apply()
			}
			if err := e.deliver(u); err == nil {
				t.Error("acked")
			}
		})
	})
}

func TestWhatIsNotOverwrittenIsFaulty(t *testing.T) {
	for name, set := range map[string]func(e *events, u *unit.Unit){
		"a member whose version is pinned": func(_ *events, u *unit.Unit) { u.Objects[0].Version = "v" },
		"a member of a listed unit":        func(_ *events, u *unit.Unit) { u.Origin = unit.FromList },
		"one that cannot be looked at":     func(e *events, _ *unit.Unit) { e.opt.Stat = nil },
		"one that cannot be marked":        func(e *events, _ *unit.Unit) { e.opt.Announced = nil },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEvents(t)
			u := &unit.Unit{Job: "j", Run: 1, Bucket: "b", Origin: unit.FromEvent, Objects: []unit.Object{object("a", "1")}}
			set(e, u)
			e.enter(u)
			e.puts("a", "2")
			for range attempts {
				_ = e.deliver(u)
			}
			e.wantState(u, ledger.Dead)
			if c := e.item(u).Cause; c.Reason != failure.ETagDrift || e.claim(u.Objects[0]).Overwritten {
				t.Errorf("cause %+v", c)
			}
			e.wantTodos()
		})
	}
	t.Run("one that another configuration marked", func(t *testing.T) {
		e := newEvents(t)
		u := e.announce(object("a", "1"))
		e.puts("a", "2")
		e.step = func(c string, apply func() error) error {
			if c == "stat a" {
				return errors.New("away")
			}
			return apply()
		}
		_ = e.deliver(u)
		e.opt.Stat = nil
		if err := e.deliver(u); !failure.Is(err, failure.Member) {
			t.Errorf("delivered: %v", err)
		}
	})
}

func TestAKeyThatIsOverwrittenAgainAndAgain(t *testing.T) {
	for _, c := range []struct {
		again   int
		current string
		want    []string
	}{
		{0, "2", []string{"a 2 1"}},
		{2, "2", []string{"a 2 3"}},
		{3, "2", nil},
		{3, "1", []string{"a 1 4"}}, // its event may have come before the mark
	} {
		t.Run(fmt.Sprintf("for the %d. time, and is %q", c.again+1, c.current), func(t *testing.T) {
			e := newEvents(t)
			o := object("a", "1")
			o.Again = c.again
			u := e.announce(o)
			e.puts("a", "2")
			e.step = func(call string, apply func() error) error {
				if call == "stat a" {
					e.puts("a", c.current)
				}
				return apply()
			}
			e.must(nil, e.deliver(u))
			e.wantState(u, ledger.Done)
			e.wantTodos(c.want...)
			if left := strings.Contains(e.log.String(), `"reason":"overwritten"`); left != (c.want == nil) {
				t.Errorf("%s", &e.log)
			}
		})
	}
}

func TestAnyRangeMarksTheClaimOfItsObject(t *testing.T) {
	e := newEvents(t)
	o := unit.Object{Key: "a", Size: 100, ETag: "1"}
	var ranges []*unit.Unit
	for i := range int64(3) {
		ranges = append(ranges, &unit.Unit{
			Job: "j", Run: 1, Bucket: "b", Origin: unit.FromEvent, Objects: []unit.Object{o},
			Range: &unit.Range{Start: 30 * i, End: 30*i + 30, Delimiter: '\n'},
		})
	}
	e.enter(ranges...)
	e.puts("a", "1")
	e.must(nil, e.deliver(ranges[0]))
	e.puts("a", "2")
	e.must(nil, e.deliver(ranges[1]))
	e.puts("a", "1")
	if u := e.announce(o); u == nil || u.Objects[0].Take != 1 {
		t.Errorf("put again, it is taken as %+v", u)
	}
	// What is taken once more is no business of a range of before.
	e.puts("a", "2")
	e.must(nil, e.deliver(ranges[2]))
	e.wantState(ranges[2], ledger.Done)
	if e.claim(o).Overwritten {
		t.Error("a claim that is taken again is marked")
	}
}

func TestAKeyThatCannotBeLookedAt(t *testing.T) {
	look := func(t *testing.T, err error, times int) (*events, *unit.Unit) {
		e := newEvents(t)
		u := e.announce(object("a", "1"))
		e.puts("a", "2")
		e.step = func(c string, apply func() error) error {
			if c == "stat a" && times > 0 {
				times--
				return err
			}
			return apply()
		}
		_ = e.deliver(u)
		return e, u
	}
	t.Run("for a fault that passes is asked for again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e, u := look(t, failure.Errorf(failure.Transient, failure.RetriesExhausted, "503"), 2)
			e.wantState(u, ledger.Done)
			e.wantTodos("a 2 1")
		})
	})
	t.Run("fails its unit, which reads nothing again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e, u := look(t, failure.Errorf(failure.Transient, failure.RetriesExhausted, "503"), 6)
			e.wantState(u, ledger.Open)
			e.must(nil, e.deliver(u))
			e.wantState(u, ledger.Done)
			if got := strings.Join(e.read, " "); got != "a" {
				t.Errorf("read %s", got)
			}
		})
	})
	t.Run("because that is denied halts the job", func(t *testing.T) {
		e, u := look(t, failure.Errorf(failure.Job, failure.Denied, "403"), 100)
		m, err := e.ledger.Meta(t.Context(), "j")
		if i := e.item(u); err != nil || m.Halt == nil || e.fails != nil || i.Attempts != 0 || i.Last {
			t.Errorf("halt %+v, item %+v, failed with %v", m.Halt, i, e.fails)
		}
	})
}

// Trap 11: a key is put as A, then B, then A again. Whenever that happens, and
// whatever befalls the reader, the last A is read, or a unit is open that will.
func TestTrap11WhatIsPutAgainIsNotLost(t *testing.T) {
	for _, m := range append(modes(), mode{name: "nothing"}) {
		t.Run(m.name, func(t *testing.T) {
			for first := 1; ; first++ {
				reached := false
				for second := first; ; second++ {
					hit := false
					synctest.Test(t, func(t *testing.T) { reached, hit = putAgain(t, m, first, second) })
					if t.Failed() {
						t.Fatalf("B before call %d, A before call %d", first, second)
					}
					if !hit {
						break
					}
				}
				if !reached {
					return
				}
			}
		})
	}
}

// putAgain puts B before the reader's call first, and A before its call second,
// which meets a fault. It reports which of the two there were.
func putAgain(t *testing.T, m mode, first, second int) (b, a bool) {
	e := newEvents(t)
	e.puts("k", "A", "l", "1")
	units := []*unit.Unit{e.announce(object("k", "A"), object("l", "1"))}
	event := func(etag string) {
		e.puts("k", etag)
		if u := e.announce(object("k", etag)); u != nil {
			units = append(units, u)
		}
	}
	n, down := 0, false
	e.step = func(_ string, apply func() error) error {
		if down {
			return errAway
		}
		if n++; n == first {
			b = true
			event("B")
		}
		if n != second {
			return apply()
		}
		a = true
		event("A")
		if m.name == "nothing" {
			return apply()
		}
		down = m.crash
		if m.applied {
			if err := apply(); err != nil {
				return err
			}
		}
		return errAway
	}
	e.events(&units, func() { down = false })
	if a && !e.rows["k A"] {
		t.Errorf("the last A is not read: %v", e.rows)
	}
	if !e.rows["l 1"] {
		t.Errorf("the neighbour is not read: %v", e.rows)
	}
	return b, a
}

// events is what feed and schedule do until nothing is due any more.
func (e *events) events(units *[]*unit.Unit, next func()) {
	e.t.Helper()
	for range 30 {
		busy := false
		for _, u := range slices.Clone(*units) {
			if e.item(u).State == ledger.Open {
				busy = true
				next()
				e.receive[u.ID()] = 0
				_ = e.deliver(u)
			}
		}
		e.must(nil, e.ledger.Keys(e.t.Context(), "j", func(k ledger.KeyTodo) error {
			busy = true
			if u := e.announce(k.Object); u != nil {
				*units = append(*units, u)
			}
			return e.ledger.KeySent(e.t.Context(), "j", k)
		}))
		if !busy {
			return
		}
	}
	e.t.Fatalf("no end: %+v", e.todos())
}

func TestTheFingerprintOfAContinuousJob(t *testing.T) {
	fresh := func(t *testing.T) (*events, *int) {
		e := newEvents(t)
		e.must(e.ledger.Open(t.Context(), "other", ledger.Start{Token: "t"}))
		adopted := 0
		e.step = func(c string, apply func() error) error {
			if c == "adopt" {
				adopted++
			}
			return apply()
		}
		if _, err := e.ledger.Halt(t.Context(), "j", ledger.Halt{Reason: failure.Fingerprint}); err != nil {
			t.Fatal(err)
		}
		e.puts("a", "1", "b", "1")
		return e, &adopted
	}
	resume := func(e *events) {
		if _, err := e.ledger.Resume(e.t.Context(), "j", failure.Fingerprint); err != nil {
			e.t.Fatal(err)
		}
	}
	t.Run("is that of the first reader after a resume", func(t *testing.T) {
		e, adopted := fresh(t)
		resume(e)
		e.opt.ReadDigest, e.opt.Cache = "new", time.Minute
		e.reader = reader.New(e.ledger, e, e.opt)
		for _, o := range []unit.Object{object("a", "1"), object("b", "1")} {
			u := e.announce(o)
			e.must(nil, e.deliver(u))
			e.wantState(u, ledger.Done)
		}
		if *adopted != 1 { // it is remembered
			t.Errorf("adopted %d times", *adopted)
		}
		e.reader, e.opt.ReadDigest = nil, "newer"
		u := e.announce(object("c", "1"))
		e.must(nil, e.deliver(u))
		m, err := e.ledger.Meta(t.Context(), "j")
		if err != nil || m.Digests.Read != "new" || m.Halt == nil || m.Halt.Reason != failure.Fingerprint {
			t.Errorf("job %+v, %v", m, err)
		}
	})
	t.Run("is not given while the job is halted", func(t *testing.T) {
		e, adopted := fresh(t)
		resume(e)
		if _, err := e.ledger.Halt(t.Context(), "j", ledger.Halt{Reason: failure.Denied}); err != nil {
			t.Fatal(err)
		}
		u := e.announce(object("a", "1"))
		e.must(nil, e.deliver(u))
		e.wantState(u, ledger.Open)
		if *adopted != 0 {
			t.Error("adopted")
		}
	})
	t.Run("is given also where that it has none is read anew", func(t *testing.T) {
		e, _ := fresh(t)
		e.opt.Cache = time.Minute
		e.reader = reader.New(e.ledger, e, e.opt)
		first := e.announce(object("b", "1"))
		e.must(nil, e.deliver(first)) // and remembers the halt
		resume(e)
		e.must(nil, e.deliver(first))
		e.wantState(first, ledger.Done)
	})
	t.Run("that another gave meanwhile is compared", func(t *testing.T) {
		e, _ := fresh(t)
		resume(e)
		u := e.announce(object("a", "1"))
		e.step = func(c string, apply func() error) error {
			if c == "adopt" {
				e.must(e.ledger.Adopt(t.Context(), "j", 1, "first"))
			}
			return apply()
		}
		e.must(nil, e.deliver(u))
		m, err := e.ledger.Meta(t.Context(), "j")
		if err != nil || m.Halt == nil || m.Digests.Read != "first" || len(e.rows) > 0 {
			t.Errorf("job %+v, %v, rows %v", m, err, e.rows)
		}
	})
}
