package clickhousesink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
)

// writing is one Write of a block: what is known of its parts, and the rows that
// were found bad.
type writing struct {
	block *sink.Block
	known *outcomes

	mu       sync.Mutex
	rejected []sink.RejectedRow // guarded by mu; in no order
	bytes    int                // guarded by mu; of their texts
}

// maxRejectedBytes bounds the texts of a block's bad rows, except the first's.
const maxRejectedBytes = 16 << 20

// deliver brings rows into a shard: in one insert, or, if that is refused for
// values, all but the rows that are to blame.
//
// Refused rows are halved by count, the longer half first, down to the single
// row, each half under a token of its own place and hash. So the cuts depend on
// the rows and on which of them the server refuses, and a repeated delivery makes
// the same inserts and the server knows them again. What a table change between
// two deliveries turns from refused into accepted comes in twice, once in the
// half and once in the whole: division is for rows that stay bad.
func (s *Sink) deliver(ctx context.Context, sh *shard, w *writing, r rows, token string) error {
	err := s.once(ctx, sh, w, r, token)
	refused, ok := errors.AsType[*refusal](err)
	if !ok {
		return err
	}
	n := r.count()
	if n == 1 {
		bad := sink.RejectedRow{Index: r.of(0), Detail: refused.cause.Error()}
		bad.Text = s.text(w.block.Row(bad.Index))
		return s.reject(w, bad, fmt.Errorf("%s: %w", refused.call, refused.cause))
	}
	half := (n + 1) / 2
	for _, part := range []rows{r.part(0, half), r.part(half, n)} {
		place := fmt.Sprintf("%d.%d", part.lo, part.hi)
		if err := s.deliver(ctx, sh, w, part, part.token(w.block.Token, sh.mark+place)); err != nil {
			return err
		}
	}
	return nil
}

// once is insert, unless an earlier attempt of the same Write has settled these
// rows.
func (s *Sink) once(ctx context.Context, sh *shard, w *writing, r rows, token string) error {
	if err, ok := w.known.get(token); ok {
		return err
	}
	err := s.insert(ctx, sh, r, token)
	if _, refused := errors.AsType[*refusal](err); err == nil || refused {
		w.known.put(token, err)
	}
	return err
}

// reject notes a bad row. More than MaxRejected are not poison but a table, or
// an input, that is not what the job expects: each costs some 20 inserts out of
// a block of a million, and the table's window for repeats is as few inserts
// long. The reader of the error can tell which of the two it is: had the
// table's columns changed, the job had halted.
func (s *Sink) reject(w *writing, row sink.RejectedRow, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes += len(row.Text)
	if n := len(w.rejected); n == s.o.MaxRejected || n > 0 && w.bytes > maxRejectedBytes {
		return failure.Errorf(failure.Unit, failure.SinkRejected,
			"%w: more than %d rows of block %s are refused, or more than %d MiB of them: make rows and table agree, or raise max_rejected, and run again",
			err, s.o.MaxRejected, w.block.Token, maxRejectedBytes>>20)
	}
	w.rejected = append(w.rejected, row)
	return nil
}

// verdict is what Write returns when all parts are delivered.
func (w *writing) verdict() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rejected) == 0 {
		return nil
	}
	slices.SortFunc(w.rejected, func(a, b sink.RejectedRow) int { return a.Index - b.Index })
	return &sink.Rejected{Rows: w.rejected}
}

// outcomes are the results of a block's parts, by token: nil or a refusal.
type outcomes struct {
	mu   sync.Mutex
	seen map[string]error // guarded by mu
}

func (o *outcomes) get(token string) (error, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	err, ok := o.seen[token]
	return err, ok
}

func (o *outcomes) put(token string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen[token] = err
}

// memory keeps the outcomes of blocks whose Write failed for the time being, so
// that the next attempt does not send again what is stored: tables without a
// window for repeats would have it twice. It is a help, not a promise, and
// bounded.
type memory struct {
	mu     sync.Mutex
	blocks map[string]*outcomes // guarded by mu
	order  []string             // guarded by mu; oldest first
}

const maxRemembered = 256 // blocks

func (m *memory) of(token string) *outcomes {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.blocks[token]; ok {
		return o
	}
	if len(m.order) == maxRemembered {
		delete(m.blocks, m.order[0])
		m.order = m.order[1:]
	}
	o := &outcomes{seen: map[string]error{}}
	m.blocks[token] = o
	m.order = append(m.order, token)
	return o
}

func (m *memory) forget(token string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.blocks, token)
	m.order = slices.DeleteFunc(m.order, func(t string) bool { return t == token })
}
