package dynamoledger

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// intake is an entry on its way into the table.
type intake struct {
	*Ledger
	do     op
	run    int
	units  []ledger.Planned // not entered yet
	claims []ledger.Claim
	left   []int // indices of the claims that are not entered yet
}

// Enter implements [ledger.Intaker]. The run is checked before the transaction:
// a full transaction has no room for the check, and in any other it would have
// intakes and readers contend for the job's item.
func (l *Ledger) Enter(ctx context.Context, e ledger.Entry) ([]ledger.Held, error) {
	in := &intake{Ledger: l, do: onJob("enter units of", e.Job), run: e.Run, units: e.Units, claims: e.Claims}
	if len(e.Claims) > ledger.MaxClaims {
		return nil, failure.Errorf(failure.Job, failure.Config, "%s: %d claims at once, of at most %d: enter them apart", in.do, len(e.Claims), ledger.MaxClaims)
	}
	h, err := l.head(ctx, in.do)
	if err == nil && (h.Run != e.Run || h.State != ledger.Running || !h.Continuous) {
		err = h.moved(in.do, fmt.Sprintf("and units of run %d came", e.Run))
	}
	if err != nil {
		return nil, err
	}
	for i := range e.Claims {
		in.left = append(in.left, i)
	}
	if len(e.Units)+len(e.Claims) > ledger.MaxEntry || bodies(e.Units) > maxTransaction {
		held, err := in.ahead(ctx)
		if len(held) > 0 || err != nil {
			return held, err
		}
	}
	return in.enter(ctx)
}

func bodies(units []ledger.Planned) (n int) {
	for _, u := range units {
		n += len(u.Body)
	}
	return n
}

// ahead enters the units of an entry that does not fit into a transaction. A
// caller that dies after this leaves units that nobody has claimed, which the
// schedule sends.
func (in *intake) ahead(ctx context.Context) ([]ledger.Held, error) {
	held, err := in.barred(ctx)
	if len(held) > 0 || err != nil {
		return held, err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(in.concurrency)
	for _, u := range in.units {
		g.Go(func() error {
			_, _, err := in.update(gctx, in.do, in.unit(u))
			return err
		})
	}
	in.units = nil
	return nil, g.Wait()
}

// barred reads which of the claims others hold.
func (in *intake) barred(ctx context.Context) (held []ledger.Held, err error) {
	found := make([]attributes, len(in.claims))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(in.concurrency)
	for i, c := range in.claims {
		g.Go(func() (err error) {
			found[i], err = in.get(gctx, in.do, claimKey(in.do.Job, c.ID))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for i, a := range found {
		if a == nil {
			continue
		}
		if held, err = in.judge(held, i, a); err != nil {
			return nil, err
		}
	}
	return held, nil
}

// judge decodes the item a, which is in the way of the i-th claim, and appends
// it to held if others hold it.
func (in *intake) judge(held []ledger.Held, i int, a attributes) ([]ledger.Held, error) {
	h, err := decodeClaim(a)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.do, err)
	}
	if h.Index = i; bars(h, in.claims[i]) {
		held = append(held, h)
	}
	return held, nil
}

// enter enters what is left, atomically. Items that are there already are left
// out of the next try: they are this entry's own, from a call that got further
// than its caller learned.
func (in *intake) enter(ctx context.Context) ([]ledger.Held, error) {
	for len(in.units)+len(in.left) > 0 {
		var parts []types.TransactWriteItem
		for _, u := range in.units {
			parts = append(parts, in.part(in.unit(u)))
		}
		for _, i := range in.left {
			parts = append(parts, in.part(in.claimed(in.do.Job, in.claims[i])))
		}
		refused, err := in.transact(ctx, in.do, parts...)
		if err != nil || refused == nil {
			return nil, err
		}
		if held, err := in.refused(refused); len(held) > 0 || err != nil {
			return held, err
		}
	}
	return nil, nil
}

// refused drops what is entered already and returns the claims that others hold.
func (in *intake) refused(r refusal) (held []ledger.Held, err error) {
	var units []ledger.Planned
	var left []int
	for n, u := range in.units {
		if _, there := r.of(n); !there {
			units = append(units, u)
		}
	}
	for n, i := range in.left {
		a, is := r.of(len(in.units) + n)
		if !is {
			left = append(left, i)
			continue
		}
		if held, err = in.judge(held, i, a); err != nil {
			return nil, err
		}
	}
	in.units, in.left = units, left
	return held, nil
}

// unit enters a unit that is not there. The body is in the item: it is read
// together with it, and goes when the unit is done.
func (in *intake) unit(u ledger.Planned) write {
	now := in.clock()
	return write{
		key: unitKey(in.do.Job, u.ID),
		set: "SET #run = :run, #state = :open, #first = :first, #objects = :objects, #serial = :zero, #attempts = :zero, #repeats = :zero," +
			" #faults = :none, #body = :body, #entered = :now, #unfinished = :place",
		when: "attribute_not_exists(#pk)",
		values: attributes{
			"run": num(in.run), "open": str(ledger.Open), "first": bin([]byte(u.FirstKey)), "objects": num(u.Objects),
			"zero": num(0), "none": doc(attributes{}), "body": bin(in.press.pack(u.Body)), "now": when(now), "place": str(openPlace(in.run, now)),
		},
	}
}

// Look implements [ledger.Intaker]. An intake looks for each unit before it
// enters it, and nearly always there is none: once the job was seen, it need
// not be read again to say so.
func (l *Ledger) Look(ctx context.Context, r ledger.Ref) (ledger.Item, error) {
	do := op{"look up", r}
	a, err := l.get(ctx, do, unitKey(r.Job, r.ID))
	switch {
	case err != nil:
		return ledger.Item{}, err
	case a == nil && l.past(r.Job, 0): // the job was seen
		return ledger.Item{}, fmt.Errorf("%s: %w", do, ledger.ErrNoUnit)
	}
	e, err := l.found(ctx, do, a)
	if err != nil {
		return ledger.Item{}, err
	}
	if e.State == ledger.Open {
		e.Body = e.body
	}
	return e.Item, nil
}
