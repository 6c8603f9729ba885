package reader_test

import (
	"context"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/unit"
)

// Where no schedule has a ledger that could send it again, what is acked of a
// halted job would be lost (INV-7).
func TestWhoeverIsToSendAgainIsToldOfEveryMessageThatAHaltAcks(t *testing.T) {
	denied := func(k *kit, first func()) {
		k.pipe.rest = func(context.Context, []unit.Fault, func(context.Context, unit.Fault) error) error {
			first()
			return failure.Errorf(failure.Job, failure.Denied, "denied")
		}
	}
	for name, c := range map[string]struct {
		before func(k *kit)
		waits  int
	}{
		"of a unit that halts its job":        {func(k *kit) { denied(k, func() {}) }, 1},
		"of one that another was faster than": {func(k *kit) { denied(k, func() { k.halt(failure.Schema) }) }, 1},
		"of one whose job is halted":          {func(k *kit) { k.halt(failure.Denied) }, 1},
		"of none that is done":                {func(*kit) {}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			var waits []feed.Message
			o := quiet()
			o.Waits = func(m feed.Message) { waits = append(waits, m) }
			k.use(o)
			c.before(k)
			if err := k.deliver(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(waits) != c.waits || c.waits > 0 && (waits[0].ID != k.unit.ID() || len(waits[0].Body) == 0) {
				t.Errorf("told of %v", waits)
			}
		})
	}
}
