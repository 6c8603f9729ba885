package report

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// How much a report names at most, of dead and of missing units each. A unit
// may have a thousand bad objects, and a key a kilobyte: hence the bound on
// bytes.
const (
	MaxNamed      = 10_000
	MaxNamedBytes = 8 << 20
)

// How much of that is left in Brief, which has to fit into an event or the
// response to a task: 256 KiB, of which some keys take six times their bytes.
const (
	maxBrief      = 10
	maxBriefBytes = 12 << 10
)

// room is what a list may still take.
type room struct{ units, bytes int }

// take reports whether there is room for one more of that size. If there is
// not, the list ends: something later may be smaller, but the list would no
// longer be of the first ones.
func (r *room) take(size int) bool {
	if r.units == 0 || size > r.bytes {
		r.units = 0
		return false
	}
	r.units--
	r.bytes -= size
	return true
}

// Names enters units into a report: it counts all of them, and lists the first,
// as many as there is room for.
type Names struct {
	report        *Report
	dead, missing room
}

// Names begins r's lists.
func (r *Report) Names() *Names { return r.names(MaxNamed, MaxNamedBytes) }

func (r *Report) names(units, bytes int) *Names {
	r.Units.Dead, r.Units.Missing, r.Omitted = 0, 0, Omitted{}
	r.Dead, r.Missing = []Dead{}, []Missing{}
	return &Names{report: r, dead: room{units, bytes}, missing: room{units, bytes}}
}

// Dead enters a unit given up.
func (n *Names) Dead(d Dead) {
	n.report.Units.Dead++
	if n.dead.take(d.size()) {
		n.report.Dead = append(n.report.Dead, d)
	} else {
		n.report.Omitted.Dead++
	}
}

// Missing enters a unit that is neither done nor dead.
func (n *Names) Missing(m Missing) {
	n.report.Units.Missing++
	if n.missing.take(m.size()) {
		n.report.Missing = append(n.report.Missing, m)
	} else {
		n.report.Omitted.Missing++
	}
}

// Brief is r with few names, small enough for an event.
func (r *Report) Brief() *Report {
	b := *r
	n := b.names(maxBrief, maxBriefBytes)
	for _, d := range r.Dead {
		n.Dead(d)
	}
	for _, m := range r.Missing {
		n.Missing(m)
	}
	b.Units = r.Units
	b.Omitted = Omitted{Dead: r.Units.Dead - len(b.Dead), Missing: r.Units.Missing - len(b.Missing)}
	b.Reason = cut(b.Reason)
	return &b
}

// cut shortens a text that was somebody else's message.
func cut(s string) string {
	const most = 2 << 10
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes in all)", bytes.ToValidUTF8([]byte(s[:most]), nil), len(s))
}

const fieldBytes = 100 // names and numbers of an entry, about

func (d *Dead) size() int {
	n := fieldBytes + len(d.Unit) + len(d.Detail)
	for i := range d.Objects {
		o := &d.Objects[i]
		n += fieldBytes + len(o.Key) + len(o.KeyBase64) + len(o.ETag) + len(o.Version) + len(o.Detail)
	}
	return n
}

func (m *Missing) size() int { return fieldBytes + len(m.Unit) + len(m.Key) }

// JSON is r as it is written.
func (r *Report) JSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("write report of job %s: %w", r.Job, err)
	}
	return b.Bytes(), nil
}
