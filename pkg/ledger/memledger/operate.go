package memledger

import (
	"context"
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// Halt implements [ledger.Worker].
func (l *Ledger) Halt(ctx context.Context, name string, h ledger.Halt) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "halt", name)
	if err != nil || j.meta.State.Ended() {
		return false, err
	}
	if was := j.meta.Halt; was != nil && (!was.SinkDown() || h.SinkDown()) {
		return false, nil
	}
	j.meta.Halt = &h
	return true, nil
}

// Resume implements [ledger.Operator].
func (l *Ledger) Resume(ctx context.Context, name string, r failure.Reason) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "resume", name)
	if err != nil || j.meta.Halt == nil || j.meta.Halt.Reason != r {
		return false, err
	}
	j.meta.Halt = nil
	j.meta.Ask++
	if j.meta.Continuous && r == failure.Fingerprint {
		j.meta.Digests.Read = ""
	}
	return true, nil
}

// Redrive implements [ledger.Operator].
func (l *Ledger) Redrive(ctx context.Context, name string, run int) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "redrive", name)
	if err != nil {
		return 0, err
	}
	if j.meta.Run != run || j.meta.State != ledger.Running && j.meta.State != ledger.Failed {
		return 0, j.moved("redrive", fmt.Sprintf("and a redrive of run %d came", run))
	}
	opened := 0
	for _, it := range j.items {
		if it.Run != run || it.State != ledger.Dead {
			continue
		}
		it.open(run)
		it.Serial++ // whoever worked on it before and wakes is refused
		j.count.Dead--
		opened++
	}
	j.meta.State, j.meta.Ended = ledger.Running, time.Time{}
	j.meta.Generation++
	j.meta.Resends = 0
	j.meta.Ask++
	j.count.Beat++
	j.retired = false
	return opened, nil
}
