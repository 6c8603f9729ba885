package memledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spate-go/spate/pkg/ledger"
)

// Progress implements [ledger.Prover]. For an earlier run than the job's it
// returns nothing: those counters are gone.
func (l *Ledger) Progress(ctx context.Context, name string, run int) (ledger.Progress, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "look how far is", name)
	if err != nil || run != j.meta.Run {
		return ledger.Progress{}, err
	}
	return j.progress(), nil
}

// Prove implements [ledger.Prover]. It looks at every item and at none of the
// counters.
func (l *Ledger) Prove(ctx context.Context, name string, run int) (ledger.Census, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "prove", name)
	if err != nil {
		return ledger.Census{}, err
	}
	return j.prove(run), nil
}

func (j *job) prove(run int) (c ledger.Census) {
	for _, it := range j.items {
		switch {
		case it.Run < run && it.Serial > 0:
			c.Unlisted++
		case it.Run != run:
		case it.State == ledger.Dead:
			c.Dead++
		default:
			c.Open++
		}
	}
	j.done.prove(run, &c)
	return c
}

// Unfinished implements [ledger.Prover]. The items are of one moment; yield may
// use the ledger.
func (l *Ledger) Unfinished(ctx context.Context, name string, run int, yield func(ledger.Item) error) error {
	items, err := l.unfinished(ctx, name, run)
	if err != nil {
		return err
	}
	for _, it := range items {
		if err := yield(it); err != nil {
			return err
		}
	}
	return nil
}

func (l *Ledger) unfinished(ctx context.Context, name string, run int) ([]ledger.Item, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "list what is unfinished of", name)
	if err != nil {
		return nil, err
	}
	var out []ledger.Item
	for _, it := range j.items {
		if it.Run == run {
			out = append(out, it.view())
		}
	}
	slices.SortFunc(out, func(a, b ledger.Item) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// Conclude implements [ledger.Prover].
func (l *Ledger) Conclude(ctx context.Context, name string, run, generation int, s ledger.State) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "conclude", name)
	if err != nil {
		return err
	}
	if j.meta.Run != run || j.meta.Generation != generation || !s.Ended() {
		return j.moved("conclude", fmt.Sprintf("at generation %d, and %s for run %d at generation %d came", j.meta.Generation, s, run, generation))
	}
	if j.meta.State == s {
		return nil
	}
	if j.meta.State.Ended() {
		return j.moved("conclude", fmt.Sprintf("and %s came", s))
	}
	if s == ledger.Completed {
		if c := j.prove(run); !c.Complete(j.view()) {
			return j.moved("conclude", fmt.Sprintf("and completed came with %d of %d units done, %d dead, %d open", c.Done, j.meta.Planned, c.Dead, c.Open))
		}
	}
	j.meta.State, j.meta.Ended = s, l.now()
	return nil
}
