package sim_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
)

// rest is what holds when all is quiet: the job has ended and says so, or it is
// halted.
func (l *laws) rest() {
	m := l.w.meta()
	if m.State == "" {
		return // it was never started
	}
	l.counted(m)
	if !m.State.Ended() {
		if m.Halt == nil {
			l.w.law("the job is %s and nothing goes on", m.State)
		}
		return
	}
	live, err := l.w.ledger.Live(context.Background())
	if err != nil || len(live) > 0 {
		l.w.law("the job is %s and live still", m.State)
	}
	// A unit that is done after the verdict raises the generation, and nobody
	// writes a report for that.
	for n := l.late[m.Run]; n > 0 && l.ends[[2]int{m.Run, m.Generation}] == ""; n-- {
		m.Generation--
	}
	var r report.Report
	body := l.w.reports[report.Key(job, m.Run, m.Generation)]
	if err := json.Unmarshal(body, &r); err != nil {
		l.w.law("no report of run %d.%d: %v", m.Run, m.Generation, err)
		return
	}
	if string(r.State) != string(m.State) || r.Run != m.Run || r.Generation != m.Generation {
		l.w.law("the job is %s at %d.%d and its report says %s at %d.%d", m.State, m.Run, m.Generation, r.State, r.Run, r.Generation)
	}
	if got := l.ends[[2]int{m.Run, m.Generation}]; got != r.State {
		l.w.law("the job is %s and was announced as %q", r.State, got)
	}
	if _, marked := l.w.reports[report.SuccessKey(job, m.Run)]; marked != (m.State == ledger.Completed) {
		l.w.law("the job is %s, and the marker stands: %t", m.State, marked)
	}
	l.told(m, &r)
}

// counted: done is never undone.
func (l *laws) counted(m ledger.Meta) {
	done := 0
	for id := range l.units[m.Run] {
		if l.of(id).done {
			done++
		}
	}
	census, err := l.w.ledger.Prove(context.Background(), job, m.Run)
	if err != nil || census.Done != done {
		l.w.law("%d units are done, the ledger has %d: %v", done, census.Done, err)
	}
}

// told: the report counts what is done to the record, and names all that is not.
func (l *laws) told(m ledger.Meta, r *report.Report) {
	var records report.Records
	missing := map[unit.ID]bool{}
	var bytes int64
	spoilt := false
	for id, u := range l.units[m.Run] {
		if !l.of(id).done {
			missing[id] = true
			continue
		}
		spoilt = spoilt || l.of(id).spoilt
		for _, o := range u.Objects {
			v := l.w.store.all[o.ETag]
			bytes += v.Size
			for n := range v.records {
				records.In++
				if kept(n) {
					records.Out++
				} else {
					records.Filtered++
				}
			}
		}
	}
	if m.State == ledger.Completed || m.State == ledger.Failed && l.afterwards == 0 {
		l.exact(r, records, bytes, spoilt)
	}
	if m.State == ledger.Completed && len(missing) > 0 {
		l.w.law("completed without %v", slices.Collect(maps.Keys(missing)))
	}
	if m.State == ledger.Failed {
		for _, d := range r.Dead {
			delete(missing, d.Unit)
		}
		for _, d := range r.Missing {
			delete(missing, d.Unit)
		}
		if len(missing) > 0 || r.Units.Done+r.Units.Dead+r.Units.Missing != r.Units.Planned {
			l.w.law("failed with %+v, and without naming %v", r.Units, slices.Collect(maps.Keys(missing)))
		}
	}
}

func (l *laws) exact(r *report.Report, records report.Records, bytes int64, spoilt bool) {
	if r.Records != records || r.Sinks["out"].Records != records.Out && records.Out > 0 {
		l.w.law("the report says %+v and %+v, it is %+v", r.Records, r.Sinks["out"], records)
	}
	if again := r.Bytes.Decoded > bytes && spoilt; r.Bytes.Decoded != bytes && !again { // a faulty member is framed from its beginning
		l.w.law("the report says %+v, it is %d", r.Bytes, bytes)
	}
}
