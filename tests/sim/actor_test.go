package sim_test

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// actor is one invocation, or one operator's command.
type actor struct {
	s     *scheduler
	name  string
	order int
	began time.Time

	// Written by the scheduler, or by the actor's own effects.
	dead   bool // crashed: nothing it does has an effect
	until  time.Time
	faults int // that it met
	failed map[string]failed
	cancel context.CancelFunc
	ended  bool // guarded by the scheduler's mu

	// What its effects noted of it.
	proofOnly bool
	probe     bool
	begun     *begun
	sawHalt   bool // at some time
	knowsHalt bool // when it last looked
	paused    bool
	finished  bool
}

// failed is the last error that an actor was given on a channel.
type failed struct {
	at     time.Time
	streak int
	burst  int // so many more follow
}

// ask is one effect that waits for its turn.
type ask struct {
	*actor
	channel string
	what    string
	ready   time.Time
	drawn   bool // its fate is decided on: it is slow
	held    bool // not to be withdrawn
	answer  chan fate
}

// spawn runs body as an actor of its own.
func (s *scheduler) spawn(name string, timeout time.Duration, body func(ctx context.Context, a *actor)) *actor {
	s.mu.Lock()
	s.actors++
	s.alive++
	a := &actor{s: s, name: fmt.Sprintf("%s-%d", name, s.actors), order: s.actors, began: time.Now(), failed: map[string]failed{}}
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	stop := func() bool { return true }
	if timeout > 0 {
		// No two deadlines meet, nor does one meet anything that is round.
		timeout += time.Duration(a.order)*time.Microsecond + 137
		ctx, cancel = context.WithTimeout(ctx, timeout)
		stop = time.AfterFunc(timeout+time.Second, func() { a.kill() }).Stop
	}
	go func() {
		defer func() {
			stop()
			cancel()
			a.cancel()
			s.mu.Lock()
			s.alive--
			a.ended = true
			s.mu.Unlock()
			s.wake()
		}()
		body(ctx, a)
	}()
	return a
}

// kill ends the actor, unless it is frozen.
func (a *actor) kill() {
	a.s.mu.Lock()
	frozen := time.Now().Before(a.until)
	if !frozen {
		a.dead = true
		a.faults++
	}
	a.s.mu.Unlock()
	if !frozen {
		a.cancel()
	}
}

// do is one effect. The channel tells the things apart that an actor does at the
// same time, of which it never has two on one channel.
func (a *actor) do(ctx context.Context, channel, what string, apply func(ctx context.Context, roll float64) error) error {
	k, err := a.ask(ctx, channel, what)
	if err != nil {
		return err
	}
	var f fate
	select {
	case f = <-k.answer:
	case <-ctx.Done():
		if a.s.withdraw(k) {
			return ctx.Err()
		}
		f = <-k.answer
	}
	ctx = context.WithoutCancel(ctx) // the request is on its way
	switch f.kind {
	case notApplied:
		return errFault
	case crashBefore:
		return errCrashed
	}
	err = apply(ctx, f.roll)
	a.s.handOver()
	switch f.kind {
	case answerLost:
		return errFault
	case crashAfter:
		return errCrashed
	}
	return err
}

// handOver has what an effect wrote happen before what the scheduler does next:
// both call it in between.
func (s *scheduler) handOver() {
	s.mu.Lock()
	defer s.mu.Unlock()
}

func (a *actor) ask(ctx context.Context, channel, what string) (*ask, error) {
	s := a.s
	s.mu.Lock()
	defer s.wake()
	defer s.mu.Unlock()
	switch {
	case a.dead:
		return nil, errCrashed
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case slices.ContainsFunc(s.asks, func(k *ask) bool { return k.actor == a && k.channel == channel }):
		s.broken = append(s.broken, fmt.Sprintf("simulation: %s asks twice on %s", a.name, channel))
	}
	now := time.Now()
	k := &ask{actor: a, channel: channel, what: what, ready: now, answer: make(chan fate, 1)}
	// After an error the actor has waited for a time of chance, between half of
	// a bound that doubles and the bound: it acts at the bound.
	if f, ok := a.failed[channel]; ok && f.streak > 0 {
		k.ready = f.at.Add(upTo(now.Sub(f.at), 100*time.Millisecond))
	}
	if k.ready.Before(a.until) {
		k.ready, k.held = a.until, true
	}
	s.asks = append(s.asks, k)
	return k, nil
}

// upTo rounds d up to base or a doubling of it.
func upTo(d, base time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	for base < d {
		base *= 2
	}
	return base
}

func (s *scheduler) withdraw(k *ask) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.asks, k)
	if k.held || i < 0 {
		return false
	}
	if k.drawn { // it took too long
		k.faults++
	}
	s.asks = slices.Delete(s.asks, i, i+1)
	return true
}
