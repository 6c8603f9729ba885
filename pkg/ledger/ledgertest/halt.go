package ledgertest

import (
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

var (
	denied = ledger.Halt{Reason: failure.Denied, Detail: "s3:GetObject on arn:aws:s3:::b/k", At: time.Unix(1_800_000_000, 0).UTC()}
	down   = ledger.Halt{Reason: failure.SinkDown, Detail: "sink main: 503", At: time.Unix(1_800_000_100, 0).UTC()}
	schema = ledger.Halt{Reason: failure.Schema, Detail: "no column b", At: time.Unix(1_800_000_200, 0).UTC()}
)

func (b bench) halts(h ledger.Halt, wantSet bool, stands *ledger.Halt) {
	b.Helper()
	set, err := b.Halt(b.ctx, b.job, h)
	b.ok(err)
	b.equal("this call set it", set, wantSet)
	b.equal("halt", b.meta().Halt, stands)
}

var halt = []subtest{
	{"the first halt stands, and only its call set it", func(b bench) {
		b.running("t1", 1)
		b.equal("halt", b.meta().Halt, (*ledger.Halt)(nil))
		b.halts(denied, true, &denied)
		b.halts(denied, false, &denied)
		b.halts(schema, false, &denied)
		b.halts(down, false, &denied)
		b.equal("state", b.meta().State, ledger.Running)
	}},
	{"a job that is listing is halted too", func(b bench) {
		b.listing("t1")
		b.halts(denied, true, &denied)
		b.equal("state", b.meta().State, ledger.Listing)
	}},
	{"any other halt replaces one for sink_down", func(b bench) { // trap 9 of the model
		b.running("t1", 1)
		b.halts(down, true, &down)
		b.halts(down, false, &down)
		b.halts(denied, true, &denied)
		b.halts(schema, false, &denied)
	}},
	{"items stay as they are while the job stands", func(b bench) {
		b.running("t1", 2)
		b.begun(1, 0)
		before := b.items(1)
		b.halts(denied, true, &denied)
		b.equal("items", b.items(1), before)
	}},
	{"an ended job is not halted", func(b bench) {
		b.running("t1", 1)
		b.over()
		b.halts(denied, false, nil)
	}},
	{"Resume clears the halt that it names, once", func(b bench) {
		b.running("t1", 1)
		b.resumes(failure.Denied, false, nil)
		b.halts(denied, true, &denied)
		b.resumes(failure.SinkDown, false, &denied) // a probe that fared well clears no other halt
		b.resumes(failure.Denied, true, nil)
		b.resumes(failure.Denied, false, nil)
		b.halts(schema, true, &schema)
	}},
	{"Resume asks for a send of every open unit when it clears a halt, and else for none", func(b bench) {
		b.running("t1", 1)
		ask := b.meta().Ask
		b.halts(denied, true, &denied)
		b.resumes(failure.SinkDown, false, &denied)
		b.equal("ask", b.meta().Ask, ask)
		b.resumes(failure.Denied, true, nil)
		b.resumes(failure.Denied, false, nil)
		b.equal("ask", b.meta().Ask, ask+1)
		b.halts(down, true, &down)
		b.resumes(failure.SinkDown, true, nil)
		b.equal("ask", b.meta().Ask, ask+2)
	}},
	{"what a caller changes in a halt that it got does not show", func(b bench) {
		b.running("t1", 1)
		b.halts(denied, true, &denied)
		b.meta().Halt.Detail = "other"
		b.started("t1").Halt.Detail = "other"
		b.equal("halt", b.meta().Halt, &denied)
	}},
}

func (b bench) resumes(r failure.Reason, wantCleared bool, stands *ledger.Halt) {
	b.Helper()
	cleared, err := b.Resume(b.ctx, b.job, r)
	b.ok(err)
	b.equal("this call cleared it", cleared, wantCleared)
	b.equal("halt", b.meta().Halt, stands)
}
