package finalizer

import (
	"context"
	"fmt"
	"slices"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/price"
	"github.com/spate-go/spate/pkg/report"
)

// compose reports what the run of meta did. It keeps nothing that grows with
// the run, except a few bytes for each unit that is not done.
func compose(ctx context.Context, l ledger.Prover, meta ledger.Meta) (*report.Report, error) {
	census, err := l.Prove(ctx, meta.Job, meta.Run)
	if err != nil {
		return nil, fmt.Errorf("prove job %s: %w", meta.Job, err)
	}
	r := head(meta, census)
	names, seen, memory := r.Names(), undone{}, census.Counts.MemoryTime
	why := missing(meta)
	err = l.Unfinished(ctx, meta.Job, meta.Run, func(i ledger.Item) error {
		memory += i.Counts.MemoryTime
		if i.State == ledger.Dead {
			seen.dead(i)
			names.Dead(dead(i))
		} else {
			seen.open(i)
			names.Missing(report.Missing{Unit: i.ID, Key: i.FirstKey, Reason: why})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list unfinished units of job %s: %w", meta.Job, err)
	}
	var open int64
	r.Objects.Failed, open = seen.objects()
	r.Objects.Done = max(0, meta.Inventory.Objects-r.Objects.Failed-open)
	if meta.Continuous {
		p, err := l.Progress(ctx, meta.Job, meta.Run)
		if err != nil {
			return nil, fmt.Errorf("read counters of job %s, run %d: %w", meta.Job, meta.Run, err)
		}
		r.Objects.Done = max(0, p.Objects-r.Objects.Overwritten)
	}
	if r.State == report.Failed {
		r.Reason = failed(r, meta)
	}
	r.Cost = cost(r, memory)
	return r, nil
}

// head is the part of the report that follows from meta and the proof.
func head(meta ledger.Meta, census ledger.Census) *report.Report {
	inv, c := meta.Inventory, census.Counts
	r := &report.Report{
		Job: meta.Job, Run: meta.Run, Generation: meta.Generation, Started: meta.Started, Ended: meta.Ended,
		Units:      report.Units{Planned: meta.Planned, Done: census.Done},
		Continuous: meta.Continuous,
		Objects: report.Objects{
			Overwritten: c.Overwritten,
			Listed:      inv.Objects + inv.Empty + inv.Directory + inv.Archived + inv.Excluded,
			Skipped:     report.Skipped{Empty: inv.Empty, Directory: inv.Directory, Archived: inv.Archived, Excluded: inv.Excluded},
		},
		Records:   report.Records(c.Counts),
		Bytes:     report.Bytes{Read: c.BytesRead, Decoded: c.BytesDecoded},
		Sinks:     report.Sinks{},
		Pipelines: slices.Clone(meta.Pipelines),
		Callback:  meta.Callback,
	}
	if meta.Listed { // before, the listing may yet come to them
		r.Units.Unlisted = census.Unlisted
	}
	if r.Pipelines == nil {
		r.Pipelines = []string{}
	}
	for name, s := range c.Sinks {
		r.Sinks[name] = report.Sink(s)
	}
	if meta.Halt != nil {
		r.Reason = fmt.Sprintf("%s: %s", meta.Halt.Reason, meta.Halt.Detail)
	}
	switch {
	case meta.State == ledger.Completed:
		r.State, r.Reason = report.Completed, ""
	case meta.State.Ended():
		r.State = report.State(meta.State)
	case meta.Halt != nil:
		r.State = report.Halted
	case meta.Continuous:
		r.State = report.Running
	default:
		r.State = report.Interrupted
	}
	return r
}

// failed says why the job failed.
func failed(r *report.Report, meta ledger.Meta) string {
	u := r.Units
	lost := u.Planned - u.Done - u.Dead - u.Missing
	switch {
	case u.Missing > 0 && u.Dead > 0:
		return fmt.Sprintf("%d of %d units are dead, and %d are missing: no reader worked on them, re-sent %d times", u.Dead, u.Planned, u.Missing, meta.Resends)
	case u.Missing > 0:
		return fmt.Sprintf("%d of %d units are missing: no reader worked on them, re-sent %d times", u.Missing, u.Planned, meta.Resends)
	case u.Dead > 0:
		return fmt.Sprintf("%d of %d units are dead", u.Dead, u.Planned)
	case lost != 0:
		return fmt.Sprintf("the ledger holds %d of %d planned units: items were removed from it, or added; start the job again", u.Planned-lost, u.Planned)
	default:
		return "units that were missing when it failed are done since: a redrive completes it"
	}
}

// cost is what the job cost on functions; nil if none worked on it.
func cost(r *report.Report, memoryTime int64) *report.Cost {
	if memoryTime == 0 {
		return nil
	}
	u := price.Actual{
		MemoryTime: memoryTime,
		Units:      int64(r.Units.Done + r.Units.Dead),
		Objects:    r.Objects.Done + r.Objects.Failed,
		Bytes:      r.Bytes.Read,
		Listed:     r.Objects.Listed,
	}.Usage()
	return &report.Cost{GBSeconds: u.GBSeconds, Requests: u.Requests(), Dollars: price.Cost(u).Total}
}

func dead(i ledger.Item) report.Dead {
	d := report.Dead{Unit: i.ID, Reason: i.Cause.Reason, Detail: i.Cause.Detail, Attempts: i.Attempts, Objects: []report.Object{}}
	for n, o := range i.Cause.Objects {
		b := report.NewObject(o)
		if n < len(i.Cause.Faults) {
			f := &i.Cause.Faults[n]
			b.Reason, b.Detail, b.Record = f.Reason, f.Detail, &f.Record
		}
		d.Objects = append(d.Objects, b)
	}
	if i.Cause.Record >= 0 {
		d.Record = &i.Cause.Record
	}
	return d
}

// missing is why an open unit was not read: what halted its job, unless the job
// has ended.
func missing(meta ledger.Meta) failure.Reason {
	if meta.Halt != nil && !meta.State.Ended() {
		return meta.Halt.Reason
	}
	return failure.Missing
}
