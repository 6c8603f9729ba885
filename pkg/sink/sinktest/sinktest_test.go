package sinktest_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/sinktest"
	"github.com/spate-go/spate/pkg/unit"
)

// broken is a sink in memory, with at most one fault.
type broken struct {
	fault string

	mu      sync.Mutex
	rows    [][]byte            // guarded by mu
	pending map[string][][]byte // guarded by mu: of sinks that show at commit
	seen    map[string]bool     // guarded by mu
	calls   int                 // guarded by mu
}

func (s *broken) Write(ctx context.Context, b *sink.Block) error {
	if ctx.Err() != nil && s.fault != "writes under an ended context" {
		if s.fault == "loses the context's error" {
			return failure.New(failure.Transient, failure.RetriesExhausted, errors.New("gone"))
		}
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	key := b.Token
	if s.fault == "takes equal rows for repeats" {
		key = string(b.Data)
	}
	if s.seen[key] && s.fault != "keeps repeats" {
		return nil
	}
	s.seen[key] = true
	switch s.fault {
	case "drops every fourth block":
		if s.calls%4 == 0 {
			return nil
		}
	case "keeps the caller's buffer":
		s.rows = append(s.rows, b.Data)
		return nil
	case "writes row by row":
		for line := range bytes.Lines(b.Data) {
			s.rows = append(s.rows, bytes.Clone(line))
			s.mu.Unlock()
			time.Sleep(time.Microsecond)
			s.mu.Lock()
		}
		return nil
	case "turns the order round":
		s.rows = slices.Insert(s.rows, 0, bytes.Clone(b.Data))
		return nil
	case "shows at commit only":
		s.pending[string(b.Unit)] = append(s.pending[string(b.Unit)], bytes.Clone(b.Data))
		return nil
	case "drops later series":
		if b.Series > 0 {
			return nil
		}
	}
	s.rows = append(s.rows, bytes.Clone(b.Data))
	return nil
}

func (s *broken) Commit(_ context.Context, u unit.ID, _ int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.fault {
	case "refuses an empty commit":
		if len(s.rows) == 0 {
			return errors.New("nothing to commit")
		}
	case "shows at commit only":
		s.rows = append(s.rows, s.pending[string(u)]...)
		delete(s.pending, string(u))
	case "repeats rows at a second commit":
		if s.pending[string(u)] != nil {
			s.rows = append(s.rows, s.rows...)
		}
		s.pending[string(u)] = [][]byte{}
	case "forgets tokens at commit":
		s.seen = map[string]bool{}
	}
	return nil
}

func (s *broken) Limits() sink.Limits {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == "has limits that move" {
		return sink.Limits{Rows: 100 + s.calls}
	}
	return sink.Limits{}
}

func (s *broken) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == "drops rows at close" {
		s.rows = nil
	}
	return nil
}

func (s *broken) read() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Concat(s.rows...)
}

// picky refuses poison.
type picky struct{ broken }

func (s *picky) Limits() sink.Limits {
	l := s.broken.Limits()
	l.Rejects = s.fault != "hides that it rejects"
	return l
}

func (s *picky) Write(ctx context.Context, b *sink.Block) error {
	r, rest := s.refuse(b)
	if len(r.Rows) == 0 {
		return s.broken.Write(ctx, b)
	}
	repeated := s.seen[b.Token]
	if err := s.broken.Write(ctx, rest); err != nil {
		return err
	}
	switch {
	case s.fault == "drops refused rows without a word", s.fault == "forgets refusals" && repeated:
		return nil
	case s.fault == "refuses blocks for a row":
		return failure.New(failure.Unit, failure.SinkRejected, errors.New("poison"))
	case s.fault == "marks its refusals":
		return failure.New(failure.Unit, failure.SinkRejected, r)
	}
	return r
}

// refuse returns the refused rows of b, and b without them.
func (s *picky) refuse(b *sink.Block) (*sink.Rejected, *sink.Block) {
	r, rest := new(sink.Rejected), *b
	rest.Data = nil
	for i := range b.Rows {
		row := b.Row(i)
		if string(row) != "poison\n" || s.fault == "rejects the first row only" && len(r.Rows) > 0 {
			rest.Data = append(rest.Data, row...)
			continue
		}
		refused := sink.RejectedRow{Index: i, Detail: "it is poison", Text: bytes.Clone(row)}
		switch s.fault {
		case "writes refused rows":
			rest.Data = append(rest.Data, row...)
		case "numbers rows from 1":
			refused.Index++
		case "does not say why":
			refused.Detail = ""
		case "does not show the row":
			refused.Text = nil
		case "changes its words":
			refused.Detail += strings.Repeat("!", s.calls)
		}
		r.Rows = append(r.Rows, refused)
	}
	return r, &rest
}

// dead never writes.
type dead struct {
	broken
	err error
}

func (s *dead) Write(context.Context, *sink.Block) error { return s.err }

const faultVariable = "SINKTEST_FAULT"

// TestHarness runs the suite on a sink with the fault that the environment
// names, for TestSuite.
func TestHarness(t *testing.T) {
	fault := os.Getenv(faultVariable)
	sinktest.Run(t, sinktest.Harness{
		Dedup: true,
		New: func(*testing.T) (sink.Sink, func() []byte) {
			s := &picky{broken: broken{fault: fault, seen: map[string]bool{}, pending: map[string][][]byte{}}}
			return s, s.read
		},
		Poison: "poison",
		Broken: func(*testing.T) sink.Sink {
			err := errors.New("no route")
			switch fault {
			case "marks nothing":
			case "acks what it cannot write":
				err = nil
			default:
				err = failure.New(failure.Transient, failure.RetriesExhausted, err)
			}
			return &dead{err: err}
		},
	})
}

func TestSuite(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{
		"writes under an ended context", "loses the context's error", "takes equal rows for repeats", "keeps repeats",
		"drops every fourth block", "keeps the caller's buffer", "writes row by row", "turns the order round",
		"shows at commit only", "drops later series", "refuses an empty commit", "repeats rows at a second commit",
		"forgets tokens at commit", "has limits that move", "drops rows at close", "marks nothing",
		"acks what it cannot write", "hides that it rejects", "drops refused rows without a word",
		"refuses blocks for a row", "marks its refusals", "writes refused rows", "numbers rows from 1",
		"does not say why", "does not show the row", "forgets refusals", "changes its words", "rejects the first row only",
	} {
		t.Run("a sink that "+fault+" fails", func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHarness$")
			cmd.Env = append(os.Environ(), faultVariable+"="+fault)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestHarness/") {
				t.Errorf("the suite passed it: %v\n%s", err, out)
			}
		})
	}
}
