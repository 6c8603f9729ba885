package sim_test

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
)

// laws watch every effect. They know what was done, and of the protocol only
// what it promises.
type laws struct {
	w *world

	units      map[int]map[unit.ID]*unit.Unit // of each run, as published
	changed    map[string]time.Time           // keys, when last
	began      map[int]time.Time              // runs
	holder     string                         // of the lease
	state      map[unit.ID]*unitState
	haltAt     time.Time // zero: not halted in this run
	haltedAt   time.Time // last
	ends       map[[2]int]report.State
	afterwards int         // units that were done after the job's end
	late       map[int]int // dead units that were done after all, of each run
	// resends are those since the run began or was redriven.
	resends, allResends int
	resentAt            time.Time
	restful             bool // since when nothing new may be sent

	verdicts []ledger.State // after the storm
	flows
}

// unitState is what befell a unit, over all runs.
type unitState struct {
	done    bool
	dead    bool
	lost    bool // a message of it
	spoilt  bool // a member was found bad: its segments may differ
	begins  int  // starts that counted since the last progress
	last    bool
	workers []*actor
}

// begun is a start of work.
type begun struct {
	ref    ledger.Ref
	serial int  // -1: there was nothing to begin
	before int  // attempts
	wasted bool // the unit was done already
}

func newLaws(w *world) *laws {
	return &laws{
		w: w, units: map[int]map[unit.ID]*unit.Unit{}, changed: map[string]time.Time{}, began: map[int]time.Time{},
		flows: flows{marked: map[member]bool{}}, late: map[int]int{}, state: map[unit.ID]*unitState{}, ends: map[[2]int]report.State{},
	}
}

func (l *laws) of(id unit.ID) *unitState {
	s := l.state[id]
	if s == nil {
		s = &unitState{}
		l.state[id] = s
	}
	return s
}

func (l *laws) started(m ledger.Meta) {
	if _, again := l.began[m.Run]; !again {
		l.began[m.Run] = time.Now()
		l.units[m.Run] = map[unit.ID]*unit.Unit{}
		l.haltAt, l.afterwards, l.resends, l.resentAt = time.Time{}, 0, 0, time.Time{}
	}
}

// leased: who takes the lease last is the only one to publish.
func (l *laws) leased(c ledger.Lease) { l.holder = c.Holder }

// published: what is done is not sent, and a page that was entered stays.
func (l *laws) published(c ledger.Lease, p ledger.Page, due []unit.ID) {
	if c.Holder != l.holder {
		l.w.law("a page is published by who has lost the lease")
	}
	for _, u := range p.Units {
		d, err := unit.Decode(u.Body)
		if err != nil || d.ID() != u.ID {
			l.w.law("unit %s does not decode: %v", u.ID, err)
			continue
		}
		if _, known := l.units[c.Run][u.ID]; !known {
			l.units[c.Run][u.ID] = d
			s := l.of(u.ID)
			s.begins, s.last, s.dead, s.lost = 0, false, false, false
		}
	}
	for _, id := range due {
		if l.of(id).done {
			l.w.law("unit %s is done, and due", short(id))
		}
	}
}

// listed: the end marker counts exactly the units of the run, and they hold
// every object that was there all the time, once.
func (l *laws) listed(c ledger.Lease) {
	m := l.w.meta()
	if m.Run != c.Run {
		return
	}
	census, err := l.w.ledger.Prove(context.Background(), job, m.Run)
	if n := census.Done + census.Dead + census.Open; err != nil || n != m.Planned || n != len(l.units[m.Run]) {
		l.w.law("the end marker says %d, the ledger holds %d, %d were published", m.Planned, n, len(l.units[m.Run]))
	}
	in := map[string][]string{}
	for _, u := range l.units[m.Run] {
		for _, o := range u.Objects {
			in[o.Key] = append(in[o.Key], o.ETag)
		}
	}
	for key, v := range l.w.store.current {
		if l.changed[key].Before(l.began[m.Run]) && !slices.Equal(in[key], []string{v.ETag}) {
			l.w.law("%s was there all the time; units have %q", v.ETag, in[key])
		}
	}
}

