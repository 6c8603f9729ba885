package dynamoledger

import (
	"context"
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
)

// leasing is the condition of a lister's write. A lease that lapsed does no
// harm while nobody else took it.
const leasing = "#run = :run AND #state = :listing AND #holder = :holder"

func (l *Ledger) leasing(c ledger.Lease) attributes {
	now := l.clock()
	return attributes{
		"run": num(c.Run), "listing": str(ledger.Listing), "running": str(ledger.Running), "holder": str(c.Holder),
		"now": when(now), "until": when(now.Add(ledger.LeaseTime)), "yes": flag(true),
	}
}

// lists returns an error unless the run of c is listing.
func (h *head) lists(do op, c ledger.Lease) error {
	if h.Run != c.Run || h.State != ledger.Listing {
		return h.moved(do, fmt.Sprintf("and a lister of run %d came", c.Run))
	}
	return nil
}

// leased returns an error unless c holds the lease.
func (h *head) leased(do op, c ledger.Lease) error {
	if err := h.lists(do, c); err != nil {
		return err
	}
	if h.holder == "" || h.holder != c.Holder {
		return h.taken(do, c)
	}
	return nil
}

func (h *head) taken(do op, c ledger.Lease) error {
	return fmt.Errorf("%s: %q holds run %d until %v, and %q came: %w", do, h.holder, h.Run, h.Leased, c.Holder, ledger.ErrLeased)
}

// Lease implements [ledger.Planner].
func (l *Ledger) Lease(ctx context.Context, c ledger.Lease) (ledger.Meta, error) {
	do := onJob("lease", c.Job)
	h, ok, err := l.change(ctx, do, write{
		set:    "SET #holder = :holder, #leased = :until",
		when:   "#run = :run AND #state = :listing AND (attribute_not_exists(#holder) OR #holder = :holder OR #leased <= :now)",
		values: l.leasing(c),
		now:    true,
	})
	if err != nil || ok {
		return h.Meta, err
	}
	if err := h.lists(do, c); err != nil {
		return ledger.Meta{}, err
	}
	return ledger.Meta{}, h.taken(do, c)
}

// Advance implements [ledger.Planner].
func (l *Ledger) Advance(ctx context.Context, c ledger.Lease, p ledger.Page) error {
	do := onJob("advance", c.Job)
	h, err := l.head(ctx, do)
	if err != nil || h.reached(c, p) {
		return err
	}
	if err := h.advances(do, c, p); err != nil {
		return err
	}
	v := l.leasing(c)
	v["pages"], v["next"], v["page"] = num(h.pages), num(h.pages+1), bin([]byte(p.Last))
	h.Inventory.Add(p.Inventory)
	for _, u := range p.Units {
		h.shards[u.ID.Shard()]++
	}
	for i, n := range h.again {
		h.shards[i] -= n
	}
	v["inventory"], v["planned"] = packedInventory(h.Inventory), h.shards.packed()
	now, ok, err := l.change(ctx, do, write{
		set:    "SET #pages = :next, #page = :page, #inventory = :inventory, #planned = :planned, #leased = :until REMOVE #again",
		when:   leasing + " AND #pages = :pages AND #published = :next",
		values: v,
	})
	if err != nil || ok || now.reached(c, p) {
		return err
	}
	return now.advances(do, c, p)
}

// reached reports whether the run of c is at p's end.
func (h *head) reached(c ledger.Lease, p ledger.Page) bool {
	return h.Run == c.Run && h.Page == p.Last && h.published == h.pages
}

// advances returns an error unless c may advance by p.
func (h *head) advances(do op, c ledger.Lease, p ledger.Page) error {
	if err := h.leased(do, c); err != nil {
		return err
	}
	if h.published == h.pages || p.After != h.Page {
		return h.moved(do, fmt.Sprintf("the listing is at %q, and the page from %q to %q came", h.Page, p.After, p.Last))
	}
	return nil
}

// Finish implements [ledger.Planner].
func (l *Ledger) Finish(ctx context.Context, c ledger.Lease) error {
	do := onJob("finish listing of", c.Job)
	h, ok, err := l.change(ctx, do, write{
		set:    "SET #listed = :yes, #state = :running REMOVE #holder, #leased",
		when:   leasing + " AND #published = #pages",
		values: l.leasing(c),
	})
	if err != nil || ok || h.Run == c.Run && h.Listed {
		return err
	}
	if err := h.leased(do, c); err != nil {
		return err
	}
	return h.moved(do, fmt.Sprintf("and has not reached the page after %q", h.Page))
}
