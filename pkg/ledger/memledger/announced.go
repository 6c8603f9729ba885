package memledger

import (
	"context"
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// Overwritten implements [ledger.Announced].
func (l *Shared) Overwritten(ctx context.Context, r ledger.Ref, serial int, f ledger.Fault, o unit.Object) error {
	return l.write(ctx, "mark a member overwritten in", r, serial, func(j *job, it *item) {
		if i := it.fault(f.Member); i < 0 {
			it.Faults = append(it.Faults, f)
		} else {
			// Segments keep their bounds: the rest frames as many of its records as before.
			if was := it.Faults[i]; was.Record <= f.Record {
				f.Record, f.Framed = was.Record, was.Framed
			}
			it.Faults[i] = f
		}
		if is, ok := j.claims[o.ID()]; ok && is.Take == o.Take {
			is.Overwritten = true
			j.claims[o.ID()] = is
		}
	})
}

// Again implements [ledger.Announced].
func (l *Shared) Again(ctx context.Context, name string, o unit.Object) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "note a key of", name)
	if err != nil {
		return err
	}
	j.puts++
	j.keys[o.Key] = ledger.KeyTodo{Object: o, Number: j.puts}
	return nil
}

// Adopt implements [ledger.Announced].
func (l *Shared) Adopt(ctx context.Context, name string, run int, read string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "give a digest to", name)
	if err != nil {
		return "", err
	}
	if j.meta.Run != run {
		return "", j.moved("give a digest to", fmt.Sprintf("and a reader of run %d came", run))
	}
	if j.meta.Digests.Read == "" {
		j.meta.Digests.Read = read
	}
	return j.meta.Digests.Read, nil
}
