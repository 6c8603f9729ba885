package boltledger

import (
	"github.com/spate-go/spate/pkg/ledger"
)

// head is what is kept of a job beside its units.
type head struct {
	ledger.Meta
	token string // that started the run
	// count is the run's counters. Its beat is in process, and Planned and Listed
	// are in the meta.
	count ledger.Progress
}

func (c *codec) halt(p *ledger.Halt) {
	text(c, &p.Reason)
	text(c, &p.Detail)
	c.time(&p.At)
}

func (c *codec) inventory(p *ledger.Inventory) {
	for _, n := range []*int64{&p.Objects, &p.Bytes, &p.Empty, &p.Directory, &p.Archived, &p.Excluded, &p.ArchivedBytes} {
		c.number(n)
	}
}

func (c *codec) head(p *head) {
	c.int(&p.Run)
	text(c, &p.State)
	optional(c, &p.Halt, (*codec).halt)
	text(c, &p.Digests.Plan)
	text(c, &p.Digests.Read)
	text(c, &p.Source)
	text(c, &p.Callback)
	list(c, &p.Pipelines, text[string])
	c.int(&p.Generation)
	text(c, &p.Page)
	c.inventory(&p.Inventory)
	c.int(&p.Planned)
	c.flag(&p.Listed)
	c.int(&p.Ask)
	c.time(&p.Started)
	c.time(&p.Ended)
	text(c, &p.token)
	c.int(&p.count.Done)
	c.int(&p.count.Dead)
	c.number(&p.count.Objects)
	c.number(&p.count.BytesRead)
	c.number(&p.count.Records)
}

// add counts a unit of the run as done.
func (h *head) add(objects int, c ledger.Counts) {
	h.count.Done++
	h.count.Objects += int64(objects)
	h.count.BytesRead += c.BytesRead
	h.count.Records += c.In
}

func (h *head) progress() ledger.Progress {
	p := h.count
	p.Planned, p.Listed = h.Planned, h.Listed
	return p
}

// entered is a page whose units are in the ledger, and which the listing has
// not reached yet. Its bodies are in pageBucket and bodyBucket.
type entered struct {
	ledger.Page
	planned int // units that no earlier page had
}

func (c *codec) entered(p *entered) {
	text(c, &p.After)
	text(c, &p.Last)
	c.inventory(&p.Inventory)
	c.int(&p.planned)
	list(c, &p.Units, func(c *codec, u *ledger.Planned) {
		text(c, &u.ID)
		text(c, &u.FirstKey)
		c.int(&u.Objects)
	})
}
