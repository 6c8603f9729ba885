package clickhousesink

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
)

// refusal is an insert that failed for the values of some of its rows. Nothing of
// it is in the table itself. No other error wraps one.
type refusal struct {
	call    call
	replica *replica
	cause   *exception
}

func (r *refusal) Error() string { return fmt.Sprintf("%s: %v", r.call, r.cause) }

// insert sends rows to one replica of a shard, and returns nil once they are
// durable there. Its errors are marked, or a *refusal.
func (s *Sink) insert(ctx context.Context, sh *shard, r rows, token string) error {
	to, report, err := sh.admit(ctx)
	if err != nil {
		return err
	}
	err = s.insertAt(ctx, to, r, token, false)
	if _, refused := errors.AsType[*refusal](err); refused && s.o.AsyncInsert == AsyncWait {
		// The server refused what it had gathered: whose row it was, it cannot say.
		// The plain insert of these rows alone does.
		err = s.insertAt(ctx, to, r, token, true)
	}
	report(sh.outcome(ctx, err))
	return err
}

// outcome is what an insert's error says about the replica.
func (sh *shard) outcome(ctx context.Context, err error) sink.Outcome {
	switch {
	case ctx.Err() != nil && err != nil:
		return sink.Abandoned
	case failure.Is(err, failure.Transient):
		sh.last.Store(&lastError{err})
		return sink.Failed
	}
	return sink.Answered
}

func (s *Sink) insertAt(ctx context.Context, to *replica, r rows, token string, plain bool) error {
	if err := s.ready(ctx, to); err != nil {
		return err
	}
	c := call{"insert into", s.place.String(), to.name}
	err := s.send(ctx, to, r, token, plain)
	e, ok := errors.AsType[*exception](err)
	switch {
	case !ok || ctx.Err() != nil:
		return c.classify(ctx, err)
	case codes[e.code] == values:
		return s.refuse(ctx, &refusal{c, to, e})
	}
	err = c.classify(ctx, err)
	if _, reason := failure.Of(err); reason == failure.Schema {
		return s.explain(ctx, to, err)
	}
	return err
}

// send makes the request. Only a complete and empty response says that the rows
// are stored.
func (s *Sink) send(ctx context.Context, to *replica, r rows, token string, plain bool) error {
	limited, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	known := to.known
	parameters := maps.Clone(known.parameters)
	if known.token {
		parameters.Set("insert_deduplication_token", token)
	}
	if plain {
		parameters.Set("async_insert", "0")
	}
	b := s.content(r, known.header)
	defer b.release()
	a, err := s.client.do(limited, to.url, statement{sql: known.insert, parameters: parameters, body: b, encoding: s.pack.encoding()})
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("no answer within %s: %w", s.o.Timeout, err)
	}
	if err != nil {
		return err
	}
	if e := a.fault(s.client.hide); e != nil {
		return e
	}
	if !a.empty() {
		return &exception{status: a.status, text: "the answer is not ClickHouse's to an insert: " + tidy(s.client.hide(string(a.text)))}
	}
	return nil
}

// refuse decides what a refusal for values means. In a view it comes after the
// table has stored the rows, and through a Distributed table after some shards
// may have: they must not be sent again under other tokens, as a division does,
// so the whole unit fails. And if the table was altered during the job, no row
// is to blame.
func (s *Sink) refuse(ctx context.Context, r *refusal) error {
	if err := s.explain(ctx, r.replica, nil); err != nil {
		return err
	}
	switch {
	case r.cause.view && !r.replica.known.divisible:
		return failure.Errorf(failure.Unit, failure.SinkRejected,
			"%s: %w: the rows are in %s, and a materialized view failed on one of them: fix the view, then redrive", r.call, r.cause, s.place)
	case s.o.Rejected == RejectFail:
		return failure.Errorf(failure.Unit, failure.SinkRejected, "%s: %w: correct the row, or set rejected: skip", r.call, r.cause)
	case s.seen.Engine == "Distributed":
		return failure.Errorf(failure.Unit, failure.SinkRejected,
			"%s: %w: %s is of engine Distributed, and other shards may have their rows by now: correct the row, or name the shards in place of it", r.call, r.cause, s.place)
	}
	return r
}
