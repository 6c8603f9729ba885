package function

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/lister"
)

// listing is the lister function.
type listing struct {
	setup
	ledger  ledger.Shared
	sender  feed.Sender
	reports string // where the finalizer puts them; "": not known
	// finalize asks for a proof; halted tells of a halt.
	finalize func(ctx context.Context, job string) error
	halted   func(ctx context.Context, job string, run int, h ledger.Halt) error
}

func newLister(ctx context.Context, s setup) (func(context.Context, control.ListRequest) (control.ListAnswer, error), error) {
	services, jobs, f, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	l := listing{setup: s, ledger: jobs, sender: f, halted: services.halted, reports: s.env.get(envReports)}
	if l.finalize, err = services.finalize(); err != nil {
		return nil, err
	}
	return l.handle, nil
}

func (l *listing) handle(ctx context.Context, r control.ListRequest) (control.ListAnswer, error) {
	// Only of a start that names itself: an event of something else starts none.
	if r.Job == "" && r.Run == 0 && r.Token != "" {
		r.Job = l.config.Job.Name
	}
	if err := ledger.CheckName(r.Job); err != nil {
		return control.ListAnswer{}, err
	}
	var (
		meta ledger.Meta
		err  error
	)
	if r.Run == 0 {
		meta, err = l.start(ctx, r)
	} else {
		meta, err = l.ledger.Meta(ctx, r.Job)
	}
	if err != nil {
		return control.ListAnswer{}, err
	}
	if moved := r.Run != 0 && r.Run != meta.Run; !moved && !r.Detach && lists(meta) {
		if err := l.list(ctx, meta); err != nil {
			return control.ListAnswer{}, err
		}
		if meta, err = l.ledger.Meta(ctx, r.Job); err != nil {
			return control.ListAnswer{}, err
		}
	}
	return control.ListAnswer{Job: r.Job, Run: meta.Run, State: meta.State}, nil
}

// lists reports whether the run is to be listed. Of a halt only that for a sink
// that is down lets it: it is cleared by units, and those may be yet to be listed.
func lists(m ledger.Meta) bool {
	return m.State == ledger.Listing && (m.Halt == nil || m.Halt.SinkDown())
}

// start begins the job, or its next run, over what r selects.
func (l *listing) start(ctx context.Context, r control.ListRequest) (ledger.Meta, error) {
	source, err := app.OpenListing(ctx, l.config, l.pipeline, r.Selection)
	if err != nil {
		return ledger.Meta{}, err
	}
	if l.reports != "" {
		if err := source.Outside(l.reports); err != nil {
			return ledger.Meta{}, fmt.Errorf("start job %s: its report: %w", r.Job, err)
		}
	}
	selected, err := json.Marshal(r.Selection)
	if err != nil {
		return ledger.Meta{}, fmt.Errorf("start job %s: %w", r.Job, err)
	}
	if len(selected) > ledger.MaxSource {
		return ledger.Meta{}, fmt.Errorf("start job %s: its source takes %d bytes, of at most %d: shorten include and exclude, or put them in the pipeline file", r.Job, len(selected), ledger.MaxSource)
	}
	s := ledger.Start{Token: r.Token, Digests: source.Digests, Source: string(selected), Callback: r.TaskToken}
	if s.Token == "" {
		s.Token = invocation(ctx) // the platform repeats an event under its id
	}
	if err := l.reported(ctx, r.Job); err != nil {
		return ledger.Meta{}, fmt.Errorf("start job %s: %w", r.Job, err)
	}
	meta, err := ledger.Ask(ctx, func() (ledger.Meta, error) { return l.ledger.Start(ctx, r.Job, s) })
	if errors.Is(err, ledger.ErrActive) {
		err = fmt.Errorf("%w: wait until it has ended, or end it with spate job cancel %s", err, r.Job)
	}
	return meta, err
}

// reporting is how long a start waits for the report of the run before it, which
// takes a finalizer a second.
const reporting = 10 * time.Second

// reported waits until the job's last run, if it ended, was reported: a run that
// begins before takes the report's place.
func (l *listing) reported(ctx context.Context, job string) error {
	for began := time.Now(); ; {
		var (
			meta ledger.Meta
			live []string
		)
		err := ledger.Retry(ctx, func() (err error) {
			if meta, err = l.ledger.Meta(ctx, job); err == nil && meta.State.Ended() {
				live, err = l.ledger.Live(ctx)
			}
			return err
		})
		if errors.Is(err, ledger.ErrNoJob) {
			return nil
		}
		if err != nil || !slices.Contains(live, job) {
			return err
		}
		if time.Since(began) > reporting {
			return fmt.Errorf("run %d is %s and not reported yet: start again in a minute, and if that does not help look at the finalizer's log", meta.Run, meta.State)
		}
		if err := backoff.Wait(ctx, time.Second/2); err != nil {
			return err
		}
	}
}

// list goes on with the run's listing until it ends or time does. Whoever calls
// next goes on; the schedule does.
func (l *listing) list(ctx context.Context, meta ledger.Meta) error {
	err := l.goOn(ctx, meta)
	switch {
	case err == nil:
		return l.finalize(ctx, meta.Job)
	case errors.Is(err, lister.ErrPaused), errors.Is(err, ledger.ErrLeased), errors.Is(err, ledger.ErrState):
		l.log.Info("listing left", "job", meta.Job, "run", meta.Run, "reason", err)
		return nil
	case failure.Is(err, failure.Job):
		return l.halt(ctx, meta, err)
	}
	return err
}

// goOn lists by the source that the run was started with.
func (l *listing) goOn(ctx context.Context, meta ledger.Meta) error {
	var selected control.Selection
	if err := json.Unmarshal([]byte(meta.Source), &selected); err != nil {
		return failure.Errorf(failure.Job, failure.Config, "job %s: read its source: %w", meta.Job, err)
	}
	source, err := app.OpenListing(ctx, l.config, l.pipeline, selected)
	if err != nil && !failure.Marked(err) && ctx.Err() == nil { // a file that no longer suits what the job reads
		err = failure.New(failure.Job, failure.Config, err)
	}
	if err != nil {
		return err
	}
	if source.Digests.Plan != meta.Digests.Plan {
		return failure.Errorf(failure.Job, failure.Fingerprint,
			"job %s was started with plan configuration %q and this lister has %q: deploy the one it was started with and resume, or cancel the job and start it again",
			meta.Job, meta.Digests.Plan, source.Digests.Plan)
	}
	return source.Lister(l.ledger, l.sender).Run(ctx, meta.Job, meta)
}

// halt stops the job: no lister of this configuration could fare better.
func (l *listing) halt(ctx context.Context, meta ledger.Meta, cause error) error {
	_, reason := failure.Of(cause)
	h := ledger.Halt{Reason: reason, Detail: cause.Error(), At: time.Now()}
	won, err := ledger.Ask(ctx, func() (bool, error) { return l.ledger.Halt(ctx, meta.Job, h) })
	if err != nil || !won {
		return errors.Join(err, cause)
	}
	l.log.LogAttrs(ctx, slog.LevelError, "job halted",
		slog.String("job", meta.Job), slog.Int("run", meta.Run), slog.String("reason", string(reason)), slog.Any("error", cause))
	return l.halted(ctx, meta.Job, meta.Run, h)
}
