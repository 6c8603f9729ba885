package intake

import (
	"context"
	"fmt"
	"strings"

	"github.com/spate-go/spate/pkg/event"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// Taken is what became of an object that somebody named.
type Taken struct {
	// Unit holds the object; of one that was cut, its first range. "": no unit
	// does.
	Unit unit.ID
	// Reason is why nothing was sent: the object is repeated, and Unit is done
	// or given up; or it is not an object of the source. "": Unit was sent.
	Reason failure.Reason
	// Err is why the object could not be taken. failure.Member: there is no
	// such object.
	Err error
}

// Take brings objects that somebody named into units of run m, through the same
// claims and packing as announced objects, and says what became of each. An
// object without an ETag, or with a size below 0, is looked up by its key. What
// is in a unit that is not done is sent again, so Take may be repeated.
//
// The error is one that concerns the whole job; then no result counts.
func (in *Intake) Take(ctx context.Context, m ledger.Meta, objects []unit.Object) ([]Taken, error) {
	if err := usable(m); err != nil {
		return nil, err
	}
	ws := make([]*want, len(objects))
	for i, o := range objects {
		w := &want{Object: o, again: true}
		ws[i] = w
		in.named(w)
	}
	units, err := in.take(ctx, m, ws)
	in.metrics.units.Add(int64(units))
	if err != nil {
		return nil, fmt.Errorf("take %d objects for job %s: %w", len(objects), m.Job, err)
	}
	taken := make([]Taken, len(ws))
	for i, w := range ws {
		if w.as == nil && w.err == nil && w.reason == "" {
			in.metrics.objects.Add(1)
		}
		w = w.stands()
		taken[i] = Taken{Unit: w.unit, Reason: w.reason, Err: w.err}
	}
	return taken, nil
}

// named settles an object that somebody named, if it cannot be taken or is not
// wanted.
func (in *Intake) named(w *want) {
	w.Take = 0 // the claims decide
	etag, err := event.Quote(w.ETag)
	if w.ETag = etag; w.unknown() {
		w.Size = -1
	}
	switch {
	case err != nil:
		w.fail(failure.Errorf(failure.Member, failure.NotFound, "object %q: %w", w.Key, err))
	case !strings.HasPrefix(w.Key, in.opts.Filter.Prefix):
		w.ignore(failure.OutsidePrefix)
	default:
		in.selects(w)
	}
}

// take brings the unsettled ones of ws into units of run m. If one object is
// refused, even for want of access, those that came in with it are taken all
// the same.
func (in *Intake) take(ctx context.Context, m ledger.Meta, ws []*want) (units int, err error) {
	in.stat(ctx, unsettled(ws))
	wanted := distinct(unsettled(ws))
	in.look(ctx, wanted)
	return in.enter(ctx, m, wanted)
}
