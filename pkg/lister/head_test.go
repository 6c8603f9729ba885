package lister_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/cut"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/lister"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

func TestOnlyTheFirstBytesOfWhatWouldBeCutAreRead(t *testing.T) {
	want := []string{
		`p/07/big.json "p/07/big.json" 0+16`,
		`p/08/big.json.gz "p/08/big.json.gz" 0+16`,
		`p/10/big.json "p/10/big.json" 0+16`,
	}
	w := newZoo(t)
	if err := w.run(zooOptions()); err != nil {
		t.Fatal(err)
	}
	slices.Sort(w.asked) // they are asked for side by side
	if diff := cmp.Diff(want, w.asked); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	t.Run("nothing of what could not be cut anyway", func(t *testing.T) {
		w := newZoo(t)
		for i := range w.objects {
			if w.objects[i].Key == "p/07/big.json" {
				w.objects[i].ETag = ""
			}
		}
		o := zooOptions()
		o.Filter.SkipArchived = false
		if err := w.run(o); err != nil {
			t.Fatal(err)
		}
		w.check(o)
		slices.Sort(w.asked)
		if diff := cmp.Diff(want[1:], w.asked); diff != "" {
			t.Errorf("reads (-want +got):\n%s", diff)
		}
	})
	t.Run("none where nothing is cut", func(t *testing.T) {
		w := newZoo(t)
		o := zooOptions()
		o.Cut = nil
		if err := w.run(o); err != nil {
			t.Fatal(err)
		}
		w.check(o)
		if len(w.asked) > 0 {
			t.Errorf("reads %q", w.asked)
		}
	})
	t.Run("as many as the judge wants", func(t *testing.T) {
		w := newZoo(t)
		o := zooOptions()
		o.Head = 64 << 10
		o.Cuttable = func(head []byte) bool { return len(head) == 64<<10 }
		w.heads = nil
		if err := w.run(o); err != nil {
			t.Fatal(err)
		}
		if w.units("p/08/big.json.gz") != 6 {
			t.Errorf("cut into %d units, want 6", w.units("p/08/big.json.gz"))
		}
	})
}

// units is the number of units in the feed that hold some of the object.
func (w *world) units(key string) (n int) {
	for _, body := range w.sent {
		u, err := unit.Decode(body)
		if err != nil {
			w.t.Fatal(err)
		}
		if slices.ContainsFunc(u.Objects, func(o unit.Object) bool { return o.Key == key }) {
			n++
		}
	}
	return n
}

func TestContentDecidesWhatIsCut(t *testing.T) {
	big := func() []object.Listed {
		return []object.Listed{{Object: unit.Object{Key: "big.gz", Size: 3*mib + 1, ETag: "e"}}}
	}
	marked := func(s failure.Scope, r failure.Reason) func() ([]byte, error) {
		return func() ([]byte, error) { return nil, failure.New(s, r, errors.New("told so")) }
	}
	says := func(head string) func() ([]byte, error) { return func() ([]byte, error) { return []byte(head), nil } }
	for _, c := range []struct {
		says  string
		head  func() ([]byte, error)
		units int           // 0: the listing fails
		scope failure.Scope // of that
		reads int
	}{
		{"plain text is cut, whatever its name says", says(`{"a":1}` + "\n" + `{"a":2}` + "\n"), 4, 0, 1},
		{"gzip is not", says("\x1f\x8b\x08\x00............"), 1, 0, 1},
		{"zstd is not", says("\x28\xb5\x2f\xfd............"), 1, 0, 1},
		{"what no reader reads is left for the reader to report", says("PK\x03\x04............"), 1, 0, 1},
		{"an object that is gone is not cut", marked(failure.Member, failure.NotFound), 1, 0, 1},
		{"nor one that was replaced", marked(failure.Member, failure.ETagDrift), 1, 0, 1},
		{"nor one that must be restored", marked(failure.Member, failure.Archived), 1, 0, 1},
		{"nor one whose request makes no sense to the store", marked(failure.Unit, failure.RetriesExhausted), 1, 0, 1},
		{"nor one that fails in a way nobody knows", func() ([]byte, error) { return nil, errors.New("odd") }, 1, 0, 1},
		{"a denied read ends the listing", marked(failure.Job, failure.Denied), 0, failure.Job, 1},
		{"what may pass must not decide what the units are", marked(failure.Transient, failure.RetriesExhausted), 0, failure.Unit, 9},
		{"nor may a body that breaks off each time", says(""), 0, failure.Unit, 9},
		{"one that breaks off is gone on with", says("short"), 4, 0, 4},
	} {
		t.Run(c.says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, big())
				w.heads["big.gz"] = c.head
				err := w.run(zooOptions())
				if scope, _ := failure.Of(err); (err != nil) != (c.units == 0) || err != nil && scope != c.scope {
					t.Fatalf("%v, scope %d", err, scope)
				}
				if w.units("big.gz") != c.units || len(w.asked) != c.reads {
					t.Errorf("%d units after %d reads, want %d after %d", w.units("big.gz"), len(w.asked), c.units, c.reads)
				}
				if err == nil {
					w.check(zooOptions())
				}
			})
		})
	}
}

func TestAnObjectThatChangesWhileItIsLookedAtIsNotCut(t *testing.T) {
	w := newZoo(t)
	w.changed = []string{"p/07/big.json"}
	if err := w.run(zooOptions()); err != nil {
		t.Fatal(err)
	}
	w.check(zooOptions())
	if w.units("p/07/big.json") != 1 || w.units("p/10/big.json") != 2 {
		t.Errorf("%d units, and %d of its neighbour; want 1 and 2", w.units("p/07/big.json"), w.units("p/10/big.json"))
	}
}

func TestACancelledLookDecidesNothing(t *testing.T) {
	w := newZoo(t)
	w.size = 1000
	ctx, cancel := context.WithCancel(t.Context())
	w.heads["p/07/big.json"] = func() ([]byte, error) {
		cancel()
		return nil, ctx.Err()
	}
	err := w.runIn(ctx, zooOptions())
	if !errors.Is(err, context.Canceled) || w.seen("Publish") > 0 {
		t.Errorf("%v after %d pages, want that it was cancelled before the first", err, w.seen("Publish"))
	}
}

func TestHeadsAreReadSideBySideButNotAllAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var objects []object.Listed
		for i := range 40 {
			objects = append(objects, object.Listed{Object: unit.Object{Key: string(rune('A' + i)), Size: 2 * mib, ETag: "e"}})
		}
		w := newWorld(t, objects)
		w.size = 1000
		at, most := make(chan int, 1), 0
		at <- 0
		gate := make(chan struct{})
		for _, o := range objects {
			w.heads[o.Key] = func() ([]byte, error) {
				n := <-at + 1
				most = max(most, n)
				at <- n
				<-gate
				at <- <-at - 1
				return make([]byte, 16), nil
			}
		}
		done := make(chan error)
		go func() {
			done <- w.run(lister.Options{Bucket: "bucket", Options: cut.Options{Target: mib, Cut: zooOptions().Cut}})
		}()
		synctest.Wait()
		close(gate)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if most != 16 {
			t.Errorf("%d heads were read at once, want 16", most)
		}
	})
}
