package ledgertest

import (
	"maps"
	"slices"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// model is a ledger of one job, written to be read and not to be used: it keeps
// everything, and counts by looking.
type model struct {
	meta    ledger.Meta
	token   string
	holder  string
	until   time.Duration // when the lease lapses, on the model's clock
	clock   time.Duration
	page    *ledger.Page // published and not advanced
	units   map[unit.ID]*modelUnit
	faults  map[unit.ID]map[int]ledger.Fault
	todos   map[unit.ID]int // run, by unit
	retired bool
	// Of a continuous job:
	base   time.Time // the times of items are counted from it, as the clock is
	claims map[unit.ObjectID]ledger.Held
	keys   map[string]unit.Object
}

type modelUnit struct {
	ledger.Item        // without a body
	body        []byte // of its last run
	gaveBack    int    // serial whose attempt was taken back
	took        bool   // it was done before its run
}

func newModel(job string) *model {
	return &model{
		meta:  ledger.Meta{Job: job},
		units: map[unit.ID]*modelUnit{}, faults: map[unit.ID]map[int]ledger.Fault{}, todos: map[unit.ID]int{},
		claims: map[unit.ObjectID]ledger.Held{}, keys: map[string]unit.Object{},
	}
}

func (m *model) begin(r ledger.Ref, receives, limit int) (ledger.Item, error) {
	u := m.units[r.ID]
	if u == nil {
		return ledger.Item{}, ledger.ErrNoUnit
	}
	if u.State == ledger.Open && u.Run == r.Run {
		if u.Run != m.meta.Run {
			return ledger.Item{}, ledger.ErrState
		}
		u.Serial++
		u.Attempts++
		u.Last = receives >= limit || u.Attempts >= limit
		m.touch(u)
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
	if err == nil {
		u.RestDone, u.Cursor, u.Counts = true, nil, c
	}
	return err
}

// recovered is called for faulty members alone.
func (m *model) recovered(r ledger.Ref, serial, member int, c ledger.Counts) error {
	u, err := m.fenced(r, serial)
	if err == nil {
		delete(m.faults[r.ID], member)
		u.Counts = c
		if u.Cursor != nil && u.Cursor.Series == member+1 {
			u.Cursor = nil
		}
	}
	return err
}

func (m *model) pause(r ledger.Ref, serial int, cur ledger.Cursor, c ledger.Counts) error {
	u, err := m.fenced(r, serial)
	if err == nil {
		u.Cursor, u.Counts = &cur, c
		u.Attempts, u.Last, u.Repeats = 0, false, 0
		m.todos[r.ID] = r.Run
		m.touch(u)
	}
	return err
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

func (m *model) done(r ledger.Ref, c ledger.Counts) error {
	u := m.units[r.ID]
	if u == nil {
		return ledger.ErrNoUnit
	}
	if u.State != ledger.Done {
		if u.State == ledger.Dead {
			m.meta.Generation++
		}
		u.State, u.Counts, u.took = ledger.Done, c, false
		m.end(u)
	}
	return nil
}

func (m *model) dead(r ledger.Ref, serial int, c ledger.Cause) error {
	if u := m.units[r.ID]; u != nil && u.State == ledger.Dead && u.Run == r.Run && u.Serial == serial {
		return nil
	}
	u, err := m.fenced(r, serial)
	if is := m.units[r.ID]; err != nil && m.unbegun(is, r) && serial == 0 {
		u, err = is, nil
	}
	if err == nil {
		u.State, u.Cause = ledger.Dead, &c
		m.end(u)
	}
	return err
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

// progress is that of the job's run, once all of its pages are advanced.
func (m *model) progress() ledger.Progress {
	run := m.meta.Run
	p := ledger.Progress{Tally: ledger.Tally{
		Done: m.count(run, ledger.Done), Dead: m.count(run, ledger.Dead), Planned: m.meta.Planned, Listed: m.meta.Listed,
	}}
	for _, u := range m.units {
		if u.Run == run && u.State == ledger.Done {
			p.Objects += int64(u.Objects)
			p.BytesRead += u.Counts.BytesRead
			p.Records += u.Counts.In
		}
	}
	return p
}

// tookOver reports whether the run has units that were done before it.
func (m *model) tookOver() bool {
	for _, u := range m.units {
		if u.Run == m.meta.Run && u.took {
			return true
		}
	}
	return false
}

func (m *model) census(run int) ledger.Census {
	c := ledger.Census{Done: m.count(run, ledger.Done), Dead: m.count(run, ledger.Dead), Open: m.count(run, ledger.Open)}
	for _, u := range m.units {
		switch {
		case u.Run == run && u.State == ledger.Done:
			c.Counts.Add(u.Counts)
		case u.Run < run && (u.State == ledger.Done || u.Serial > 0):
			c.Unlisted++
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

func (m *model) pending(run int) (open []ledger.Planned) {
	for _, it := range m.unfinished(run) {
		if it.State == ledger.Open {
			it.Body = m.units[it.ID].body
			open = append(open, it.Planned)
		}
	}
	return open
}

func (m *model) due(run int) (ids []unit.ID) {
	for _, id := range slices.Sorted(maps.Keys(m.todos)) {
		if m.todos[id] == run {
			ids = append(ids, id)
		}
	}
	return ids
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
	m.meta.Ask++
	if m.meta.Continuous && r == failure.Fingerprint {
		m.meta.Digests.Read = ""
	}
	return true
}
