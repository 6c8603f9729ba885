package lister_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/lister"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/unit"
)

func TestEveryObjectOfAPrefixIsPlannedOnce(t *testing.T) {
	for _, size := range []int{1, 2, 7, 30, 45, 1000} {
		t.Run(fmt.Sprintf("listed %d keys at a time", size), func(t *testing.T) {
			w := newZoo(t)
			w.size = size
			if err := w.run(zooOptions()); err != nil {
				t.Fatal(err)
			}
			w.check(zooOptions())
			w.chained()
		})
	}
}

// chain checks that the ledger's pages follow each other without a gap, and hold
// no unit twice.
func (w *world) chain() {
	w.t.Helper()
	after, seen := "", map[unit.ID]bool{}
	for i, p := range w.pages {
		for _, u := range p.Units {
			if seen[u.ID] {
				w.t.Errorf("unit %s is in page %d and in one before", u.ID, i)
			}
			seen[u.ID] = true
		}
		if p.After != after || p.Last <= p.After {
			w.t.Fatalf("page %d is (%q, %q], after one that ended at %q", i, p.After, p.Last, after)
		}
		after = p.Last
	}
}

// chained checks besides that each page holds what lies within its bounds.
func (w *world) chained() {
	w.t.Helper()
	w.chain()
	for _, p := range w.pages {
		if strings.Contains(p.After+p.Last, "\x00") {
			continue // within an object
		}
		within := ledger.Inventory{}
		for _, u := range p.Units {
			if u.FirstKey <= p.After || u.FirstKey > p.Last {
				w.t.Errorf("page (%q, %q] holds a unit that begins at %q", p.After, p.Last, u.FirstKey)
			}
		}
		for _, o := range w.objects {
			if o.Key > p.After && o.Key <= p.Last {
				within.Objects++
			}
		}
		n := p.Inventory
		if got := n.Objects + n.Empty + n.Directory + n.Archived + n.Excluded; got != within.Objects {
			w.t.Errorf("page (%q, %q] counts %d of %d objects", p.After, p.Last, got, within.Objects)
		}
	}
}

func TestAnEmptyPrefixEndsWithoutUnits(t *testing.T) {
	w := newWorld(t, nil)
	if err := w.run(zooOptions()); err != nil {
		t.Fatal(err)
	}
	w.check(zooOptions())
	if !w.finished || len(w.sends) > 0 {
		t.Errorf("finished %v, %d sends", w.finished, len(w.sends))
	}
}

func TestAPrefixOfWhatIsSkippedIsCounted(t *testing.T) {
	w := newWorld(t, slices.DeleteFunc(zoo(), func(o object.Listed) bool {
		f := zooOptions().Filter
		return f.Select(o.Object, o.Archived) == plan.Take
	}))
	r := new(metric.Registry)
	o := zooOptions()
	o.Registry = r
	if err := w.run(o); err != nil {
		t.Fatal(err)
	}
	w.check(o)
	got := map[string]int64{}
	for _, s := range r.Gather() {
		reason := ""
		if len(s.Labels) > 0 {
			reason = s.Labels[0].Value
		}
		got[s.Name+" "+reason] = s.Value
	}
	want := map[string]int64{
		"spate_s3_source_objects_listed_total ":           8,
		"spate_s3_source_objects_skipped_total directory": 3,
		"spate_s3_source_objects_skipped_total empty":     1,
		"spate_s3_source_objects_skipped_total excluded":  2,
		"spate_s3_source_objects_skipped_total archived":  2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestAListingMayBeginAfterAKey(t *testing.T) {
	w := newZoo(t)
	o := zooOptions()
	o.StartAfter = "p/20/small.json"
	if err := w.run(o); err != nil {
		t.Fatal(err)
	}
	w.objects = slices.DeleteFunc(w.objects, func(l object.Listed) bool { return l.Key <= o.StartAfter })
	w.check(o)
	w.chained()
}

// huge is an object of more ranges than a page of the ledger holds, with
// neighbours.
func huge() []object.Listed {
	return []object.Listed{
		{Object: unit.Object{Key: "a", Size: 9, ETag: "a"}},
		{Object: unit.Object{Key: "b", Size: 2100 * mib, ETag: "b"}},
		{Object: unit.Object{Key: "c", Size: 40 * mib, ETag: "c"}},
		{Object: unit.Object{Key: "d", Size: 9, ETag: "d"}},
	}
}

func TestAnObjectOfManyRangesIsPublishedInParts(t *testing.T) {
	w := newWorld(t, huge())
	if err := w.run(zooOptions()); err != nil {
		t.Fatal(err)
	}
	w.check(zooOptions())
	w.chained()
	if len(w.pages) < 3 {
		t.Errorf("%d pages for 2142 units", len(w.pages))
	}
}

func TestAPageOfTheLedgerIsBoundedWhateverTheListingIs(t *testing.T) {
	var objects []object.Listed
	for i := range 3000 {
		objects = append(objects, object.Listed{Object: unit.Object{Key: fmt.Sprintf("%04d", i), Size: mib, ETag: "e"}})
	}
	w := newWorld(t, objects)
	w.size = 5000
	if err := w.run(zooOptions()); err != nil {
		t.Fatal(err)
	}
	w.check(zooOptions())
	w.chained()
	if d := cmp.Diff([]int{1024, 1024, 952}, w.sends); d != "" {
		t.Errorf("sends, a page each (-want +got):\n%s", d)
	}
}

func TestLongDescriptorsMakeShorterPages(t *testing.T) {
	var objects []object.Listed
	for i := range 1000 {
		key := fmt.Sprintf("%04d", i) + strings.Repeat("\x01", 1020)
		objects = append(objects, object.Listed{Object: unit.Object{Key: key, Size: 1, ETag: "e"}})
	}
	w := newWorld(t, objects)
	w.size = 1000
	if err := w.run(zooOptions()); err != nil {
		t.Fatal(err)
	}
	w.check(zooOptions())
	if n := len(w.pages); n < 3 || n > 4 {
		t.Errorf("%d pages for 7 MB", n)
	}
}

func TestErrorsOfTheListing(t *testing.T) {
	denied := failure.New(failure.Job, failure.Denied, errors.New("no s3:ListBucket"))
	for _, c := range []struct {
		says  string
		err   error
		span  int
		scope failure.Scope // 0: the listing succeeds
		calls int
	}{
		{"what passes within eight retries is no error", errLost, 8, 0, 9},
		{"what does not pass is returned", errLost, 9, failure.Transient, 9},
		{"a denied listing ends at once, for the caller to halt the job", denied, 1, failure.Job, 1},
		{"what nobody classified is not repeated", errors.New("odd"), 1, failure.Unit, 1},
	} {
		t.Run(c.says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				w.op, w.at, w.span, w.err = "List", 1, c.span, c.err
				err := w.run(zooOptions())
				if scope, _ := failure.Of(err); (err == nil) != (c.scope == 0) || err != nil && scope != c.scope {
					t.Errorf("%v, scope %d, want scope %d", err, scope, c.scope)
				}
				if w.seen("List") != c.calls || w.finished != (c.scope == 0) {
					t.Errorf("%d calls, want %d; end marker %v", w.seen("List"), c.calls, w.finished)
				}
			})
		})
	}
}

