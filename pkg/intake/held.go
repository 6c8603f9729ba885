package intake

import (
	"context"
	"errors"
	"fmt"

	"github.com/spate-go/spate/pkg/cut"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// repeat settles those of ws whose claims are held, unit by unit. A version
// that was overwritten before it was read may be taken again, in a unit of its
// own: it is left for the next round, with the number of its take.
//
// Anything else that is claimed is in a unit, and so will be read. That unit is
// sent again only if it is not done and the object was announced before:
// whoever took it then may have died between entering the unit and sending it.
func (in *Intake) repeat(ctx context.Context, m ledger.Meta, ws []*want, s *sends) {
	of := map[unit.ID][]*want{}
	var units []unit.ID
	for _, w := range ws {
		h := w.held
		w.held = nil
		switch {
		case h == nil: // its group was not entered, because others hold some of it
		case h.Overwritten:
			w.Take = h.Take + 1
		case !w.again:
			w.repeated(h.Unit)
		default:
			w.Take = h.Take
			if of[h.Unit] == nil {
				units = append(units, h.Unit)
			}
			of[h.Unit] = append(of[h.Unit], w)
		}
	}
	each(atOnce, units, func(id unit.ID) { in.resend(ctx, m, id, of[id], s) })
}

// resend sends what is open of a unit and, if it is the first range of an
// object, of the other ranges, as the ledger has them.
func (in *Intake) resend(ctx context.Context, m ledger.Meta, first unit.ID, ws []*want, s *sends) {
	ids := in.parts(m, first, ws[0].Object)
	open := make([]feed.Message, len(ids))
	errs := make([]error, len(ids))
	at := make([]int, len(ids))
	for i := range at {
		at[i] = i
	}
	each(cut.AtOnce, at, func(i int) {
		it, err := in.lookUp(ctx, m, ids[i])
		switch {
		case errors.Is(err, ledger.ErrNoUnit): // done, and forgotten before its claims
		case err != nil:
			errs[i] = err
		case it.State == ledger.Open && it.Run == m.Run:
			open[i] = feed.Message{ID: it.ID, Job: m.Job, Body: it.Body}
		}
	})
	var ms []feed.Message
	for _, o := range open {
		if o.ID != "" {
			ms = append(ms, o)
		}
	}
	err := errors.Join(errs...)
	if err == nil {
		err = in.deliver(ctx, ms, s)
	}
	if err != nil {
		failAll(ws, err)
		return
	}
	for _, w := range ws {
		if len(ms) > 0 {
			w.sent(first)
		} else {
			w.repeated(first)
		}
	}
}

// parts are the units that the claim on o, which names first, stands for: all
// the ranges of an object that was cut. If the target has changed since, it is
// first alone, and the schedule sends the others.
func (in *Intake) parts(m ledger.Meta, first unit.ID, o unit.Object) []unit.ID {
	var ids []unit.ID
	for _, u := range in.ranges(m, o, in.opts.Cut) {
		ids = append(ids, u.ID())
	}
	if ids[0] != first {
		return []unit.ID{first}
	}
	return ids
}

func (in *Intake) lookUp(ctx context.Context, m ledger.Meta, id unit.ID) (ledger.Item, error) {
	it, err := ledger.Ask(ctx, func() (ledger.Item, error) {
		return in.ledger.Look(ctx, ledger.Ref{Job: m.Job, Run: m.Run, ID: id})
	})
	if err != nil {
		return it, fmt.Errorf("look up unit %s: %w", id, err)
	}
	return it, nil
}
