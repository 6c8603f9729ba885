package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// Intake calls the stack's intake. Opening and taking may be repeated: what was
// taken before is ignored as repeated.
func (c *Control) Intake(ctx context.Context, r IntakeRequest) (IntakeAnswer, error) {
	var a IntakeAnswer
	if c.opt.Functions == nil || c.opt.Intake == "" {
		return a, errors.New("ask the intake: the stack names no intake function: deploy it with this version's template, or give --intake")
	}
	payload, err := json.Marshal(r)
	if err != nil {
		return a, fmt.Errorf("ask the intake: %w", err)
	}
	var body []byte
	err = again(ctx, func() (err error) {
		body, err = c.opt.Functions.Call(ctx, c.opt.Intake, payload)
		return err
	})
	if err != nil {
		return a, fmt.Errorf("ask the intake: %w", err)
	}
	if err := json.Unmarshal(body, &a); err != nil || a.Job == "" {
		return a, fmt.Errorf("ask the intake: function %s answers %.200q: it is not an intake of this version", c.opt.Intake, body)
	}
	return a, nil
}

// Notified returns where buckets send their notifications: the ARN of the
// intake's queue, and the EventBridge rule that leads to it, "" if none is
// known.
func (c *Control) Notified() (queue, rule string, err error) {
	if c.opt.IntakeARN == "" {
		return "", "", errors.New("the stack names no intake queue: deploy it with this version's template, or give --intake-queue-arn")
	}
	return c.opt.IntakeARN, c.opt.Rule, nil
}

// Limits of one request to take objects: an intake has a minute for it.
const (
	takeObjects = 500
	takeBytes   = 512 << 10 // of keys
)

// Send has the intake take objects, in batches, as if notifications had named
// them, and calls each with what became of every one. objects returns the next
// object, and false at the end. Send stops at the first request that fails;
// what came before it stands.
func (c *Control) Send(ctx context.Context, objects func() (Named, bool, error), each func(Taken)) error {
	var batch []Named
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		a, err := c.Intake(ctx, IntakeRequest{Objects: batch})
		if err != nil {
			return err
		}
		if len(a.Taken) != len(batch) {
			return fmt.Errorf("function %s answers for %d objects of %d: it is not an intake of this version", c.opt.Intake, len(a.Taken), len(batch))
		}
		for _, t := range a.Taken {
			each(t)
		}
		batch, size = batch[:0], 0
		return nil
	}
	for {
		o, ok, err := objects()
		if err != nil {
			return err
		}
		if !ok {
			return flush()
		}
		if len(batch) == takeObjects || size+len(o.Key) > takeBytes {
			if err := flush(); err != nil {
				return err
			}
		}
		batch = append(batch, o)
		size += len(o.Key)
	}
}

// Cutoff returns the cutoff of the stack's continuous job: whatever is put
// after it is announced, and what was modified before it is for a listed job to
// read.
func (c *Control) Cutoff(ctx context.Context) (time.Time, error) {
	a, err := c.Intake(ctx, IntakeRequest{})
	switch {
	case err != nil:
		return time.Time{}, err
	case a.Run == 0, a.State.Ended(): // then nothing is announced to it any more
		return time.Time{}, fmt.Errorf("job %s is not open, so it has no cutoff: spate bucket connect opens it and fixes one", a.Job)
	case a.Cutoff.IsZero():
		return time.Time{}, fmt.Errorf("job %s has no cutoff, as its first notification opened it: give --cutoff a time since when all objects were announced", a.Job)
	}
	return a.Cutoff, nil
}

// flow fills in what a Snapshot says of a continuous job.
func (c *Control) flow(ctx context.Context, s *Snapshot) error {
	job, run := s.Meta.Job, s.Meta.Run
	err := ledger.Retry(ctx, func() error {
		b, err := c.ledger.Backlog(ctx, job, run)
		if err != nil {
			return err
		}
		w, err := c.ledger.Watch(ctx, job)
		s.Backlog = b
		if w.Run == run {
			s.PerMinute = w.PerMinute
		}
		return err
	})
	if err == nil && s.Backlog.Dead > 0 {
		err = ledger.Retry(ctx, func() error {
			s.Dead = map[failure.Reason]int{}
			return c.ledger.Unfinished(ctx, job, run, func(i ledger.Item) error {
				if i.Cause != nil {
					s.Dead[i.Cause.Reason]++
				}
				return nil
			})
		})
	}
	if err != nil {
		return fmt.Errorf("read the open units of job %s: %w", job, err)
	}
	return nil
}

// Ingested is what became of an object version in a continuous job.
type Ingested struct {
	Object unit.Object
	Held   ledger.Held
	// Item is that of the unit that it went into; of an object that was cut, of the
	// first range. Its State is "" if the unit is not kept any more.
	Item ledger.Item
}

// Ingested finds an object version in a continuous job: the one with that ETag,
// or the current one if etag is "". ledger.ErrNoClaim if it is not known: it
// was not announced, or longer ago than ledger.DoneTime.
func (c *Control) Ingested(ctx context.Context, job, key, etag string) (Ingested, error) {
	m, err := c.meta(ctx, job)
	if err != nil {
		return Ingested{}, err
	}
	if !m.Continuous {
		return Ingested{}, fmt.Errorf("job %s lists its source, and knows units but not keys: spate job report %[1]s names what is not done", job)
	}
	in := Ingested{Object: unit.Object{Key: key, ETag: etag}}
	if etag == "" {
		if in.Object, err = c.stat(ctx, key); err != nil {
			return in, err
		}
	}
	id := in.Object.ID()
	err = ledger.Retry(ctx, func() (err error) {
		if in.Held, err = c.ledger.Claimed(ctx, job, id); err != nil {
			return err
		}
		in.Item, err = c.ledger.Look(ctx, ledger.Ref{Job: job, Run: m.Run, ID: in.Held.Unit})
		if errors.Is(err, ledger.ErrNoUnit) {
			err = nil
		}
		return err
	})
	if err != nil {
		return in, fmt.Errorf("look for %q with ETag %s in job %s: %w", key, in.Object.ETag, job, err)
	}
	return in, nil
}

// stat looks up an object in the bucket that the intake takes notifications of.
func (c *Control) stat(ctx context.Context, key string) (unit.Object, error) {
	if c.opt.Stat == nil {
		return unit.Object{}, fmt.Errorf("look at %q: give its ETag", key)
	}
	a, err := c.Intake(ctx, IntakeRequest{})
	if err != nil {
		return unit.Object{}, err
	}
	return c.opt.Stat(ctx, a.Bucket, key)
}
