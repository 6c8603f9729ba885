package function

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"

	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/intake"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// takingIn is the intake function.
type takingIn struct {
	log    *slog.Logger
	ledger ledger.Intaker
	source *app.Announced
	intake *intake.Intake
	// outside says why the stack's reports may not lie where they do.
	outside error
}

func newIntake(ctx context.Context, s setup) (func(context.Context, json.RawMessage) (any, error), error) {
	services, l, f, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	source, err := app.OpenAnnounced(ctx, s.config, s.pipeline)
	if err != nil {
		return nil, err
	}
	t := &takingIn{log: s.log, ledger: l, source: source}
	if reports := s.env.get(envReports); reports != "" {
		if err := source.Outside(reports); err != nil {
			t.outside = fmt.Errorf("its report: %w", err)
		}
	}
	o := intake.Options{Log: s.log}
	if o.Refuse, err = services.refuse(); err != nil {
		return nil, err
	}
	t.intake = source.Intake(l, f, o)
	return t.handle, nil
}

// handle tells a batch of notifications from a request: only the former has
// Records.
func (t *takingIn) handle(ctx context.Context, event json.RawMessage) (any, error) {
	var batch events.SQSEvent
	if err := json.Unmarshal(event, &batch); err != nil {
		return nil, fmt.Errorf("read event: %w", err)
	}
	if batch.Records != nil {
		return t.notified(ctx, batch), nil
	}
	var r control.IntakeRequest
	d := json.NewDecoder(bytes.NewReader(event))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("read event: neither messages of a queue nor a request of this version: %w", err)
	}
	return t.asked(ctx, r)
}

// notified takes in what a queue delivers. What failed comes again, and so does
// all of it where reports would be read as data (INV-8).
func (t *takingIn) notified(ctx context.Context, batch events.SQSEvent) events.SQSEventResponse {
	ms := make([]intake.Message, len(batch.Records))
	for i, r := range batch.Records {
		ms[i] = intake.Message{ID: r.MessageId, Body: []byte(r.Body), Receives: receives(r)}
	}
	again := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for _, f := range t.takeIn(ctx, ms) {
		again.BatchItemFailures = append(again.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: f.ID})
	}
	return again
}

func (t *takingIn) takeIn(ctx context.Context, ms []intake.Message) (failed []intake.Failed) {
	if t.outside == nil {
		return t.intake.Handle(ctx, ms)
	}
	t.log.ErrorContext(ctx, "notifications wait", "job", t.source.Job, "error", t.outside)
	for _, m := range ms {
		failed = append(failed, intake.Failed{ID: m.ID, Err: t.outside})
	}
	return failed
}

// asked does what a command asks for.
func (t *takingIn) asked(ctx context.Context, r control.IntakeRequest) (control.IntakeAnswer, error) {
	a := control.IntakeAnswer{Job: t.source.Job, Bucket: t.source.Bucket, Prefix: t.source.Prefix}
	if t.outside != nil {
		a.Refused = t.outside.Error()
		if r.Open || len(r.Objects) > 0 {
			return a, fmt.Errorf("open job %s: %w", a.Job, t.outside)
		}
	}
	m, err := ledger.Ask(ctx, func() (ledger.Meta, error) {
		if !r.Open && len(r.Objects) == 0 {
			return t.ledger.Meta(ctx, a.Job)
		}
		return t.ledger.Open(ctx, a.Job, t.source.Start(r.Token, r.Cutoff))
	})
	switch {
	case errors.Is(err, ledger.ErrNoJob):
		return a, nil
	case errors.Is(err, ledger.ErrState):
		return a, fmt.Errorf("%w: spate bucket connect begins its next run", err)
	case err != nil:
		return a, err
	}
	a.Run, a.State, a.Cutoff = m.Run, m.State, m.Cutoff
	if len(r.Objects) > 0 {
		a.Taken, err = t.take(ctx, m, r.Objects)
	}
	return a, err
}

func (t *takingIn) take(ctx context.Context, m ledger.Meta, named []control.Named) ([]control.Taken, error) {
	objects := make([]unit.Object, len(named))
	for i, n := range named {
		objects[i] = unit.Object{Key: n.Key, ETag: n.ETag, Version: n.Version, Size: -1}
		if n.Size != nil {
			objects[i].Size = *n.Size
		}
	}
	became, err := t.intake.Take(ctx, m, objects)
	if err != nil {
		return nil, err
	}
	taken := make([]control.Taken, len(became))
	for i, b := range became {
		taken[i] = control.Taken{Key: named[i].Key, Unit: b.Unit, Ignored: string(b.Reason)}
		if b.Err != nil {
			taken[i].Error = b.Err.Error()
		}
	}
	return taken, nil
}
