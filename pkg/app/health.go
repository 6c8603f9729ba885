package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/spate-go/spate/pkg/app/internal/admin"
	"github.com/spate-go/spate/pkg/metric/prommetric"
)

// When a job counts as dead. The times are long: what restarts processes should not
// be hasty.
const (
	silent  = 30 * time.Second // without a turn of its watch
	stalled = 5 * time.Minute  // without progress, while units are at hand
)

// health is what the admin address tells of a job.
type health struct {
	turned   atomic.Int64 // when watch last turned, in Unix ns; 0: not yet
	moved    atomic.Int64 // when anything last moved, or there was nothing to move; in Unix ns
	last     int64        // how much had moved by then; used by watch alone
	stopping atomic.Bool
}

// beat notes a turn of watch, and whether the job has moved since the last one.
func (j *Job) beat(now time.Time) {
	h := &j.health
	n := j.records.Load() + j.progress.bytes.Load()
	if n != h.last || h.moved.Load() == 0 || j.feed.Depth().InFlight == 0 {
		h.last = n
		h.moved.Store(now.UnixNano())
	}
	h.turned.Store(now.UnixNano())
}

// alive returns nil, or why this process should be restarted.
func (j *Job) alive(context.Context) error {
	h := &j.health
	turned := h.turned.Load()
	if turned == 0 || h.stopping.Load() { // the drain has a time of its own
		return nil
	}
	if d := time.Since(time.Unix(0, turned)); d > silent {
		return fmt.Errorf("the job has not been checked for %s", d.Round(time.Second))
	}
	if d := time.Since(time.Unix(0, h.moved.Load())); d > stalled {
		return fmt.Errorf("units are being read, but none has progressed for %s", d.Round(time.Second))
	}
	return nil
}

// ready returns nil, or why no record is being read. Whether the sinks can be
// written to was checked when they were opened, or there would be no job to
// ask.
func (j *Job) ready(ctx context.Context) error {
	if j.health.stopping.Load() {
		return errors.New("the job is ending")
	}
	meta, err := j.ledger.Meta(ctx, j.name)
	switch {
	case err != nil:
		return errors.New("the job has not begun")
	case meta.Halt != nil:
		return fmt.Errorf("the job is halted: %s", meta.Halt.Reason)
	case meta.State.Ended():
		return fmt.Errorf("the job is %s", meta.State)
	case meta.Page == "" && !meta.Listed:
		return errors.New("the source has not been listed yet")
	}
	return nil
}

// address is the admin address, taken but not answering yet; nil: there is
// none.
type address struct{ *admin.Listener }

func listen(ctx context.Context, c *Config) (address, error) {
	if c.Admin == nil {
		return address{}, nil
	}
	l, err := admin.Listen(ctx, c.Admin.Listen)
	if err != nil {
		return address{}, fmt.Errorf("admin.listen: %w", err)
	}
	return address{l}, nil
}

func (a address) close() {
	if a.Listener != nil {
		_ = a.Listener.Close() // nothing was sent
	}
}

// serve answers at a until the job is closed.
func (j *Job) serve(ctx context.Context, a address, c *Config) {
	if a.Listener == nil {
		return
	}
	o := admin.Options{Alive: j.alive, Ready: j.ready, ContentType: prommetric.ContentType}
	if c.Metrics.Exporter != "none" {
		o.Metrics = func(w io.Writer) error {
			return errors.Join(prommetric.WriteProcess(w), prommetric.Write(w, j.opt.Metrics.Gather()))
		}
	}
	j.admin = admin.Serve(ctx, a.Listener, o)
}

func (j *Job) unserve() error {
	if j.admin == nil {
		return nil
	}
	return j.admin.Close()
}

// AdminURL is where the job answers whoever watches it; "": nowhere.
func (j *Job) AdminURL() string {
	if j.admin == nil {
		return ""
	}
	return j.admin.URL()
}
