package memledger

import (
	"context"
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
)

// Swept implements [ledger.Dispatcher]. For another run than the job's it does
// nothing.
func (l *Shared) Swept(ctx context.Context, name string, run, ask int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "note a sweep of", name)
	if err != nil {
		return err
	}
	if j.meta.Run == run {
		j.meta.Swept = max(j.meta.Swept, ask)
	}
	return nil
}

// Resend implements [ledger.Dispatcher].
func (l *Shared) Resend(ctx context.Context, name string, run, generation, resends int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "send again", name)
	if err != nil {
		return err
	}
	m := &j.meta
	if m.Run != run || m.State != ledger.Running || m.Generation != generation || m.Resends != resends {
		return j.moved("send again", fmt.Sprintf("at generation %d after %d re-sends, and one of run %d at generation %d after %d came",
			m.Generation, m.Resends, run, generation, resends))
	}
	m.Resends++
	m.Ask++
	return nil
}

// Watch implements [ledger.Dispatcher].
func (l *Shared) Watch(ctx context.Context, name string) (ledger.Watch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "watch", name)
	if err != nil {
		return ledger.Watch{}, err
	}
	return j.watch, nil
}

// Watched implements [ledger.Dispatcher].
func (l *Shared) Watched(ctx context.Context, name string, w ledger.Watch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "watch", name)
	if err != nil {
		return err
	}
	j.watch = w
	return nil
}
