package dynamoledger

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// Start implements [ledger.Planner]. The token of an earlier run than the job's
// last returns that run as it ended, for as long as it is kept.
func (l *Ledger) Start(ctx context.Context, job string, s ledger.Start) (ledger.Meta, error) {
	do := onJob("start", job)
	return l.beginRun(ctx, do, s, ledger.Meta{State: ledger.Listing}, func(h *head) (ledger.Meta, bool, error) {
		if s.Token != "" && h.token == s.Token {
			return h.Meta, true, nil
		}
		if past, ok, err := l.started(ctx, do, s.Token); ok || err != nil {
			return past, ok, err
		}
		if !h.State.Ended() {
			return ledger.Meta{}, false, fmt.Errorf("%s: run %d is %s: %w", do, h.Run, h.State, ledger.ErrActive)
		}
		return ledger.Meta{}, false, nil
	})
}

// beginRun begins the job's next run, of the kind of as. First it asks answer
// whether the run that is there already is what the caller wants.
func (l *Ledger) beginRun(ctx context.Context, do op, s ledger.Start, as ledger.Meta, answer func(h *head) (ledger.Meta, bool, error)) (ledger.Meta, error) {
	if err := fits(do, s); err != nil {
		return ledger.Meta{}, err
	}
	for {
		a, err := l.get(ctx, do, metaKey(do.Job))
		if err != nil {
			return ledger.Meta{}, err
		}
		var was *head
		if a != nil {
			h, err := l.known(do, a)
			if err != nil {
				return ledger.Meta{}, err
			}
			if m, ok, err := answer(&h); ok || err != nil {
				return m, err
			}
			was = &h
		}
		next := l.next(do.Job, was, s)
		next.State, next.Continuous, next.Cutoff = as.State, as.Continuous, as.Cutoff
		refused, err := l.transact(ctx, do, l.begin(was, next)...)
		if err != nil {
			return ledger.Meta{}, err
		}
		if refused == nil {
			l.saw(&next.Meta)
			return next.Meta, nil
		}
		// Somebody else changed the job: look again. This ends, because in each round
		// somebody has advanced.
	}
}

// fits returns an error unless s fits into a job's item.
func fits(do op, s ledger.Start) error {
	if len(s.Source) > ledger.MaxSource {
		return failure.Errorf(failure.Job, failure.Config, "%s: its source takes %d bytes of at most %d: use fewer or shorter patterns", do, len(s.Source), ledger.MaxSource)
	}
	return nil
}

// started returns the earlier run that the token started.
func (l *Ledger) started(ctx context.Context, do op, token string) (ledger.Meta, bool, error) {
	if token == "" {
		return ledger.Meta{}, false, nil
	}
	a, err := l.get(ctx, do, tokenKey(do.Job, token))
	if a == nil || err != nil {
		return ledger.Meta{}, false, err
	}
	h, err := decodeHead(do.Job, a, &l.press)
	return h.Meta, err == nil, err
}

func tokenKey(job, token string) attributes { return jobKey(job, "token#"+token) }

// next is the run after was, which is nil for a new job; its state is not set.
// The generation carries on, because it is part of a report's name, which must
// not come twice.
func (l *Ledger) next(job string, was *head, s ledger.Start) *head {
	h := &head{token: s.Token, Meta: ledger.Meta{
		Job: job, Run: 1, Digests: s.Digests, Source: s.Source, Callback: s.Callback, Started: l.clock(),
	}}
	if was != nil {
		h.Run, h.Generation = was.Run+1, was.Generation
	}
	return h
}

// clock is the present time as the table stores it.
func (l *Ledger) clock() time.Time { return time.Unix(0, l.now().UnixNano()).UTC() }

// begin makes next the job's run, makes the job live, and keeps the earlier run
// under its token: all in one transaction.
func (l *Ledger) begin(was, next *head) []types.TransactWriteItem {
	if was == nil {
		return []types.TransactWriteItem{
			l.put(next.encode(&l.press), write{when: "attribute_not_exists(#pk)"}),
			l.put(liveKey(next.Job), write{}),
		}
	}
	parts := []types.TransactWriteItem{
		l.put(next.encode(&l.press), write{
			when:   "#run = :run AND #state = :state AND #generation = :generation",
			values: attributes{"run": num(was.Run), "state": str(was.State), "generation": num(was.Generation)},
		}),
		l.put(liveKey(next.Job), write{}),
	}
	if was.token != "" {
		past := was.encode(&l.press)
		past["sk"], past["expires"] = tokenKey(was.Job, was.token)["sk"], l.expires()
		parts = append(parts, l.put(past, write{}))
	}
	return parts
}