func (l *laws) saw(a *actor, m ledger.Meta) {
	a.sawHalt = a.sawHalt || m.Halt != nil
	a.knowsHalt = m.Halt != nil
}

func (l *laws) halted(a *actor, won bool) {
	a.sawHalt, a.knowsHalt = true, true
	if won {
		l.haltedAt = time.Now()
		l.w.eager("resume")
	}
	if won && l.haltAt.IsZero() {
		l.haltAt = time.Now()
	}
}

func (l *laws) begun(a *actor, r ledger.Ref, was, i ledger.Item, receives int) {
	s := l.of(r.ID)
	if was.State == ledger.Open && was.Serial != i.Serial && r.Run < l.w.meta().Run {
		l.w.law("%s begins %s, of a run that is over", a.name, short(r.ID))
	}
	a.begun = &begun{ref: r, serial: -1, wasted: s.done}
	s.workers = append(s.workers, a)
	if i.State == ledger.Open && i.Run == r.Run {
		if a.knowsHalt && !a.probe {
			l.w.law("%s begins %s of a job that it knows to be halted", a.name, short(r.ID))
		}
		a.begun.serial, a.begun.before = i.Serial, i.Attempts-1
		s.begins++
		s.last = receives >= limit || s.begins >= limit
	}
}

// read: nothing is read again that is done.
func (l *laws) read(a *actor, o unit.Object) {
	switch b := a.begun; {
	case b == nil, b.serial < 0 && !b.wasted:
		l.w.law("%s reads %s, and has not begun it", a.name, o.ETag)
	case b.wasted:
		l.w.law("%s reads %s, which is done", a.name, o.ETag)
	}
}

func (l *laws) spoilt(o unit.Object) {
	for _, units := range l.units {
		for id, u := range units {
			if slices.Contains(u.Objects, o) {
				l.of(id).spoilt = true
			}
		}
	}
}

func (l *laws) paused(a *actor, r ledger.Ref) {
	a.paused = true
	l.of(r.ID).begins, l.of(r.ID).last = 0, false
}

func (l *laws) gaveBack(r ledger.Ref, attempts int) {
	s := l.of(r.ID)
	s.begins, s.last = max(0, s.begins-attempts), false
}

func (l *laws) redriven() {
	l.asked()
	l.afterwards, l.resends, l.resentAt = 0, 0, time.Time{}
	for _, s := range l.state {
		if s.dead {
			s.begins, s.last, s.dead = 0, false, false
		}
	}
}

// done: only when the sink has every row (INV-1), and each once if the sink
// knows what it has seen.
func (l *laws) done(a *actor, r ledger.Ref) {
	a.finished = true
	s := l.of(r.ID)
	m := l.w.meta()
	if !s.done && m.State.Ended() {
		l.afterwards++
	}
	if s.dead && !s.done { // in whatever run it was given up
		l.late[m.Run]++
	}
	s.done, s.dead = true, false
	u := l.unit(r)
	if u == nil {
		l.w.law("unit %s is done, and was never published", r.ID)
		return
	}
	l.delivered(r.ID, u)
}

func (l *laws) unit(r ledger.Ref) *unit.Unit {
	for _, units := range l.units {
		if u := units[r.ID]; u != nil {
			return u
		}
	}
	return nil
}

func (l *laws) delivered(id unit.ID, u *unit.Unit) {
	have, want := l.w.sink.rows[id], 0
	for _, o := range u.Objects {
		marked := l.marked[member{id, o.ETag}]
		for n := range l.w.store.all[o.ETag].records {
			if !kept(n) {
				continue
			}
			if marked && have[row(o.ETag, n)] == 0 {
				continue
			}
			want++
			got := have[row(o.ETag, n)]
			if got == 0 {
				l.w.law("unit %s is done, and %s is not in the sink", short(id), row(o.ETag, n))
			}
			if got > 1 && !l.w.on("forgetful sink") && !l.of(id).spoilt {
				l.w.law("unit %s: %s is in the sink %d times", short(id), row(o.ETag, n), got)
			}
		}
	}
	if len(have) != want {
		l.w.law("unit %s: the sink has %d rows of %d", short(id), len(have), want)
	}
}

