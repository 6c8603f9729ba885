package ledgertest

import (
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

func (h *history) work(r ledger.Ref) {
	receives, limit := 1+h.r.IntN(4), 4
	h.do(fmt.Sprintf("begin %+v, receives %d of %d", r, receives, limit), func() {
		got, err := h.Begin(h.ctx, r, receives, limit)
		want, wantErr := h.model.begin(r, receives, limit)
		h.same(err, wantErr)
		if want.State == ledger.Done { // of which a ledger need not keep more
			got, want = ledger.Item{Run: got.Run, State: got.State}, ledger.Item{Run: want.Run, State: want.State}
		}
		h.equal("item", h.plain(got), want)
	})
}

// write is one fenced write.
func (h *history) write(r ledger.Ref, serial int) {
	member, c := h.r.IntN(3), times(1+h.r.IntN(3), one)
	at := fmt.Sprintf(" %+v at serial %d", r, serial)
	switch h.r.IntN(6) {
	case 0:
		f := ledger.Fault{Member: member, Record: int64(h.r.IntN(4)), Reason: failure.Undecodable}
		h.do(fmt.Sprintf("fault%s: %+v", at, f), func() {
			h.same(h.Fault(h.ctx, r, serial, f), h.model.fault(r, serial, f))
		})
	case 1:
		h.do("rest done"+at, func() {
			h.same(h.RestDone(h.ctx, r, serial, c), h.model.restDone(r, serial, c))
		})
	case 2:
		if _, faulty := h.model.faults[r.ID][member]; !faulty {
			return
		}
		h.do(fmt.Sprintf("recovered%s: %d", at, member), func() {
			h.same(h.Recovered(h.ctx, r, serial, member, c), h.model.recovered(r, serial, member, c))
		})
	case 3:
		h.pauseUnit(r, serial, ledger.Cursor{Series: member, Segment: h.r.IntN(9), Record: int64(h.r.IntN(9))}, c)
	case 4:
		if u := h.model.units[r.ID]; u != nil && u.Attempts == 0 && u.gaveBack != serial {
			return // nothing was begun since, so no reader has what to give back
		}
		h.do("give back"+at, func() {
			h.same(h.GiveBack(h.ctx, r, serial), h.model.giveBack(r, serial))
		})
	default:
		h.do("dead"+at, func() {
			got, err := h.Dead(h.ctx, r, serial, cause)
			wantErr := h.model.dead(r, serial, cause)
			h.same(err, wantErr)
			h.told(got, r, wantErr)
		})
	}
}

func (h *history) pauseUnit(r ledger.Ref, serial int, cur ledger.Cursor, c ledger.Counts) {
	h.do(fmt.Sprintf("pause %+v at serial %d: %+v", r, serial, cur), func() {
		wantErr := h.model.pause(r, serial, cur, c)
		h.same(h.Pause(h.ctx, r, serial, cur, c), wantErr)
		if wantErr != nil || h.shared == nil {
			return
		}
		for _, t := range h.due(h.shared, r.Run) {
			if t.ID == r.ID {
				h.numbers[r.ID] = append(h.numbers[r.ID], t.Number)
			}
		}
	})
}

func (h *history) finishUnit(r ledger.Ref) {
	c := times(1+h.r.IntN(3), one)
	h.do(fmt.Sprintf("done %+v", r), func() {
		got, err := h.Done(h.ctx, r, c)
		wantErr := h.model.done(r, c)
		h.same(err, wantErr)
		h.told(got, r, wantErr)
	})
}

// told checks the tally that came with a unit of the job's run.
func (h *history) told(got ledger.Tally, r ledger.Ref, err error) {
	h.Helper()
	if err == nil && h.model.page == nil && h.model.units[r.ID].Run == h.model.meta.Run {
		h.tells(got, h.model.progress().Tally)
	}
}

// list is a step of one of two listers.
func (h *history) list(run int) {
	m, c := h.model, h.by([]string{"first", "second"}[h.r.IntN(2)], run)
	if m.meta.State == ledger.Listing && m.meta.Run == run && (m.holder == "" || m.lapsed()) {
		h.lease(c)
		return
	}
	if m.holder != "" && h.r.IntN(4) > 0 {
		c.Holder = m.holder
	}
	switch h.r.IntN(8) {
	case 0, 1, 2:
		h.publishPage(c)
	case 3, 4, 5:
		h.advancePage(c)
	case 6:
		h.do(fmt.Sprintf("finish %+v", c), func() { h.same(h.Finish(h.ctx, c), m.finish(c)) })
	default:
		d := ledger.LeaseTime * time.Duration(1+h.r.IntN(3)) / 2
		if h.harness.Lapse != nil {
			h.do(fmt.Sprintf("%v pass", d), func() {
				h.lapse(d)
				m.clock += d
			})
			return
		}
		h.lease(c)
	}
}

func (h *history) lease(c ledger.Lease) {
	h.do(fmt.Sprintf("lease %+v", c), func() {
		_, err := h.Lease(h.ctx, c)
		h.same(err, h.model.lease(c))
	})
}

// publishPage publishes the page that comes next, in one of several lengths, or
// one that does not follow.
func (h *history) publishPage(c ledger.Lease) {
	from := 0
	for key(from) != h.model.meta.Page && h.model.meta.Page != "" {
		from++
	}
	if h.r.IntN(8) == 0 {
		from++
	}
	if from > 4 {
		return
	}
	p := page(from, from+1+h.r.IntN(2))
	for i := range p.Units {
		p.Units[i].Body = fmt.Appendf(p.Units[i].Body, " of run %d, published as %d", c.Run, h.r.Int())
	}
	h.do(fmt.Sprintf("publish %+v: after %q to %q", c, p.After, p.Last), func() {
		got, ids, err := h.Publish(h.ctx, c, p)
		want, wantIDs, wantErr := h.model.publish(c, p)
		h.same(err, wantErr)
		h.equal("page", got, want)
		h.equal("to send", sorted(ids), sorted(wantIDs))
	})
}

// advancePage advances the page that was published, or one that is nowhere.
func (h *history) advancePage(c ledger.Lease) {
	p := page(7, 8)
	if h.model.page != nil && h.r.IntN(8) > 0 {
		p = *h.model.page
	}
	h.do(fmt.Sprintf("advance %+v: after %q to %q", c, p.After, p.Last), func() {
		h.same(h.Advance(h.ctx, c, p), h.model.advance(c, p))
	})
}

// dispatch is what the schedule does.
func (h *history) dispatch(run int) {
	m := h.model
	generation := m.meta.Generation - h.r.IntN(4)/3
	switch h.r.IntN(4) {
	case 0:
		h.sendTodo(run)
	case 1:
		ask := m.meta.Ask - h.r.IntN(2)
		if ask < 0 || run != m.meta.Run {
			return
		}
		h.do(fmt.Sprintf("swept of run %d at %d", run, ask), func() {
			h.ok(h.shared.Swept(h.ctx, h.job, run, ask))
			m.swept(run, ask)
		})
	case 2:
		resends := m.meta.Resends - h.r.IntN(4)/3
		h.do(fmt.Sprintf("resend of run %d at generation %d after %d", run, generation, resends), func() {
			h.same(h.shared.Resend(h.ctx, h.job, run, generation, resends), m.resend(run, generation, resends))
		})
	default:
		h.do(fmt.Sprintf("retire run %d at generation %d", run, generation), func() {
			h.same(h.shared.Retire(h.ctx, h.job, run, generation), m.retire(run, generation))
		})
	}
}

// sendTodo says of a todo that it was sent, by its present number or an earlier
// one.
func (h *history) sendTodo(run int) {
	due := h.due(h.shared, run)
	if len(due) == 0 {
		return
	}
	t := due[h.r.IntN(len(due))]
	old := h.numbers[t.ID]
	was := ledger.Todo{ID: t.ID, Number: old[h.r.IntN(len(old))]}
	h.do(fmt.Sprintf("sent %+v, and %+v is due", was, t), func() {
		h.ok(h.shared.Sent(h.ctx, h.job, was))
		if was.Number == t.Number {
			delete(h.model.todos, t.ID)
		}
	})
}
