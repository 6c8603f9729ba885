package ledgertest

import (
	"slices"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// What the model does to a continuous job.

func (m *model) now() time.Time { return m.base.Add(m.clock) }

func (m *model) touch(u *modelUnit) {
	if m.meta.Continuous {
		u.Touched = m.now()
	}
}

// unbegun reports whether nobody ever began the unit.
func (m *model) unbegun(u *modelUnit, r ledger.Ref) bool {
	return m.meta.Continuous && u != nil && u.State == ledger.Open && u.Run == r.Run && u.Serial == 0
}

func (m *model) end(u *modelUnit) {
	if m.meta.Continuous {
		u.Ended = m.now()
	}
}

func (m *model) open(s ledger.Start) error {
	switch {
	case m.meta.State == ledger.Running:
		return nil
	case m.meta.Run > 0 && s.Token == "":
		return ledger.ErrState
	case m.meta.Run > 0 && s.Token == m.token:
		return nil
	}
	m.token, m.retired = s.Token, false
	m.meta = ledger.Meta{
		Job: m.meta.Job, Run: m.meta.Run + 1, State: ledger.Running, Continuous: true, Cutoff: s.Cutoff,
		Digests: s.Digests, Source: s.Source, Generation: m.meta.Generation,
	}
	return nil
}

func (m *model) enterAll(e ledger.Entry) (held []ledger.Held, err error) {
	if e.Run != m.meta.Run || m.meta.State != ledger.Running {
		return nil, ledger.ErrState
	}
	for i, c := range e.Claims {
		is, claimed := m.claims[c.ID]
		if claimed && is.Unit != c.Unit && (!is.Overwritten || is.Take+1 != c.Take) {
			is.Index = i
			held = append(held, is)
		}
	}
	if held != nil {
		return held, nil
	}
	for _, c := range e.Claims {
		if m.claims[c.ID].Unit != c.Unit {
			m.claims[c.ID] = ledger.Held{Claim: c, Since: m.now()}
		}
	}
	for _, q := range e.Units {
		if m.units[q.ID] == nil {
			u := &modelUnit{Item: ledger.Item{Planned: q, Run: e.Run, State: ledger.Open, Entered: m.now()}, body: q.Body}
			u.Body = nil
			m.units[q.ID], m.faults[q.ID] = u, map[int]ledger.Fault{}
		}
	}
	return nil, nil
}

func (m *model) overwritten(r ledger.Ref, serial int, f ledger.Fault, o unit.Object) error {
	if _, err := m.fenced(r, serial); err != nil {
		return err
	}
	if was, ok := m.faults[r.ID][f.Member]; ok && was.Record < f.Record {
		f.Record, f.Framed = was.Record, was.Framed
	} else if ok && was.Record == f.Record {
		f.Framed = was.Framed
	}
	m.faults[r.ID][f.Member] = f
	if is, ok := m.claims[o.ID()]; ok && is.Take == o.Take {
		is.Overwritten = true
		m.claims[o.ID()] = is
	}
	return nil
}

func (m *model) touched(r ledger.Ref) error {
	u := m.units[r.ID]
	if u == nil {
		return ledger.ErrNoUnit
	}
	if u.State == ledger.Open && u.Run == r.Run {
		m.touch(u)
	}
	return nil
}

func (m *model) repeat(r ledger.Ref, repeats int) error {
	u := m.units[r.ID]
	switch {
	case u == nil:
		return ledger.ErrNoUnit
	case u.State != ledger.Open, u.Run != r.Run, u.Repeats != repeats:
		return ledger.ErrFenced
	}
	u.Repeats++
	m.touch(u)
	return nil
}

func (m *model) adopt(run int, read string) (string, error) {
	if run != m.meta.Run {
		return "", ledger.ErrState
	}
	if m.meta.Digests.Read == "" {
		m.meta.Digests.Read = read
	}
	return m.meta.Digests.Read, nil
}

func (m *model) backlog(run int) ledger.Backlog {
	b := ledger.Backlog{Open: m.count(run, ledger.Open), Dead: m.count(run, ledger.Dead)}
	for _, u := range m.units {
		if u.Run == run && u.State == ledger.Open && (b.Oldest.IsZero() || u.Entered.Before(b.Oldest)) {
			b.Oldest = u.Entered
		}
	}
	return b
}

func (m *model) stale(run int, then time.Time) (found []unit.ID) {
	for id, u := range m.units {
		if u.Run == run && u.State == ledger.Open && u.Entered.Before(then) && u.Touched.Before(then) {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	return found
}
