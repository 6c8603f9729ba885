package sim_test

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
)

// scheduler lets one effect happen at a time. Whatever an actor does to what it
// shares with others, it first asks; the scheduler waits until nobody can go on
// without an answer, and answers one of them.
//
// What goes on between two effects may run in parallel and may wait for a
// random time (backoff has jitter), but it touches nothing that is shared. So
// all that the seed decides is decided at moments, and between choices, that are
// the same in every run of it.
type scheduler struct {
	rng   *rand.Rand
	stick float64 // how likely the actor that acted last goes on, if it can

	mu      sync.Mutex
	asks    []*ask // guarded by mu
	actors  int    // guarded by mu: so many were made
	alive   int    // guarded by mu: goroutines that have not ended
	arrived chan struct{}

	last   *actor
	steps  int
	record []entry
	broken []string // laws
}

// entry is a line of the trace.
type entry struct {
	at    time.Time
	actor string
	what  string
	fate  string
}

func (e entry) String() string {
	return fmt.Sprintf("%9.1fs  %-12s %s%s", e.at.Sub(epoch).Seconds(), e.actor, e.what, e.fate)
}

// epoch is when the clock of a bubble begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// fate is what becomes of an effect.
type fate struct {
	kind string
	roll float64 // decides what the effect leaves open
}

// ticked is what the trace does not show.
const ticked = "the schedule ticks"

const (
	applied     = ""
	notApplied  = " !not applied"
	answerLost  = " !answer lost"
	crashBefore = " !crashed before"
	crashAfter  = " !crashed after"
)

var (
	errCrashed = failure.New(failure.Job, failure.Config, errors.New("sim: the process is gone"))
	errFault   = failure.New(failure.Transient, failure.RetriesExhausted, errors.New("sim: a fault that passes"))
)

func newScheduler(seed uint64) *scheduler {
	return &scheduler{rng: rand.New(rand.NewPCG(seed, 0)), arrived: make(chan struct{}, 1)}
}