// died: at the last delivery only, crashed only when something broke, and not
// while the job is halted.
func (l *laws) died(a *actor, r ledger.Ref, i ledger.Item, c ledger.Cause) {
	s := l.of(r.ID)
	if l.w.inbox != nil {
		l.gaveUp(r, i, c)
	}
	if c.Reason != failure.Missing && (!i.Last || !s.last) {
		l.w.law("unit %s is dead before its last delivery: %s", short(r.ID), c.Reason)
	}
	broke := slices.ContainsFunc(s.workers, func(a *actor) bool { return a.faults > 0 })
	if c.Reason == failure.Crashed && !broke {
		l.w.law("unit %s is dead as crashed, and nothing crashed", short(r.ID))
	}
	if c.Reason == failure.Crashed && !l.w.meta().Listed && l.w.inbox == nil {
		l.w.law("unit %s is given up before the run is listed", short(r.ID))
	}
	if m := l.w.meta(); m.Halt != nil && c.Reason == failure.Crashed && !l.haltAt.IsZero() && l.haltAt.Before(a.began) {
		l.w.law("unit %s is given up while the job is halted", short(r.ID))
	}
	s.dead = true
	l.w.eager("redrive")
	l.named(r, i, c)
}

// named: the objects of the cause hold all that is not in the sink.
func (l *laws) named(r ledger.Ref, i ledger.Item, c ledger.Cause) {
	u := l.unit(r)
	if u == nil {
		l.w.law("unit %s is dead, and was never published", r.ID)
		return
	}
	for _, o := range u.Objects {
		if l.marked[member{r.ID, o.ETag}] {
			continue // its key is looked at again
		}
		if slices.ContainsFunc(c.Objects, func(b unit.Object) bool { return b.Key == o.Key }) {
			continue
		}
		for n := range l.w.store.all[o.ETag].records {
			if kept(n) && l.w.sink.rows[r.ID][row(o.ETag, n)] == 0 {
				l.w.law("unit %s is dead without naming %s, of which the sink lacks record %d", short(r.ID), o.ETag, n)
				break
			}
		}
	}
}

// resumed: a halt is cleared for its own reason alone.
func (l *laws) resumed(h *ledger.Halt, r failure.Reason) {
	if h.Reason != r {
		l.w.law("the halt for %s is cleared as if it were for %s", h.Reason, r)
	}
	l.asked()
}

// received: of a halted job none is delivered again and again.
func (l *laws) received(m *message) {
	if l.w.quiet && !m.Probe && l.w.meta().Halt != nil {
		if m.halted++; m.halted > 2 {
			l.w.law("%v is received for the %d. time while the job is halted", m, m.halted)
		}
	}
}

// acked: the unit is done, or something says what is due (INV-7).
func (l *laws) acked(a *actor, m *message) {
	meta := l.w.meta()
	u, err := unit.Decode(m.Body)
	if err != nil {
		l.w.law("a message does not decode: %v", err)
		return
	}
	s := l.of(m.ID)
	if !s.done && !a.paused && !a.sawHalt && meta.Run == u.Run && meta.State != ledger.Completed && meta.State != ledger.Cancelled {
		l.w.law("%s acks %v: its unit is open, and nothing says that it is due", a.name, m)
	}
	if h := meta.Halt; a.finished && m.Probe && h != nil && h.Reason == failure.SinkDown && l.haltedAt.Before(a.began) {
		l.w.law("%s is done as a probe, and the sink is still said to be down", a.name)
	}
	if b := a.begun; b != nil && a.sawHalt && !a.paused && !s.done {
		if i := l.w.item(b.ref); i.State == ledger.Open && i.Serial == b.serial && (i.Last || i.Attempts > b.before) {
			l.w.law("unit %s: the halt took an attempt: %+v", short(m.ID), i)
		}
	}
}

