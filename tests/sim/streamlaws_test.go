package sim_test

import (
	"context"
	"slices"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// member is an object in a unit.
type member struct {
	unit unit.ID
	etag string
}

// flows is what laws know of a continuous job.
type flows struct {
	marked map[member]bool // members found overwritten
	marks  int
	deaths int
}

// entered: each take of a version goes into one unit.
func (l *laws) entered(a *actor, e ledger.Entry) {
	for _, u := range e.Units {
		d, err := unit.Decode(u.Body)
		if err != nil || d.ID() != u.ID {
			l.w.law("unit %s does not decode: %v", u.ID, err)
			continue
		}
		if _, known := l.units[e.Run][u.ID]; known {
			continue
		}
		for id, other := range l.units[e.Run] {
			for _, o := range d.Objects {
				if slices.ContainsFunc(other.Objects, func(p unit.Object) bool { return p.ETag == o.ETag && p.Take == o.Take }) {
					l.w.law("%s puts %s into unit %s, and it is in %s", a.name, o.ETag, short(u.ID), short(id))
				}
				if o.Take > 0 && !l.takenBefore(o) {
					l.w.law("%s takes %s for the %d. time, and the one before was not overwritten", a.name, o.ETag, o.Take+1)
				}
			}
		}
		l.units[e.Run][u.ID] = d
	}
}

// takenBefore reports whether the take before o's was found overwritten.
func (l *laws) takenBefore(o unit.Object) bool {
	for id, u := range l.units[1] {
		for _, p := range u.Objects {
			if p.ETag == o.ETag && p.Take == o.Take-1 {
				return l.marked[member{id, o.ETag}]
			}
		}
	}
	return false
}

func (l *laws) overwritten(r ledger.Ref, o unit.Object) {
	if !l.marked[member{r.ID, o.ETag}] {
		l.marks++
	}
	l.marked[member{r.ID, o.ETag}] = true
	if s, is := l.w.store, l.w.store.current[o.Key]; is == s.all[o.ETag] && !l.of(r.ID).spoilt {
		l.w.law("%s is marked overwritten, and never was", o.ETag)
	}
}

// repeated: only what the queue lost, or what somebody broke off, is sent again,
// a few times.
func (l *laws) repeated(r ledger.Ref, i ledger.Item) {
	if i.Repeats >= resends {
		l.w.law("unit %s is sent again for the %d. time", short(r.ID), i.Repeats+1)
	}
	if i.Last && time.Since(i.Touched) >= window {
		l.w.law("unit %s is sent again after its last delivery", short(r.ID))
	}
	if l.w.meta().Ask != l.w.meta().Swept && !l.w.on("freeze") && !l.w.on("slow") && !l.w.on("second tick") {
		l.w.law("unit %s is sent again while a send is due", short(r.ID))
	}
}

// tookIn: what was announced is in a unit.
func (l *laws) tookIn(n *notice) {
	if _, err := l.w.ledger.Claimed(context.Background(), job, n.ID()); err != nil {
		l.w.law("the notice of %s is acked: %v", n.ETag, err)
	}
}

// gaveUp: a unit of a continuous job is dead at its last delivery, or missing
// after all its re-sends.
func (l *laws) gaveUp(r ledger.Ref, i ledger.Item, c ledger.Cause) {
	l.deaths++
	switch {
	case c.Reason == failure.Missing && i.Repeats < resends:
		l.w.law("unit %s is missing after %d re-sends", short(r.ID), i.Repeats)
	case c.Reason == failure.Missing && !l.w.on("purge") && !l.w.on("expire") && !l.w.on("blind") && !l.w.on("off"):
		l.w.law("unit %s is missing, and the queue lost nothing", short(r.ID))
	}
}

func (l *laws) someDead() bool {
	for _, i := range l.w.unfinished(1) {
		if i.State == ledger.Dead {
			return true
		}
	}
	return false
}

// streamed is what holds in the end, when all is well again and nothing is due.
func (l *laws) streamed() {
	if len(l.w.broken) > 0 {
		return
	}
	for _, i := range l.w.unfinished(1) {
		gone := i.State == ledger.Dead && i.Cause.Reason == failure.NotFound
		for _, o := range l.units[1][i.ID].Objects {
			v := l.w.store.current[o.Key]
			named := i.Cause != nil && slices.ContainsFunc(i.Cause.Objects, func(b unit.Object) bool { return b.Key == o.Key })
			gone = gone && (!named || v == nil)
		}
		if !gone {
			l.w.law("unit %s is %s in the end: %+v", short(i.ID), i.State, i.Cause)
		}
	}
	for key, v := range l.w.store.current {
		if !l.whole(v) {
			l.w.law("%s is current under %s, and not in the sink", v.ETag, key)
		}
	}
	for _, v := range l.w.store.all {
		l.once(v)
	}
}

// whole reports whether some unit delivered every row of v.
func (l *laws) whole(v *version) bool {
	for id := range l.units[1] {
		all := true
		for n := range v.records {
			all = all && (!kept(n) || l.w.sink.rows[id][row(v.ETag, n)] > 0)
		}
		if all {
			return true
		}
	}
	return false
}

// once: a version that no unit found overwritten has each row in the sink once.
func (l *laws) once(v *version) {
	spoilt := l.w.on("forgetful sink")
	for id, u := range l.units[1] {
		if slices.ContainsFunc(u.Objects, func(o unit.Object) bool { return o.ETag == v.ETag }) {
			spoilt = spoilt || l.of(id).spoilt || l.marked[member{id, v.ETag}]
		}
	}
	if spoilt {
		return
	}
	for n := range v.records {
		got := 0
		for _, rows := range l.w.sink.rows {
			got += rows[row(v.ETag, n)]
		}
		if kept(n) && got > 1 {
			l.w.law("%s is in the sink %d times", row(v.ETag, n), got)
		}
	}
}
