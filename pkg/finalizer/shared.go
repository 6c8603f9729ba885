package finalizer

import (
	"context"
	"log/slog"
	"time"

	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
)

// Reports is where reports are kept. A Put may be repeated, and then takes the
// place of what was there.
type Reports interface {
	Put(ctx context.Context, name string, body []byte) error
}

// Options tune a Shared. The zero value works on jobs, but tells nobody.
type Options struct {
	// List starts a lister that goes on with the run's listing, and does not
	// wait for it. It may be called for a run that a lister is at work on: the
	// lease decides. nil: a listing that broke off stays so.
	List func(ctx context.Context, job string, run int) error
	// Take claims objects of a continuous job and sends what holds them, as if
	// events had announced them just now. What of them is claimed already needs
	// nothing, so it may be called again with the same: ledger.MaxClaims at most. It
	// says of each object why it has to come again, failure.Member where there is no
	// such version any more; the other error is one of all. nil: keys that are to be
	// looked at again stay so.
	Take func(ctx context.Context, meta ledger.Meta, objects []unit.Object) ([]error, error)
	// Reports keeps the reports, under report.Key, and the marker of completed
	// runs. nil: none is kept.
	Reports Reports
	// Announce tells who waits that a run ended. The report has all names that
	// it has room for: an event takes its Brief. It may be called again for the
	// same run and generation, and must then succeed where nobody waits any
	// more: the job stays live until it does. nil: nobody is told.
	Announce func(ctx context.Context, r *report.Report) error
	// Empty reports whether the feed has nothing to deliver. It is a hint that
	// only delays: while it says false, a job that nobody works on is waiting
	// for its turn, and not settled. nil: no hint.
	Empty func(ctx context.Context) (bool, error)

	Window    time.Duration // that nobody works on a run until it is settled; 0 means 10 min
	Retention time.Duration // of the feed: how long Empty may delay; 0 means 4 days
	// Resends is how often what is open is sent again when nobody works on it; 0
	// means 3, and less than 0 never.
	Resends int
	Jobs    int          // looked at at once; 0 means 16
	Log     *slog.Logger // nil: nothing is logged
}

func (o Options) withDefaults() Options {
	if o.Window == 0 {
		o.Window = 10 * time.Minute
	}
	if o.Retention == 0 {
		o.Retention = 4 * 24 * time.Hour
	}
	if o.Resends == 0 {
		o.Resends = 3
	}
	if o.Jobs == 0 {
		o.Jobs = 16
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Shared ends jobs that outlive their feed. It has two entries, which may be
// called concurrently, with each other too, by any number of processes: readers
// and listers call Triggered when their counters say that a run is at its end,
// the schedule calls Tick each minute. It keeps nothing between calls.
type Shared struct {
	ledger Ledger
	feed   feed.Sender
	opt    Options
}

// Ledger is what the schedule works on, listed jobs and continuous ones.
type Ledger interface {
	ledger.Dispatcher
	ledger.Minder
}

// NewShared returns a finalizer of the jobs in l, whose units go out by f.
func NewShared(l Ledger, f feed.Sender, o Options) *Shared {
	return &Shared{ledger: l, feed: f, opt: o.withDefaults()}
}

// Triggered ends the job if its counters agree and its items bear them out. It
// never sends, for it is called by what the feed delivers (INV-8).
//
// An ended job is left alone: whoever ended it is reporting it, and if that one
// crashed, the next tick does. Only a cancelled one is reported here: who cancels
// writes no report, and calls for it. A continuous one ends by that alone.
func (s *Shared) Triggered(ctx context.Context, job string) error {
	meta, err := read(ctx, s.ledger, job)
	switch {
	case err != nil:
		return err
	case meta.State == ledger.Cancelled:
		return s.finish(ctx, job)
	case meta.State.Ended(), meta.Continuous:
		return nil
	}
	p, err := s.progress(ctx, meta)
	if err != nil || !p.Settled() {
		return err
	}
	ended, err := prove(ctx, s.ledger, meta, false)
	if err != nil || !ended {
		return err
	}
	return s.finish(ctx, job)
}
