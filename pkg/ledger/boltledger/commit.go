package boltledger

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	bolt "go.etcd.io/bbolt"
)

// step is a part of a transaction. It looks first and then writes: a step that
// returns an error has written nothing, and the steps beside it are not
// affected.
type step func(*txn) error

// queue collects the steps that wait for a transaction. The callers bound its
// length, because they wait.
type queue struct {
	mu      sync.Mutex
	waiting []*call // guarded by mu
	lost    error   // of a failed write, final; guarded by mu

	commit sync.Mutex // held by the call that carries out what waits
}

type call struct {
	step step
	err  error
	over bool // guarded by commit
}

// update carries out s and returns when it is synced. Calls that arrive while
// another transaction is being synced wait, and the first of them takes all the
// others along: they share the cost of a sync.
func (l *Ledger) update(s step) error {
	q := &l.queue
	c := &call{step: s}
	q.mu.Lock()
	q.waiting = append(q.waiting, c)
	q.mu.Unlock()

	q.commit.Lock()
	defer q.commit.Unlock()
	if c.over {
		return c.err
	}
	batch, err := q.take()
	if err == nil {
		err = l.transact(batch)
	}
	if err != nil {
		q.lose(err)
	}
	for _, c := range batch {
		c.over = true
		if err != nil {
			c.err = err
		}
	}
	return c.err
}

func (q *queue) take() ([]*call, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch := q.waiting
	q.waiting = nil
	return batch, q.lost
}

func (q *queue) lose(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost = err
}

func (q *queue) failed() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lost
}

func (l *Ledger) transact(batch []*call) error {
	err := guard(func() error {
		return l.db.Update(func(tx *bolt.Tx) error {
			t := &txn{tx: tx, process: &l.process}
			for _, c := range batch {
				c.err = c.step(t)
			}
			return t.err
		})
	})
	if err != nil {
		return configf("write state %s: %w: what was acked before is safe: free space or fix the disk, then run again", l.dir, err)
	}
	return nil
}

// change is update for a call whose context may have ended already.
func (l *Ledger) change(ctx context.Context, verb, name string, s func(*job) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s job %s: %w", verb, name, err)
	}
	return l.update(func(tx *txn) error {
		j, err := tx.job(verb, name)
		if err != nil {
			return err
		}
		return s(j)
	})
}

// view carries out s on what is synced.
func (l *Ledger) view(ctx context.Context, verb, name string, s func(*job) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s job %s: %w", verb, name, err)
	}
	if err := l.queue.failed(); err != nil {
		return err
	}
	var said error
	err := guard(func() error {
		return l.db.View(func(tx *bolt.Tx) error {
			t := &txn{tx: tx, process: &l.process}
			var j *job
			if j, said = t.job(verb, name); said == nil {
				said = s(j)
			}
			return t.err
		})
	})
	if err != nil {
		return configf("read state %s: %w: restore it, or start over with another directory and another output", l.dir, err)
	}
	return said
}

// guard turns a panic of the library into an error: it panics when a page is
// not what it should be, or cannot be read from the disk.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a page is damaged: %v", v)
		}
	}()
	return f()
}