// sends: what a trigger called sends nothing (INV-8), and of an ended job
// nothing is sent.
func (l *laws) sends(a *actor, m feed.Message) {
	if a.proofOnly {
		l.w.law("%s sends", a.name)
	}
	if u, err := unit.Decode(m.Body); err != nil || l.units[u.Run][m.ID] == nil { // INV-7
		l.w.law("unit %s is sent, and not in the ledger", short(m.ID))
	}
	if l.restful {
		l.w.law("%s sends %s, long after all came to rest", a.name, short(m.ID))
	}
}

// asked: every open unit is to be sent, so none is excused any more.
func (l *laws) asked() {
	for _, s := range l.state {
		s.lost = false
	}
}

// resent: at most once a window, and only because of what the queue lost. A unit
// that is open although no message, no reader, no todo and no request to send it
// is left of it was forgotten.
func (l *laws) resent(m ledger.Meta) {
	// A look that writes late what it saw may shorten the window.
	if late := l.w.on("freeze") || l.w.on("slow"); !late && !l.resentAt.IsZero() && time.Since(l.resentAt) < window {
		l.w.law("sent again twice within a window")
	}
	l.resentAt = time.Now()
	l.resends++
	l.allResends++
	if l.resends > resends {
		l.w.law("sent again for the %d. time", l.resends)
	}
	if m.Ask != m.Swept {
		l.w.law("sent again while a send is due")
	}
	todo := map[unit.ID]bool{}
	_ = l.w.ledger.Due(context.Background(), job, m.Run, func(t ledger.Todo) error { todo[t.ID] = true; return nil })
	for _, i := range l.w.unfinished(m.Run) {
		s := l.of(i.ID)
		if i.State == ledger.Open && !s.lost && !todo[i.ID] && !s.busy() &&
			!slices.ContainsFunc(l.w.queue.messages, func(m *message) bool { return m.ID == i.ID }) {
			l.w.law("unit %s is open, and was forgotten", short(i.ID))
		}
	}
	l.asked()
}

func (s *unitState) busy() bool {
	return slices.ContainsFunc(s.workers, func(a *actor) bool { return !a.gone() })
}

func (l *laws) concluded(m ledger.Meta, s ledger.State) {
	if s == ledger.Failed {
		l.w.eager("redrive")
		c, err := l.w.ledger.Prove(context.Background(), job, m.Run)
		if err != nil || c.Dead+c.Open == 0 || c.Open > 0 && l.resends < resends {
			l.w.law("failed with %d units open and %d dead, after %d re-sends", c.Open, c.Dead, l.resends)
		}
	}
	l.w.eager("again")
	if s != ledger.Completed {
		return
	}
	for id, u := range l.units[m.Run] {
		if !l.of(id).done {
			l.w.law("completed, and unit %s is not done", short(id))
			continue
		}
		l.delivered(id, u)
	}
}

func (l *laws) announced(r *report.Report) {
	if _, ok := l.w.reports[report.Key(r.Job, r.Run, r.Generation)]; !ok {
		l.w.law("run %d.%d is announced before it is reported", r.Run, r.Generation)
	}
	l.ends[[2]int{r.Run, r.Generation}] = r.State
}

// put: a report of one verdict never takes another's place.
func (l *laws) put(name string, body []byte) {
	old, ok := l.w.reports[name]
	if !ok || len(body) == 0 {
		return
	}
	var was, is report.Report
	if json.Unmarshal(old, &was) != nil || json.Unmarshal(body, &is) != nil || was.State != is.State {
		l.w.law("%s said %s and says %s", name, was.State, is.State)
	}
}

func (l *laws) retired(run, generation int) {
	if l.ends[[2]int{run, generation}] == "" {
		l.w.law("run %d.%d is retired before its end is announced", run, generation)
	}
}
