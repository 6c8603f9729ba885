package clickhousesink

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/spate-go/spate/pkg/failure"
)

const (
	readonly     = "readonly" // the setting
	withDefaults = "RowBinaryWithDefaults"
)

// mayInsert refuses a replica that would refuse every insert: it does not know the
// format, or the user lacks the grant. What a server cannot be asked, as older ones
// cannot for grants, the first insert tells.
func (s *Sink) mayInsert(ctx context.Context, r *replica, f *found) error {
	type said struct{ Result int }
	if s.o.Defaults {
		formats, err := ask[said](ctx, s, r, "SELECT toInt32(count()) AS result FROM system.formats WHERE name = "+literal(withDefaults))
		if err == nil && len(formats) == 1 && formats[0].Result == 0 {
			return failure.Errorf(failure.Job, failure.Config,
				"look at %s at %s: the server, %s, does not know the format %s, which columns with a DEFAULT need: upgrade it, or use format %s, in which an absent value is its type's default",
				s.place, r.name, f.version, withDefaults, Native)
		}
	}
	need := fmt.Sprintf("INSERT(%s) ON %s", identifiers(names(s.columns)), s.place.quoted())
	grants, err := ask[said](ctx, s, r, "CHECK GRANT "+need)
	if err == nil && len(grants) == 1 && grants[0].Result == 0 {
		return failure.Errorf(failure.Job, failure.Denied, "look at %s at %s: the user lacks the grant %s: grant it, then resume the job",
			s.place, r.name, strings.ReplaceAll(need, "`", ""))
	}
	return ctx.Err()
}

// allMayInsert asks replicas at once.
func (s *Sink) allMayInsert(ctx context.Context, replicas map[*replica]*found) error {
	var g errgroup.Group
	g.SetLimit(8)
	for r, f := range replicas {
		g.Go(func() error { return s.mayInsert(ctx, r, f) })
	}
	return g.Wait()
}
