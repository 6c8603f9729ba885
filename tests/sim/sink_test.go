package sim_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

// rowSink keeps rows by unit. It may drop tokens that it has seen.
type rowSink struct {
	w       *world
	tokens  map[string]bool
	rows    map[unit.ID]map[string]int
	down    bool
	rejects bool
}

type actorKey struct{}

var _ sink.Sink = (*rowSink)(nil)

func (s *rowSink) Write(ctx context.Context, b *sink.Block) error {
	a := actorOf(ctx)
	what := fmt.Sprintf("write %s %d.%d, %d rows", short(b.Unit), b.Series, b.Segment, b.Rows)
	return a.do(ctx, "sink", what, func(context.Context, float64) error {
		switch {
		case s.down:
			return failure.Errorf(failure.Job, failure.SinkDown, "write: the sink is down")
		case s.rejects && halfOf(b.Unit) == 0:
			return failure.Errorf(failure.Unit, failure.SinkRejected, "write: refused")
		case s.tokens[b.Token] && !s.w.on("forgetful sink"):
			return nil
		}
		s.tokens[b.Token] = true
		have := s.rows[b.Unit]
		if have == nil {
			have = map[string]int{}
			s.rows[b.Unit] = have
		}
		for r := range strings.Lines(string(b.Data)) {
			have[strings.TrimSpace(r)]++
		}
		return nil
	})
}

func (s *rowSink) Commit(ctx context.Context, u unit.ID, series int) error {
	return actorOf(ctx).do(ctx, "sink", fmt.Sprintf("commit %s %d", short(u), series), func(context.Context, float64) error {
		if s.down {
			return failure.Errorf(failure.Job, failure.SinkDown, "commit: the sink is down")
		}
		return nil
	})
}

func (s *rowSink) Limits() sink.Limits { return sink.Limits{} }
func (s *rowSink) Close() error        { return nil }

// actorOf is the actor whose context it is.
func actorOf(ctx context.Context) *actor { return ctx.Value(actorKey{}).(*actor) }
