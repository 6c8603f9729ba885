package dynamoledger

import (
	"context"
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
)

// Open implements [ledger.Intaker]. While the job runs it is one read.
func (l *Ledger) Open(ctx context.Context, job string, s ledger.Start) (ledger.Meta, error) {
	do := "open job " + job
	if err := fits(do, s); err != nil {
		return ledger.Meta{}, err
	}
	for {
		a, err := l.get(ctx, do, metaKey(job))
		if err != nil {
			return ledger.Meta{}, err
		}
		var was *head
		if a != nil {
			h, err := l.known(do, job, a)
			if err != nil {
				return ledger.Meta{}, err
			}
			switch was = &h; {
			case !h.State.Ended() && h.Continuous:
				return h.Meta, nil
			case !h.State.Ended():
				return ledger.Meta{}, fmt.Errorf("%s: run %d is %s, of a plan: %w", do, h.Run, h.State, ledger.ErrActive)
			case s.Token == "":
				return ledger.Meta{}, h.moved(do, "and no token came to begin the next one")
			case s.Token == h.token:
				return h.Meta, nil
			}
			if past, ok, err := l.started(ctx, do, job, s.Token); ok || err != nil {
				return past, err
			}
		}
		next := l.next(job, was, s)
		next.State, next.Continuous, next.Cutoff = ledger.Running, true, s.Cutoff
		refused, err := l.transact(ctx, do, l.begin(was, next)...)
		if err != nil {
			return ledger.Meta{}, err
		}
		if refused == nil {
			l.saw(&next.Meta)
			return next.Meta, nil
		}
		// Somebody else changed the job: look again.
	}
}

// Adopt implements [ledger.Announced].
func (l *Ledger) Adopt(ctx context.Context, job string, run int, read string) (string, error) {
	const verb = "adopt"
	h, ok, err := l.change(ctx, verb, job, write{
		set:    "SET #read = :read",
		when:   "#run = :run AND #read = :none",
		values: attributes{"run": num(run), "read": str(read), "none": str("")},
	})
	switch {
	case err != nil:
		return "", err
	case ok:
		return read, nil
	case h.Run != run:
		return "", h.moved(verb+" job "+job, fmt.Sprintf("and a reader of run %d came", run))
	}
	return h.Digests.Read, nil
}
