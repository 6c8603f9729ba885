package dynamoledger

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// Publish implements [ledger.Planner]. The page is stored first, in a
// transaction that only the lease's holder gets through. Then its units are
// written, which needs no lease: whoever writes them, they are those of the
// stored page.
func (l *Ledger) Publish(ctx context.Context, c ledger.Lease, p ledger.Page) (ledger.Page, []unit.ID, error) {
	do := onJob("publish a page of", c.Job)
	h, err := l.head(ctx, do)
	if err == nil {
		err = h.follows(do, c, p)
	}
	if err != nil {
		return ledger.Page{}, nil, err
	}
	parts, err := l.store(ctx, do, &h, c, p)
	if err != nil {
		return ledger.Page{}, nil, err
	}
	e := &entering{Ledger: l, do: do, lease: c, page: pageOf(h.pages), taken: map[int]tally{}}
	due, err := e.enter(ctx, parts)
	if err != nil {
		return ledger.Page{}, nil, err
	}
	if e.again != h.again {
		v := l.leasing(c)
		v["again"], v["pages"] = e.again.packed(), num(h.pages)
		now, ok, err := l.change(ctx, do, write{set: "SET #again = :again", when: leasing + " AND #pages = :pages", values: v})
		if err == nil && !ok {
			err = now.follows(do, c, p)
		}
		if err != nil {
			return ledger.Page{}, nil, err
		}
	}
	return joined(parts), due, nil
}

// follows returns an error unless p is the page after what the run has reached.
func (h *head) follows(do op, c ledger.Lease, p ledger.Page) error {
	if err := h.leased(do, c); err != nil {
		return err
	}
	if p.After != h.Page {
		return h.moved(do, fmt.Sprintf("the listing is at %q, and a page after %q came", h.Page, p.After))
	}
	return nil
}

// store enters p as the page under way, unless there is one: then it returns
// that one.
func (l *Ledger) store(ctx context.Context, do op, h *head, c ledger.Lease, p ledger.Page) ([]part, error) {
	if h.published > h.pages {
		return l.stored(ctx, do, c, h.pages)
	}
	parts := partsOf(h.pages, p)
	v := l.leasing(c)
	v["pages"], v["next"] = num(h.pages), num(h.pages+1)
	enter := write{
		key:    metaKey(c.Job),
		set:    "SET #published = :next",
		when:   leasing + " AND #pages = :pages AND #published = :pages",
		values: v,
	}
	// What does not fit into the last transaction is written before it. Nobody takes
	// it for a part of the page before the first part is there, and a later lister
	// overwrites it.
	groups := l.grouped(c, parts)
	for i := len(groups) - 1; i >= 0; i-- {
		head := l.check(enter)
		if i == 0 {
			head = l.part(enter)
		}
		refused, err := l.transact(ctx, do, append([]types.TransactWriteItem{head}, groups[i]...)...)
		if err != nil {
			return nil, err
		}
		if refused != nil {
			a, _ := refused.of(0)
			return l.overtaken(ctx, do, h, c, p, a)
		}
	}
	return parts, nil
}

// maxTransaction is how many bytes of a page one transaction carries. The
// service's limit is 4 MB, and it does not say whether before or after base64.
const maxTransaction = 2 << 20

// grouped are the writes of the parts, in groups that each fit into one
// transaction.
func (l *Ledger) grouped(c ledger.Lease, parts []part) (groups [][]types.TransactWriteItem) {
	size := 0
	for i := range parts {
		a := parts[i].encode(c.Job, c.Run, &l.press)
		a["expires"] = l.expires()
		f := fields{of: a}
		n := len(f.bytes("units"))
		if i == 0 || size+n > maxTransaction {
			groups, size = append(groups, nil), 0
		}
		size += n
		last := &groups[len(groups)-1]
		*last = append(*last, l.put(a, write{}))
	}
	return groups
}

// overtaken returns the page under way after another call has entered it
// meanwhile. a is the job's item.
func (l *Ledger) overtaken(ctx context.Context, do op, h *head, c ledger.Lease, p ledger.Page, a attributes) ([]part, error) {
	now, err := l.known(do, a)
	if err == nil {
		err = now.follows(do, c, p)
	}
	if err != nil {
		return nil, err
	}
	if now.pages != h.pages || now.published == now.pages {
		return nil, now.moved(do, "and it moved while a page came")
	}
	return l.stored(ctx, do, c, h.pages)
}

// stored reads a page of the plan.
func (l *Ledger) stored(ctx context.Context, do op, c ledger.Lease, page int) (parts []part, err error) {
	const when = "#pk = :pk AND begins_with(#sk, :page)"
	v := attributes{"pk": str(planPartition(c.Job, c.Run)), "page": str(pageOf(page))}
	q := dynamodb.QueryInput{KeyConditionExpression: text(when), ExpressionAttributeNames: names(when), ExpressionAttributeValues: v.used(when)}
	err = l.query(ctx, do, q, func(a attributes) error {
		t, err := decodePart(a, &l.press)
		parts = append(parts, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 || len(parts) < parts[0].parts {
		return nil, failure.Errorf(failure.Job, failure.Config, "%s: %d parts of page %d of run %d are in the table, and there were more: start the job again", do, len(parts), page, c.Run)
	}
	return parts[:parts[0].parts], nil // what follows was left by another lister
}

// joined is the page made of all its parts.
func joined(parts []part) ledger.Page {
	p := parts[0].page
	p.Units = nil
	for _, t := range parts {
		p.Units = append(p.Units, t.page.Units...)
	}
	return p
}
