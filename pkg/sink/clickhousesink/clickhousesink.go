// Package clickhousesink writes rows to a table of ClickHouse over its HTTP
// interface, each block by one INSERT.
//
// An insert is durable when the server has answered it, whole and without an
// exception, its materialized views included (wait_end_of_query); with a quorum
// when that many replicas have it. Nothing is left for Commit.
//
// The server recognises repeats: every insert has a token, made of the block
// and its bytes, and a table that keeps the last tokens drops a repeat. How
// many it keeps, and for how long, is its deduplication window; a table of
// plain MergeTree keeps none unless it is told to. Within the window rows are
// there once, however often their unit is delivered; beyond it, at least once.
// The window counts parts, and an insert makes one for each partition that it
// has rows of.
//
// With several shards a block is divided among them as the server's Distributed
// engine would, each part with a token of its own. A replica that fails gives way
// to the next, which gets the same bytes under the same token.
//
// Rows that the server refuses for their values are found by division, and named;
// the others are inserted, under tokens of their parts: a table that takes such
// rows by the time that their unit comes again has the others twice. What a
// materialized view refuses cannot be divided, since the table itself has stored
// the rows by then, and fails its unit.
//
// It is not a query client: it asks what it needs to know about the table, and
// inserts.
//
// The law: no byte of an insert, and no cut of it, depends on anything but the
// block, the options, and which rows the server refuses (INV-3).
package clickhousesink

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/spate-go/spate/pkg/clickhouse"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

var _ sink.Sink = (*Sink)(nil)

// Sink writes to one table.
type Sink struct {
	o       Options
	client  *client
	pack    *packing
	natives sync.Pool // of *natived
	shards  []*shard
	slots   []int // shard by the key modulo the weights' sum
	key     *key  // nil: blocks go to shards whole

	// What the first servers that answered had, and all must have.
	place   place
	made    clickhouse.Rows // what rows are made of; no columns for JSON
	columns []Column        // of a row
	seen    Description     // but for its findings

	findings findings
	memory   memory
}

// New returns a sink whose table was checked on every replica that responds; a
// replica that does not is checked before its first insert, and named in the
// findings. If none responds the error is failure.Transient. It writes nothing.
func New(ctx context.Context, o Options) (*Sink, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	c, err := newClient(&o)
	if err != nil {
		return nil, err
	}
	s := &Sink{
		o: o, client: c, pack: &packing{compression: o.Compression, level: o.Level},
		memory: memory{blocks: map[string]*outcomes{}},
	}
	s.shards, s.slots = newShards(&o)
	if err := s.look(ctx); err != nil {
		return nil, err
	}
	if s.key, err = s.shardingKey(); err != nil {
		return nil, err
	}
	return s, nil
}

// Description is what New found, and what has been found since.
func (s *Sink) Description() Description {
	s.findings.mu.Lock()
	defer s.findings.mu.Unlock()
	d := s.seen
	d.Columns, d.Findings = slices.Clone(d.Columns), slices.Clone(s.findings.list)
	return d
}

// Rows is what rows are made of: columns in their order, as the table has them;
// none for JSONEachRow.
func (s *Sink) Rows() clickhouse.Rows { return s.made }

// Write implements sink.Sink.
func (s *Sink) Write(ctx context.Context, b *sink.Block) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.Rows == 0 {
		return nil
	}
	b, err := s.bounded(b)
	if err != nil {
		return err
	}
	w := &writing{block: b, known: s.memory.of(b.Token)}
	parts, err := s.route(w)
	if err == nil {
		err = s.deliverAll(ctx, w, parts)
	}
	if err == nil {
		err = w.verdict()
	}
	if !failure.Is(err, failure.Transient) && ctx.Err() == nil {
		s.memory.forget(b.Token)
	}
	return err
}

// deliverAll delivers the parts of a block at once, each to its shard, and
// waits for all: when one fails, the outcome of the others is better known than
// cut off. Of several errors the one that reaches farthest is returned.
func (s *Sink) deliverAll(ctx context.Context, w *writing, parts []part) error {
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, p := range parts {
		wg.Go(func() { errs[i] = s.deliver(ctx, p.shard, w, p.rows, p.token) })
	}
	wg.Wait()
	if err := ctx.Err(); err != nil && errors.Join(errs...) != nil {
		return err
	}
	var worst error
	for _, err := range errs {
		if err == nil {
			continue
		}
		scope, _ := failure.Of(err)
		if had, _ := failure.Of(worst); worst == nil || scope > had {
			worst = err
		}
	}
	return worst
}

// Commit implements sink.Sink: what was written shows already.
func (s *Sink) Commit(ctx context.Context, _ unit.ID, _ int) error { return ctx.Err() }

// Limits implements sink.Sink.
func (s *Sink) Limits() sink.Limits {
	return sink.Limits{Rows: s.o.MaxRows, Bytes: s.o.MaxBytes, Segments: s.o.Segments, Rejects: s.o.Rejected == RejectSkip}
}

// Close implements sink.Sink. It closes connections at rest.
func (s *Sink) Close() error {
	s.client.http.CloseIdleConnections()
	return nil
}
