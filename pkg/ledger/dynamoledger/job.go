package dynamoledger

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// Meta implements [ledger.Worker].
func (l *Ledger) Meta(ctx context.Context, job string) (ledger.Meta, error) {
	h, err := l.head(ctx, onJob("look up", job))
	return h.Meta, err
}

// Joined implements [ledger.Worker].
func (l *Ledger) Joined(ctx context.Context, job, pipeline string) error {
	_, _, err := l.change(ctx, onJob("join", job), write{
		set:    "ADD #pipelines :pipeline",
		values: attributes{"pipeline": &types.AttributeValueMemberSS{Value: []string{pipeline}}},
	})
	return err
}

// Halt implements [ledger.Worker].
func (l *Ledger) Halt(ctx context.Context, job string, h ledger.Halt) (bool, error) {
	free := "attribute_not_exists(#halt)"
	if !h.SinkDown() {
		free = "(" + free + " OR #halt.#reason = :sinkdown)"
	}
	_, ok, err := l.change(ctx, onJob("halt", job), write{
		set:  "SET #halt = :halt, #by = :by",
		when: free + " AND #state IN (:listing, :running)",
		values: attributes{
			"halt": haltValue(h), "by": bin(nonce()), "sinkdown": str(failure.SinkDown),
			"listing": str(ledger.Listing), "running": str(ledger.Running),
		},
	})
	return ok, err
}

// Resume implements [ledger.Operator].
func (l *Ledger) Resume(ctx context.Context, job string, r failure.Reason) (bool, error) {
	do := onJob("resume", job)
	w := write{
		set:    "SET #ask = #ask + :one, #by = :by REMOVE #halt",
		when:   "#halt.#reason = :reason",
		values: attributes{"one": num(1), "by": bin(nonce()), "reason": str(r), "none": str("")},
	}
	if r == failure.Fingerprint {
		h, err := l.head(ctx, do)
		if err != nil {
			return false, err
		}
		if h.Continuous {
			w.set = "SET #ask = #ask + :one, #by = :by, #read = :none REMOVE #halt"
		}
		w.when += " AND #run = :run" // the one that was looked at
		w.values["run"] = num(h.Run)
	}
	_, ok, err := l.change(ctx, do, w)
	return ok, err
}

// Conclude implements [ledger.Prover].
func (l *Ledger) Conclude(ctx context.Context, job string, run, generation int, s ledger.State) error {
	do := onJob("conclude", job)
	from := "#state IN (:listing, :running)"
	switch {
	case !s.Ended():
		return fmt.Errorf("%s: %q is no end: %w", do, s, ledger.ErrState)
	case s == ledger.Completed:
		from = "#state = :running AND #listed = :yes" // only with its end marker
	}
	h, ok, err := l.change(ctx, do, write{
		set:  "SET #state = :state, #ended = :ended REMOVE #holder, #leased",
		when: "#run = :run AND #generation = :generation AND " + from,
		values: attributes{
			"state": str(s), "ended": when(l.clock()), "run": num(run), "generation": num(generation),
			"listing": str(ledger.Listing), "running": str(ledger.Running), "yes": flag(true),
		},
	})
	if err != nil || ok || h.Run == run && h.Generation == generation && h.State == s {
		return err
	}
	return h.moved(do, fmt.Sprintf("and %s for run %d at generation %d came", s, run, generation))
}

// Swept implements [ledger.Dispatcher]. For another run than the job's it does
// nothing.
func (l *Ledger) Swept(ctx context.Context, job string, run, ask int) error {
	_, _, err := l.change(ctx, onJob("note a sweep of", job), write{
		set:    "SET #swept = :ask",
		when:   "#run = :run AND #swept < :ask",
		values: attributes{"run": num(run), "ask": num(ask)},
	})
	return err
}

// Resend implements [ledger.Dispatcher].
func (l *Ledger) Resend(ctx context.Context, job string, run, generation, resends int) error {
	do := onJob("send again", job)
	h, ok, err := l.change(ctx, do, write{
		set:  "SET #resends = :next, #ask = #ask + :one, #by = :by",
		when: "#run = :run AND #generation = :generation AND #state = :running AND #resends = :resends",
		values: attributes{
			"run": num(run), "generation": num(generation), "resends": num(resends), "next": num(resends + 1),
			"one": num(1), "by": bin(nonce()), "running": str(ledger.Running),
		},
	})
	if err != nil || ok {
		return err
	}
	return h.moved(do, fmt.Sprintf("after %d re-sends, and one of run %d at generation %d after %d came", h.Resends, run, generation, resends))
}

// Retire implements [ledger.Dispatcher].
func (l *Ledger) Retire(ctx context.Context, job string, run, generation int) error {
	do := onJob("retire", job)
	refused, err := l.transact(ctx, do,
		l.check(write{
			key:  metaKey(job),
			when: "#run = :run AND #generation = :generation AND #state IN (:completed, :failed, :cancelled)",
			values: attributes{
				"run": num(run), "generation": num(generation),
				"completed": str(ledger.Completed), "failed": str(ledger.Failed), "cancelled": str(ledger.Cancelled),
			},
		}),
		types.TransactWriteItem{Delete: &types.Delete{TableName: &l.table, Key: liveKey(job)}})
	if err != nil || refused == nil {
		return err
	}
	a, _ := refused.of(0)
	h, err := l.known(do, a)
	if err != nil {
		return err
	}
	return h.moved(do, fmt.Sprintf("and what was reported is run %d at generation %d", run, generation))
}
