package lister_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/lister"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

// full are objects that are a unit each.
func full(n int) []object.Listed {
	objects := make([]object.Listed, n)
	for i := range objects {
		objects[i].Object = unit.Object{Key: fmt.Sprintf("%07d", i), Size: mib, ETag: "e"}
	}
	return objects
}

func TestTheNextPageIsListedWhileOneIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, full(70))
		w.op, w.at, w.wakes = "Send", 1, make(chan struct{})
		ended := make(chan error, 1)
		go func() { ended <- w.run(zooOptions()) }()
		synctest.Wait()
		if n := w.seen("List"); n != 2 {
			t.Errorf("%d pages are listed while the first is sent, want it and the next", n)
		}
		close(w.wakes)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		w.check(zooOptions())
	})
}

func TestListingAndSendingTakeTheTimeOfTheSlowerOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, full(70))
		w.slow = 2 * time.Second
		a := &actor{w, w.fault}
		began := time.Now()
		if err := lister.New(a, a, slowly{a, 2 * time.Second}, zooOptions()).Run(t.Context(), "job", w.start()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 22*time.Second {
			t.Errorf("ten pages took %v, which are listed in 20 s and sent in 20 s", took)
		}
	})
}

// A page that was listed is published though the next one cannot be.
func TestWhatWasListedIsPublishedBeforeTheListingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, full(21))
		w.op, w.at, w.err = "List", 2, failure.New(failure.Job, failure.Denied, errors.New("no"))
		if err := w.run(zooOptions()); !failure.Is(err, failure.Job) {
			t.Errorf("it says %v", err)
		}
		if len(w.sent) != 7 || w.meta().Planned != 7 {
			t.Errorf("%d units sent, %d planned", len(w.sent), w.meta().Planned)
		}
	})
}

// Of a stop, a listing must not make the end.
func TestAListingThatIsCancelledAtAnyPageIsNotTheWholeOne(t *testing.T) {
	for pages := range 11 {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, full(70))
			w.slow = time.Second
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(time.Duration(pages)*time.Second+500*time.Millisecond, cancel)
			err := w.runIn(ctx, zooOptions())
			if m := w.meta(); (err == nil) != m.Listed || m.Listed != (pages == 10) || m.Listed && m.Planned != 70 {
				t.Errorf("cancelled within page %d: %v, %+v", pages, err, m)
			}
		})
	}
}

// Requests per unit are what listing costs.
func TestPagesOfTheListingAreTakenTogether(t *testing.T) {
	for _, c := range []struct {
		says  string
		slow  time.Duration
		pages int
	}{
		{"while they come fast, up to what a page holds", time.Millisecond, 2 + 1},
		{"while they come within a second", 250 * time.Millisecond, 100/4 + 2},
		{"but not for longer", time.Second, 100 + 1},
	} {
		t.Run(c.says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, full(1000))
				w.size, w.slow = 10, c.slow
				if err := w.run(zooOptions()); err != nil {
					t.Fatal(err)
				}
				w.check(zooOptions())
				for op, n := range map[string]int{"Publish": len(w.pages), "Advance": len(w.pages), "Send": len(w.pages)} {
					if w.seen(op) != n {
						t.Errorf("%d calls of %s for %d pages", w.seen(op), op, n)
					}
				}
				if len(w.pages) > c.pages {
					t.Errorf("%d pages, want at most %d", len(w.pages), c.pages)
				}
			})
		})
	}
}

// What no unit holds must not keep a unit open for ever: a lister can stop only
// where none is.
func TestAUnitIsClosedAmongManyKeysThatAreSkipped(t *testing.T) {
	objects := full(80_000) // more than may be skipped within a unit
	for i := range objects {
		objects[i].Key += "/tmp"
	}
	objects[10].Key, objects[10].Size = objects[10].Key+".json", 1
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, objects)
		w.size, w.slow = 1000, time.Second
		if err := w.run(zooOptions()); err != nil {
			t.Fatal(err)
		}
		w.check(zooOptions())
		w.chained()
		if len(w.pages) < 10 {
			t.Errorf("%d pages", len(w.pages))
		}
	})
}

// slowly sends slowly.
type slowly struct {
	*actor
	takes time.Duration
}

func (s slowly) Send(ctx context.Context, ms ...feed.Message) error {
	time.Sleep(s.takes)
	return s.actor.Send(ctx, ms...)
}
