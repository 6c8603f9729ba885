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

// Reports stores reports. A Put may be repeated, and replaces what was there.
type Reports interface {
	Put(ctx context.Context, name string, body []byte) error
}

// Options tune a Shared. The zero value works on jobs, but notifies nobody.
type Options struct {
	// List starts a lister that continues the run's listing, and does not wait
	// for it. It may be called for a run that a lister is working on: the lease
	// decides. nil: a listing that broke off stays so.
	List func(ctx context.Context, job string, run int) error
	// Take claims objects of a continuous job and sends the units that hold
	// them, as if events had announced them just now. It is given
	// ledger.MaxClaims objects at most, and may be called again with the same
	// ones, because an object that is claimed already needs nothing. It returns
	// for each object why it has to come again, nil if it has not;
	// failure.Member if there is no such version any more. The other error is
	// about all of them. nil: keys that are to be looked at again stay so.
	Take func(ctx context.Context, meta ledger.Meta, objects []unit.Object) ([]error, error)
	// Reports stores the reports, under report.Key, and the marker of completed
	// runs. nil: none is stored.
	Reports Reports
	// Announce tells whoever waits that a run ended. The report names as many
	// units as it has room for: an event takes its Brief. Announce may be
	// called again for the same run and generation, and must then succeed even
	// if nobody waits any more: the job stays live until it does. nil: nobody
	// is told.
	Announce func(ctx context.Context, r *report.Report) error
	// Empty reports whether the feed has nothing to deliver. It is a hint that
	// only delays: while it is false, a job that nobody works on may be waiting
	// for its turn, and is not settled. nil: no hint.
	Empty func(ctx context.Context) (bool, error)

	Window    time.Duration // how long nobody works on a run before it is settled; 0 means 10 min
	Retention time.Duration // of the feed: how long Empty may delay; 0 means 4 days
	// Resends is how often open units are sent again when nobody works on them; 0
	// means 3, and less than 0 never.
	Resends int
	Jobs    int          // looked at at a time; 0 means 16
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

// Shared ends jobs that outlive their feed. It has two entry points, which any
// number of processes may call at the same time: readers and listers call
// Triggered when their counters say that a run is at its end, the schedule
// calls Tick each minute. It keeps nothing between calls.
type Shared struct {
	ledger Ledger
	feed   feed.Sender
	opt    Options
}

// Ledger is what the schedule works on: listed jobs and continuous ones.
type Ledger interface {
	ledger.Dispatcher
	ledger.Minder
}

// NewShared returns a finalizer of the jobs in l, whose units it sends to f.
func NewShared(l Ledger, f feed.Sender, o Options) *Shared {
	return &Shared{ledger: l, feed: f, opt: o.withDefaults()}
}

// Triggered ends the job if its counters add up and its items bear them out. It
// never sends, because what the feed delivers calls it (INV-8).
//
// An ended job is left alone: whoever ended it is reporting it and, if that one
// crashed, the next tick does. Only a cancelled job is reported here, because
// cancelling writes no report and calls this instead. That is the only end of a
// continuous job.
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
