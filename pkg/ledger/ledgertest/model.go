package ledgertest

import (
	"maps"
	"slices"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// model is a ledger of one job, written to be read and not to be used: it keeps
// everything, and counts by looking.
type model struct {
	meta   ledger.Meta // Planned is counted
	token  string
	pages  map[string]bool
	units  map[unit.ID]*modelUnit
	faults map[unit.ID]map[int]ledger.Fault
}

type modelUnit struct {
	ledger.Item
	gaveBack int // serial whose attempt was taken back
}

func (m *model) start(token string, d ledger.Digests) error {
	switch {
	case token == m.token:
		return nil
	case m.meta.State == ledger.Listing, m.meta.State == ledger.Running:
		return ledger.ErrActive
	}
	m.token = token
	m.pages = map[string]bool{}
	m.meta = ledger.Meta{Job: m.meta.Job, Run: m.meta.Run + 1, State: ledger.Listing, Digests: d, Generation: m.meta.Generation}
	return nil
}

func (m *model) publish(run int, p ledger.Page) ([]unit.ID, error) {
	if run != m.meta.Run || m.meta.State.Ended() || m.meta.Listed && !m.pages[p.After] {
		return nil, ledger.ErrState
	}
	if !m.pages[p.After] {
		m.pages[p.After] = true
		m.meta.Inventory.Add(p.Inventory)
		m.meta.Page = max(m.meta.Page, p.Last)
	}
	var send []unit.ID
	for _, q := range p.Units {
		u := m.units[q.ID]
		q.Body = nil
		if u == nil {
			u = &modelUnit{Item: ledger.Item{Planned: q, State: ledger.Open}}
			m.units[q.ID] = u
			m.faults[q.ID] = map[int]ledger.Fault{}
		}
		if u.Run != run && u.State != ledger.Done {
			if u.State == ledger.Dead {
				m.meta.Generation++
			}
			u.State, u.Attempts, u.Last, u.Cause = ledger.Open, 0, false, nil
		}
		u.Run = run
		if u.State != ledger.Done {
			send = append(send, q.ID)
		}
	}
	return send, nil
}

func (m *model) finish(run int) error {
	if run == m.meta.Run && m.meta.Listed {
		return nil
	}
	if run != m.meta.Run || m.meta.State != ledger.Listing {
		return ledger.ErrState
	}
	m.meta.Listed, m.meta.State = true, ledger.Running
	return nil
}

func (m *model) begin(r ledger.Ref, receives, limit int) (ledger.Item, error) {
	u := m.units[r.ID]
	if u == nil {
		return ledger.Item{}, ledger.ErrNoUnit
	}
	if u.State == ledger.Open && u.Run == r.Run && u.Run == m.meta.Run {
		u.Serial++
		u.Attempts++
		u.Last = receives >= limit || u.Attempts >= limit
	}
	return m.item(r.ID), nil
}

// fenced returns the unit that a reader may write to.
func (m *model) fenced(r ledger.Ref, serial int) (*modelUnit, error) {
	switch u := m.units[r.ID]; {
	case u == nil:
		return nil, ledger.ErrNoUnit
	case u.State != ledger.Open, u.Run != r.Run, u.Serial != serial, serial < 1:
		return nil, ledger.ErrFenced
	default:
		return u, nil
	}
}

func (m *model) fault(r ledger.Ref, serial int, f ledger.Fault) error {
	_, err := m.fenced(r, serial)
	if err == nil {
		if old, ok := m.faults[r.ID][f.Member]; !ok || f.Record < old.Record {
			m.faults[r.ID][f.Member] = f
		}
	}
	return err
}

func (m *model) restDone(r ledger.Ref, serial int, c ledger.Counts) error {
	u, err := m.fenced(r, serial)
	if err == nil && !u.RestDone {
		u.RestDone = true
		u.Counts.Add(c)
	}
	return err
}

func (m *model) recovered(r ledger.Ref, serial, member int, c ledger.Counts) error {
	u, err := m.fenced(r, serial)
	if err != nil {
		return err
	}
	if _, ok := m.faults[r.ID][member]; ok {
		delete(m.faults[r.ID], member)
		u.Counts.Add(c)
	}
	return nil
}

func (m *model) giveBack(r ledger.Ref, serial int) error {
	u, err := m.fenced(r, serial)
	if err == nil && u.gaveBack != serial {
		u.gaveBack = serial
		u.Attempts--
		u.Last = false
	}
	return err
}

func (m *model) done(r ledger.Ref, c ledger.Counts) (ledger.Tally, error) {
	u := m.units[r.ID]
	if u == nil {
		return ledger.Tally{}, ledger.ErrNoUnit
	}
	if u.State != ledger.Done {
		if u.State == ledger.Dead {
			m.meta.Generation++
		}
		u.State = ledger.Done
		u.Counts.Add(c)
	}
	return m.tally(), nil
}

func (m *model) dead(r ledger.Ref, serial int, c ledger.Cause) (ledger.Tally, error) {
	if u := m.units[r.ID]; u != nil && u.State == ledger.Dead && u.Run == r.Run && u.Serial == serial {
		return m.tally(), nil
	}
	u, err := m.fenced(r, serial)
	if err != nil {
		return ledger.Tally{}, err
	}
	u.State, u.Cause = ledger.Dead, &c
	return m.tally(), nil
}

func (m *model) halt(h ledger.Halt) bool {
	free := m.meta.Halt == nil || m.meta.Halt.Reason == failure.SinkDown && h.Reason != failure.SinkDown
	if m.meta.State.Ended() || !free {
		return false
	}
	m.meta.Halt = &h
	return true
}

func (m *model) resume(r failure.Reason) bool {
	if m.meta.Halt == nil || m.meta.Halt.Reason != r {
		return false
	}
	m.meta.Halt = nil
	return true
}

func (m *model) conclude(run, generation int, s ledger.State) error {
	same := run == m.meta.Run && generation == m.meta.Generation
	if !same || m.meta.State.Ended() && m.meta.State != s {
		return ledger.ErrState
	}
	m.meta.State = s
	return nil
}

// What the model shows, found by looking at every unit.

func (m *model) count(run int, s ledger.UnitState) (n int) {
	for _, u := range m.units {
		if u.Run == run && u.State == s {
			n++
		}
	}
	return n
}

func (m *model) planned() int {
	run := m.meta.Run
	return m.count(run, ledger.Done) + m.count(run, ledger.Dead) + m.count(run, ledger.Open)
}

func (m *model) tally() ledger.Tally {
	run := m.meta.Run
	return ledger.Tally{Done: m.count(run, ledger.Done), Dead: m.count(run, ledger.Dead), Planned: m.planned(), Listed: m.meta.Listed}
}

func (m *model) view() ledger.Meta {
	v := m.meta
	v.Planned = m.planned()
	return v
}

func (m *model) census(run int) ledger.Census {
	c := ledger.Census{Done: m.count(run, ledger.Done), Dead: m.count(run, ledger.Dead), Open: m.count(run, ledger.Open)}
	for _, u := range m.units {
		if u.Run == run && u.State == ledger.Done {
			c.Counts.Add(u.Counts)
		}
	}
	return c
}

func (m *model) item(id unit.ID) ledger.Item {
	it := m.units[id].Item
	it.Faults = nil
	for _, member := range slices.Sorted(maps.Keys(m.faults[id])) {
		it.Faults = append(it.Faults, m.faults[id][member])
	}
	return it
}

func (m *model) unfinished(run int) (items []ledger.Item) {
	for _, id := range slices.Sorted(maps.Keys(m.units)) {
		if it := m.item(id); it.Run == run && it.State != ledger.Done {
			items = append(items, it)
		}
	}
	return items
}
