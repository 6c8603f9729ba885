package finalizer

import (
	"context"
	"fmt"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
)

// Report says what the job's current run did, ended or not.
func (f *Finalizer) Report(ctx context.Context, job string) (*report.Report, error) {
	meta, err := f.ledger.Meta(ctx, job)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", job, err)
	}
	census, err := f.ledger.Prove(ctx, job, meta.Run)
	if err != nil {
		return nil, fmt.Errorf("prove job %s: %w", job, err)
	}
	r := head(meta, census)
	undone := map[string]bool{} // keys that are in no done unit, of single objects: ranges share one
	var several int64           // objects of open units of several
	failed := map[string]bool{}
	err = f.ledger.Unfinished(ctx, job, meta.Run, func(i ledger.Item) error {
		if i.State == ledger.Dead {
			for _, o := range i.Cause.Objects {
				failed[o.Key] = true
			}
			r.Dead = append(r.Dead, dead(i))
			return nil
		}
		if i.Objects == 1 {
			undone[i.FirstKey] = true
		} else {
			several += int64(i.Objects)
		}
		r.Missing = append(r.Missing, report.Missing{Unit: i.ID, Key: i.FirstKey, Reason: missing(meta)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list unfinished units of job %s: %w", job, err)
	}
	r.Units.Missing = len(r.Missing)
	for key := range undone {
		if failed[key] {
			delete(undone, key)
		}
	}
	r.Objects.Failed = int64(len(failed))
	r.Objects.Done = meta.Inventory.Objects - r.Objects.Failed - int64(len(undone)) - several
	return r, nil
}

// head is the part that meta and the proof give.
func head(meta ledger.Meta, census ledger.Census) *report.Report {
	inv, c := meta.Inventory, census.Counts
	r := &report.Report{
		Job: meta.Job, Run: meta.Run, Started: meta.Started, Ended: meta.Ended,
		Units: report.Units{Planned: meta.Planned, Done: census.Done, Dead: census.Dead},
		Objects: report.Objects{
			Listed:  inv.Objects + inv.Empty + inv.Directory + inv.Archived + inv.Excluded,
			Skipped: report.Skipped{Empty: inv.Empty, Directory: inv.Directory, Archived: inv.Archived, Excluded: inv.Excluded},
		},
		Records:   report.Records(c.Counts),
		Bytes:     report.Bytes{Read: c.BytesRead, Decoded: c.BytesDecoded},
		Sinks:     report.Sinks{},
		Dead:      []report.Dead{},
		Missing:   []report.Missing{},
		Pipelines: []string{},
	}
	for name, s := range c.Sinks {
		r.Sinks[name] = report.Sink(s)
	}
	switch {
	case meta.State.Ended():
		r.State = report.State(meta.State)
	case meta.Halt != nil:
		r.State, r.Reason = report.Halted, fmt.Sprintf("%s: %s", meta.Halt.Reason, meta.Halt.Detail)
	default:
		r.State = report.Interrupted
	}
	if r.State == report.Failed {
		r.Reason = fmt.Sprintf("%d of %d units are dead", census.Dead, meta.Planned)
	}
	return r
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

// missing is why an open unit is not read: what stopped its job.
func missing(meta ledger.Meta) failure.Reason {
	if meta.Halt != nil {
		return meta.Halt.Reason
	}
	return failure.Missing
}
