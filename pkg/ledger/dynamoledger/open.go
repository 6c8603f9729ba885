package dynamoledger

import (
	"context"
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
)

// Open implements [ledger.Intaker]. While the job runs it costs one read.
func (l *Ledger) Open(ctx context.Context, job string, s ledger.Start) (ledger.Meta, error) {
	do := onJob("open", job)
	as := ledger.Meta{State: ledger.Running, Continuous: true, Cutoff: s.Cutoff}
	return l.beginRun(ctx, do, s, as, func(h *head) (ledger.Meta, bool, error) {
		switch {
		case !h.State.Ended() && h.Continuous:
			return h.Meta, true, nil
		case !h.State.Ended():
			return ledger.Meta{}, false, fmt.Errorf("%s: run %d is %s, of a plan: %w", do, h.Run, h.State, ledger.ErrActive)
		case s.Token == "":
			return ledger.Meta{}, false, h.moved(do, "and no token came to begin the next one")
		case s.Token == h.token:
			return h.Meta, true, nil
		}
		return l.started(ctx, do, s.Token)
	})
}

// Adopt implements [ledger.Announced].
func (l *Ledger) Adopt(ctx context.Context, job string, run int, read string) (string, error) {
	do := onJob("adopt", job)
	h, ok, err := l.change(ctx, do, write{
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
		return "", h.moved(do, fmt.Sprintf("and a reader of run %d came", run))
	}
	return h.Digests.Read, nil
}