func TestCallsOfLedgerAndFeedAreRepeatedUnlessTheAnswerIsFinal(t *testing.T) {
	for _, op := range []string{"Lease", "Publish", "Send", "Advance", "Finish"} {
		for _, c := range []struct {
			says  string
			err   error
			span  int
			fails bool
			calls int
		}{
			{"eight errors of any kind pass", errors.New("odd"), 8, false, 9},
			{"the ninth is returned", errors.New("odd"), 9, true, 9},
			{"a job that moved on stays so", fmt.Errorf("publish: %w", ledger.ErrState), 1, true, 1},
			{"so does one that another lister has", fmt.Errorf("publish: %w", ledger.ErrLeased), 1, true, 1},
			{"so does one that is gone", ledger.ErrNoJob, 1, true, 1},
			{"a denied call is not repeated", failure.New(failure.Job, failure.Denied, errors.New("no")), 1, true, 1},
		} {
			t.Run(op+": "+c.says, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, zoo()[:1])
					w.op, w.at, w.span, w.err = op, 1, c.span, c.err
					err := w.run(zooOptions())
					calls := w.seen(op)
					if !c.fails && op == "Advance" || op == "Lease" {
						calls = min(calls, c.calls) // the lease is renewed after so long
					}
					if (err != nil) != c.fails || c.fails && !errors.Is(err, c.err) || calls != c.calls {
						t.Errorf("%v after %d calls, want failure %v after %d", err, w.seen(op), c.fails, c.calls)
					}
				})
			})
		}
	}
}

func TestAListingThatIsCancelledEndsSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newZoo(t)
		w.op, w.at, w.span = "List", 1, 1<<30
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.runIn(ctx, zooOptions()) }()
		synctest.Wait() // it waits for its first retry
		cancel()
		synctest.Wait()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want that it was cancelled", err)
			}
		default:
			t.Error("it waits on")
			<-ended
		}
	})
}

// unordered lists what it was given as one page that claims more.
type unordered struct {
	*actor
	page object.Page
}

func (u unordered) List(context.Context, string) (object.Page, error) { return u.page, nil }

func TestAStoreThatListsInNoOrderIsRefused(t *testing.T) {
	one := func(key string) object.Listed { return object.Listed{Object: unit.Object{Key: key, Size: 1}} }
	for name, page := range map[string]object.Page{
		"keys that go back":      {Objects: []object.Listed{one("b"), one("a")}, Last: "b"},
		"a key twice":            {Objects: []object.Listed{one("a"), one("a")}, Last: "a"},
		"a page that stands":     {More: true},
		"the same page for ever": {Objects: []object.Listed{one("a")}, Last: "a", More: true},
	} {
		w := newWorld(t, nil)
		a := &actor{w, w.fault}
		err := lister.New(unordered{a, page}, a, a, zooOptions()).Run(context.Background(), "job", w.start())
		if scope, reason := failure.Of(err); scope != failure.Job || reason != failure.Config || w.finished {
			t.Errorf("%s: %v, end marker %v", name, err, w.finished)
		}
	}
}

// blank lists pages without objects before the last one, as a prefix does of
// which much was deleted.
type blank struct{ *actor }

func (b blank) List(ctx context.Context, after string) (object.Page, error) {
	if len(after) < 3 {
		return object.Page{Last: after + "a", More: true}, nil
	}
	return b.actor.List(ctx, after)
}

func TestAPageWithoutObjectsIsNotTheEnd(t *testing.T) {
	w := newZoo(t)
	a := &actor{w, w.fault}
	if err := lister.New(blank{a}, a, a, zooOptions()).Run(context.Background(), "job", w.start()); err != nil {
		t.Fatal(err)
	}
	w.check(zooOptions())
	w.chained()
}
