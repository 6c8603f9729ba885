package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// statusLive is the part of a status that only continuous jobs have.
type statusLive struct {
	Cutoff time.Time `json:"cutoff,omitzero"`
	Open   int       `json:"open"` // units
	// Lag is the age of the open unit that was entered first, in seconds.
	Lag       float64                `json:"lag_seconds"`
	PerMinute statusFlow             `json:"per_minute"` // as last measured
	Dead      map[failure.Reason]int `json:"dead"`       // units given up, by reason
}

type statusFlow struct {
	Units   int64 `json:"units"`
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
	Records int64 `json:"records"`
}

// live fills in what matters of a continuous job, in place of what is listed.
func (j *jobStatus) live(s control.Snapshot, now time.Time) {
	p, b := s.Progress, s.Backlog
	j.Units = statusUnits{Planned: p.Done + b.Open + b.Dead, Done: p.Done, Dead: b.Dead}
	j.Objects, j.Bytes = statusObjects{Done: p.Objects}, statusBytes{Done: p.BytesRead}
	j.Live = &statusLive{
		Cutoff: s.Meta.Cutoff, Open: b.Open, PerMinute: statusFlow(s.PerMinute), Dead: map[failure.Reason]int{},
	}
	maps.Copy(j.Live.Dead, s.Dead)
	if !b.Oldest.IsZero() {
		j.Live.Lag = max(now.Sub(b.Oldest), 0).Seconds()
	}
}

func (l *statusLive) text(w *bufio.Writer, j *jobStatus) {
	f := l.PerMinute
	fmt.Fprintf(w, "  lag       %v, %s open\n", time.Duration(l.Lag*float64(time.Second)).Round(time.Second), many(l.Open, "unit", "units"))
	fmt.Fprintf(w, "  a minute  %s objects, %s, %s records\n", humanize.Comma(f.Objects), humanize.IBytes(uint64(f.Bytes)), humanize.Comma(f.Records))
	fmt.Fprintf(w, "  objects   %s done\n", humanize.Comma(j.Objects.Done))
	fmt.Fprintf(w, "  units     %s done, %s dead\n", humanize.Comma(int64(j.Units.Done)), humanize.Comma(int64(j.Units.Dead)))
	for _, reason := range slices.Sorted(maps.Keys(l.Dead)) {
		fmt.Fprintf(w, "            %s: %d\n", reason, l.Dead[reason])
	}
	fmt.Fprintf(w, "  bytes     %s read\n", humanize.IBytes(uint64(j.Bytes.Done)))
	if !l.Cutoff.IsZero() {
		fmt.Fprintf(w, "  cutoff    %s\n", l.Cutoff.UTC().Format(time.RFC3339))
	}
}

// keyStatus is what spate job status --key prints.
type keyStatus struct {
	Job  string `json:"job"`
	Key  string `json:"key"`
	ETag string `json:"etag"`
	// State is done, open or dead; overwritten if a newer version took its
	// place before it was read; unknown if the job has not heard of it.
	State     string         `json:"state"`
	Announced time.Time      `json:"announced_at,omitzero"` // when the intake took it
	Ended     time.Time      `json:"ended_at,omitzero"`
	Unit      unit.ID        `json:"unit,omitempty"`
	Reason    failure.Reason `json:"reason,omitempty"` // of a dead unit
}

const (
	keyUnknown     = "unknown"
	keyOverwritten = "overwritten"
)

// objectStatus is spate job status --key. That the job does not know the object
// is an answer, with the exit code of an incomplete job.
func objectStatus(ctx context.Context, stack *control.Control, job, key, etag string, as form, std stdio) error {
	in, err := stack.Ingested(ctx, job, key, etag)
	switch _, reason := failure.Of(err); {
	case err == nil, errors.Is(err, ledger.ErrNoClaim):
	case reason == failure.NotFound && etag == "":
		return fmt.Errorf("%w: give the --etag of an earlier version", err)
	default:
		return err
	}
	k := keyStatus{Job: job, Key: key, ETag: in.Object.ETag, State: keyUnknown}
	if err == nil {
		k.State, k.Announced, k.Unit, k.Ended = string(in.Item.State), in.Held.Since, in.Held.Unit, in.Item.Ended
		switch {
		case in.Held.Overwritten:
			k.State = keyOverwritten
		case in.Item.State == "", spared(in): // "": no items expire but those of done units
			k.State = string(ledger.Done)
		case in.Item.Cause != nil:
			k.Reason = in.Item.Cause.Reason
		}
	}
	if as == asJSON {
		err = writeJSON(std.stdout, k)
	} else {
		_, err = fmt.Fprintln(std.stdout, k.text())
	}
	if err == nil && k.State == keyUnknown {
		return &exitError{fmt.Errorf("job %s does not know %q: spate job send --keys - reads it", job, key), exitIncomplete}
	}
	return err
}

// spared reports whether the object was delivered although its unit is dead,
// because only other members were bad.
func spared(in control.Ingested) bool {
	c := in.Item.Cause
	return in.Item.RestDone && c != nil && len(c.Faults) > 0 &&
		!slices.ContainsFunc(c.Objects, func(o unit.Object) bool { return o.ID() == in.Object.ID() })
}

func (k *keyStatus) text() string {
	switch k.State {
	case keyUnknown:
		return fmt.Sprintf("%s, %s: not announced, or before the job's cutoff, or more than %d days ago", k.Key, k.ETag, int(ledger.DoneTime.Hours()/24))
	case keyOverwritten:
		return fmt.Sprintf("%s, %s: announced %s, and overwritten before it was read: the newer version is another object", k.Key, k.ETag, stamp(k.Announced))
	}
	s := fmt.Sprintf("%s, %s: %s, in unit %s, announced %s", k.Key, k.ETag, k.State, k.Unit, stamp(k.Announced))
	if !k.Ended.IsZero() {
		s += fmt.Sprintf(", %s %s", k.State, stamp(k.Ended))
	}
	if k.Reason != "" {
		s += fmt.Sprintf(": %s", k.Reason)
	}
	return s
}

func stamp(t time.Time) string { return t.UTC().Format(time.DateTime) }
