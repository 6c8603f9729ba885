package ledgertest

import (
	"time"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// What the model does to a run as a whole.

func (m *model) start(s ledger.Start) error {
	switch {
	case s.Token == m.token:
		return nil
	case m.meta.State == ledger.Listing, m.meta.State == ledger.Running:
		return ledger.ErrActive
	}
	m.token, m.holder, m.page, m.retired = s.Token, "", nil, false
	m.meta = ledger.Meta{
		Job: m.meta.Job, Run: m.meta.Run + 1, State: ledger.Listing,
		Digests: s.Digests, Source: s.Source, Generation: m.meta.Generation,
	}
	return nil
}

func (m *model) lease(c ledger.Lease) error {
	switch {
	case c.Run != m.meta.Run, m.meta.State != ledger.Listing:
		return ledger.ErrState
	case m.holder != "" && m.holder != c.Holder && m.clock < m.until:
		return ledger.ErrLeased
	}
	m.holder, m.until = c.Holder, m.clock+ledger.LeaseTime
	return nil
}

func (m *model) holds(c ledger.Lease) error {
	switch {
	case c.Run != m.meta.Run, m.meta.State != ledger.Listing:
		return ledger.ErrState
	case m.holder != c.Holder:
		return ledger.ErrLeased
	}
	return nil
}

// lapsed reports whether the lease has run out, even if its holder is still
// noted.
func (m *model) lapsed() bool { return m.clock >= m.until-time.Second }

func (m *model) publish(c ledger.Lease, p ledger.Page) (ledger.Page, []unit.ID, error) {
	if err := m.holds(c); err != nil {
		return ledger.Page{}, nil, err
	}
	if p.After != m.meta.Page {
		return ledger.Page{}, nil, ledger.ErrState
	}
	if m.page == nil {
		m.page = &p
		for _, q := range p.Units {
			m.enter(q)
		}
	}
	var send []unit.ID
	for _, q := range m.page.Units {
		if m.units[q.ID].State != ledger.Done {
			send = append(send, q.ID)
		}
	}
	return *m.page, send, nil
}

func (m *model) enter(q ledger.Planned) {
	u := m.units[q.ID]
	if u == nil {
		u = &modelUnit{Item: ledger.Item{State: ledger.Open}}
		m.units[q.ID] = u
		m.faults[q.ID] = map[int]ledger.Fault{}
	}
	if u.State == ledger.Dead {
		m.meta.Generation++
	}
	if u.State != ledger.Done {
		u.State, u.Attempts, u.Last, u.Cause = ledger.Open, 0, false, nil
	}
	u.took = u.State == ledger.Done
	u.Run, u.body = m.meta.Run, q.Body
	u.Planned = q
	u.Body = nil
}

func (m *model) advance(c ledger.Lease, p ledger.Page) error {
	if m.page == nil && c.Run == m.meta.Run && p.Last == m.meta.Page {
		return nil
	}
	if err := m.holds(c); err != nil {
		return err
	}
	if m.page == nil || p.After != m.page.After || p.Last != m.page.Last {
		return ledger.ErrState
	}
	m.meta.Page = p.Last
	m.meta.Planned += len(m.page.Units)
	m.meta.Inventory.Add(m.page.Inventory)
	m.until = m.clock + ledger.LeaseTime
	m.page = nil
	return nil
}

func (m *model) finish(c ledger.Lease) error {
	if c.Run == m.meta.Run && m.meta.Listed {
		return nil
	}
	if err := m.holds(c); err != nil {
		return err
	}
	if m.page != nil {
		return ledger.ErrState
	}
	m.meta.Listed, m.meta.State, m.holder = true, ledger.Running, ""
	return nil
}

func (m *model) conclude(run, generation int, s ledger.State) error {
	same := run == m.meta.Run && generation == m.meta.Generation
	if !same || m.meta.State.Ended() && m.meta.State != s {
		return ledger.ErrState
	}
	m.meta.State = s
	return nil
}

// redrive also says which units it opened.
func (m *model) redrive(run int) (opened []unit.ID, err error) {
	if run != m.meta.Run || m.meta.State != ledger.Running && m.meta.State != ledger.Failed {
		return nil, ledger.ErrState
	}
	for id, u := range m.units {
		if u.Run == run && u.State == ledger.Dead {
			u.State, u.Attempts, u.Last, u.Cause = ledger.Open, 0, false, nil
			u.Ended, u.Repeats = time.Time{}, 0
			opened = append(opened, id)
		}
	}
	m.meta.State = ledger.Running
	m.meta.Generation++
	m.meta.Resends = 0
	m.meta.Ask++
	m.retired = false
	return opened, nil
}

func (m *model) swept(run, ask int) {
	if run == m.meta.Run {
		m.meta.Swept = max(m.meta.Swept, ask)
	}
}

func (m *model) resend(run, generation, resends int) error {
	if run != m.meta.Run || m.meta.State != ledger.Running || generation != m.meta.Generation || resends != m.meta.Resends {
		return ledger.ErrState
	}
	m.meta.Resends++
	m.meta.Ask++
	return nil
}

func (m *model) retire(run, generation int) error {
	if run != m.meta.Run || generation != m.meta.Generation || !m.meta.State.Ended() {
		return ledger.ErrState
	}
	m.retired = true
	return nil
}