func (s *scheduler) wake() {
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

// move is what can be done next: an ask that is answered, or something that
// happens outside of all actors.
type move struct {
	ask  *ask
	what string
	make func()
}

// rules are what a scheduler serves.
type rules interface {
	// moves are what may happen now besides the asks, next is when there is more.
	moves() ([]move, time.Time)
	// fate decides on an ask: how it ends, or how long it takes and whether it
	// can be withdrawn meanwhile.
	fate(k *ask) (f fate, slow time.Duration, frozen bool)
	// stir is told of every effect, just before it.
	stir(a *actor, what string)
}

// run goes on until end, or until over says so between two effects.
func (s *scheduler) run(r rules, end time.Time, over func() bool) {
	for {
		synctest.Wait()
		s.handOver()
		select {
		case <-s.arrived:
		default:
		}
		if len(s.broken) > 0 || over() || !time.Now().Before(end) {
			return
		}
		outside, next := r.moves()
		if next.IsZero() || next.After(end) {
			next = end
		}
		ready, soon := s.ready(next)
		all := append(ready, outside...)
		if len(all) == 0 {
			t := time.NewTimer(time.Until(soon))
			select {
			case <-t.C:
			case <-s.arrived:
			}
			t.Stop()
			continue
		}
		s.make(r, all)
	}
}

// ready are the asks whose time has come, in an order of their own, and when the
// next one's comes.
func (s *scheduler) ready(next time.Time) ([]move, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var ready []move
	for _, k := range s.asks {
		if k.ready.After(now) {
			if k.ready.Before(next) {
				next = k.ready
			}
			continue
		}
		ready = append(ready, move{ask: k})
	}
	slices.SortFunc(ready, func(a, b move) int {
		return cmp.Or(cmp.Compare(a.ask.order, b.ask.order), cmp.Compare(a.ask.channel, b.ask.channel))
	})
	return ready, next
}

func (s *scheduler) make(r rules, all []move) {
	m := all[s.rng.IntN(len(all))]
	if s.stick > 0 && s.rng.Float64() < s.stick {
		if i := slices.IndexFunc(all, func(m move) bool { return m.ask != nil && m.ask.actor == s.last }); i >= 0 {
			m = all[i]
		}
	}
	s.steps++
	if m.ask == nil {
		s.last = nil
		s.note("", m.what, "")
		m.make()
		return
	}
	s.last = m.ask.actor
	s.serve(r, m.ask)
}

// serve decides on an ask and answers it.
func (s *scheduler) serve(r rules, k *ask) {
	var f fate
	if k.dead {
		f.kind = crashBefore
	} else if !k.drawn {
		var slow time.Duration
		var frozen bool
		f, slow, frozen = r.fate(k)
		if slow > 0 {
			s.delay(k, slow, frozen)
			return
		}
	}
	f.roll = s.rng.Float64()
	s.mu.Lock()
	s.asks = slices.DeleteFunc(s.asks, func(o *ask) bool { return o == k })
	a, was := k.actor, k.failed[k.channel]
	switch f.kind {
	case notApplied, answerLost:
		a.faults++
		a.failed[k.channel] = failed{at: time.Now(), streak: was.streak + 1, burst: max(0, was.burst-1)}
	case crashBefore, crashAfter:
		a.faults++
		a.dead = true
	default:
		delete(a.failed, k.channel)
	}
	dead := a.dead
	s.mu.Unlock()
	s.note(a.name, k.what, f.kind)
	if f.kind != notApplied && f.kind != crashBefore {
		r.stir(a, k.what)
	}
	k.answer <- f
	if dead {
		synctest.Wait() // the effect comes before what ends with the process
		s.reap(a)
		a.cancel()
	}
}

// delay lets an ask wait. With frozen its actor does, whole: what it is about to
// do is not taken back when its time is up.
func (s *scheduler) delay(k *ask, d time.Duration, frozen bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k.drawn, k.ready = true, time.Now().Add(d)
	what := fmt.Sprintf(" takes %v", d)
	if frozen {
		what = fmt.Sprintf(" !frozen for %v", d)
		k.faults++
		k.until = k.ready
		for _, o := range s.asks {
			if o.actor == k.actor {
				o.held, o.ready = true, k.ready
			}
		}
	}
	s.record = append(s.record, entry{time.Now(), k.name, k.what, what})
}

// frozen are the asks of actors that are, in an order of their own.
func (s *scheduler) frozen() []*ask {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*ask
	for _, k := range s.asks {
		if k.held && time.Now().Before(k.until) {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b *ask) int { return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.channel, b.channel)) })
	return all
}

// thaw lets a frozen actor go on.
func (s *scheduler) thaw(k *ask) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k.until = time.Now()
	for _, o := range s.asks {
		if o.actor == k.actor && o.held {
			o.ready = k.until
		}
	}
}

// reap answers what a dead actor asks.
func (s *scheduler) reap(a *actor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks = slices.DeleteFunc(s.asks, func(k *ask) bool {
		if k.actor == a {
			k.answer <- fate{kind: crashBefore}
		}
		return k.actor == a
	})
}

// stop ends all actors.
func (s *scheduler) stop() {
	for {
		s.mu.Lock()
		var all []*actor
		for _, k := range s.asks {
			k.dead = true
			all = append(all, k.actor)
		}
		alive := s.alive
		s.mu.Unlock()
		if alive == 0 {
			return
		}
		for _, a := range all {
			s.reap(a)
			a.cancel()
		}
		select {
		case <-s.arrived:
		case <-time.After(time.Second):
		}
		synctest.Wait()
	}
}

// note adds to the trace.
func (s *scheduler) note(actor, what, fate string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record = append(s.record, entry{time.Now(), actor, what, fate})
}

// law reports a breach.
func (s *scheduler) law(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := "LAW: " + fmt.Sprintf(format, args...)
	s.broken = append(s.broken, text)
	s.record = append(s.record, entry{time.Now(), "", text, ""})
}

// trace is what happened, without the looks at no job.
func (s *scheduler) trace() string {
	var b strings.Builder
	for _, e := range s.record {
		if e.fate == applied && (e.what == ticked || e.what == "Live") {
			continue
		}
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

// digest stands for the trace.
func (s *scheduler) digest() uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, s.trace())
	return h.Sum64()
}
