package lister_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/cut"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/lister"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/unit"
)

const mib = 1 << 20

var errLost = failure.New(failure.Transient, failure.RetriesExhausted, errors.New("connection lost"))

// world is all that listers touch: a bucket, a ledger and a feed. As ledger and
// feed it asserts what they may rely on.
type world struct {
	t     *testing.T
	size  int           // of a page of the listing
	slow  time.Duration // what a call of List takes
	heads map[string]func() ([]byte, error)
	*fault

	ledger *memledger.Ledger
	token  string

	mu       sync.Mutex      // guards all below
	objects  []object.Listed // in order of keys
	asked    []string        // ReadRange calls
	reading  int             // bodies that are not closed
	changed  []string        // keys of which a reader is told only when it closes them
	pages    []ledger.Page
	given    []ledger.Page // as Publish was given them, and as they were then
	were     []ledger.Page
	known    map[unit.ID]bool
	owed     map[unit.ID]bool // that the ledger said are due and nobody has sent
	finished bool
	sent     map[unit.ID][]byte
	sends    []int // messages of each Send, repeated ones included
}

func newWorld(t *testing.T, objects []object.Listed) *world {
	w := &world{
		t: t, size: 7, heads: map[string]func() ([]byte, error){}, fault: &fault{err: errLost},
		ledger: memledger.New(), token: "token", known: map[unit.ID]bool{}, owed: map[unit.ID]bool{}, sent: map[unit.ID][]byte{},
	}
	w.put(objects...)
	return w
}

// put puts objects into the bucket, over those of their keys.
func (w *world) put(objects ...object.Listed) {
	for _, o := range objects {
		w.remove(o.Key)
	}
	w.objects = append(slices.Clone(w.objects), objects...) // pages are cut from it
	slices.SortFunc(w.objects, func(a, b object.Listed) int { return strings.Compare(a.Key, b.Key) })
}

func (w *world) remove(key string) {
	w.objects = slices.DeleteFunc(slices.Clone(w.objects), func(o object.Listed) bool { return o.Key == key })
}

// start is the start of the job's current run, however often it is called.
func (w *world) start() ledger.Meta {
	w.t.Helper()
	m, err := w.ledger.Start(context.Background(), "job", ledger.Start{Token: w.token})
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w *world) meta() ledger.Meta {
	w.t.Helper()
	m, err := w.ledger.Meta(context.Background(), "job")
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// run lists as a process does that knows nothing of an earlier one.
func (w *world) run(o lister.Options) error { return w.runIn(context.Background(), o) }

func (w *world) runIn(ctx context.Context, o lister.Options) error {
	actor := &actor{w, w.fault}
	return lister.New(actor, actor, actor, o).Run(ctx, "job", w.start())
}

// next lists as the process does that comes when the lease of the one before has
// lapsed, and that nothing happens to.
func (w *world) next(o lister.Options) error {
	time.Sleep(ledger.LeaseTime)
	w.fault = &fault{err: errLost}
	return w.run(o)
}

// allSent checks that all that was due is in the feed.
func (w *world) allSent(before string) {
	for id := range w.owed {
		w.t.Errorf("%s before unit %s was sent", before, id)
	}
}

// open returns the units that are not done.
func (w *world) open() map[unit.ID]bool {
	ids := map[unit.ID]bool{}
	err := w.ledger.Unfinished(context.Background(), "job", w.meta().Run, func(it ledger.Item) error {
		ids[it.ID] = true
		return nil
	})
	if err != nil {
		w.t.Error(err)
	}
	return ids
}

// check holds the law of a listing that ended: what the filter takes is in one
// unit, which ledger and feed have; the end marker counts just these; and all
// else is counted.
func (w *world) check(o lister.Options) {
	w.t.Helper()
	m := w.meta()
	if !m.Listed || m.State != ledger.Running || m.Planned != len(w.sent) {
		w.t.Fatalf("listed %v, %s, %d units planned; %d are in the feed", m.Listed, m.State, m.Planned, len(w.sent))
	}
	if w.reading != 0 {
		w.t.Errorf("%d bodies were left open", w.reading)
	}
	for i, p := range w.given {
		if !slices.EqualFunc(p.Units, w.were[i].Units, func(a, b ledger.Planned) bool { return a.ID == b.ID && bytes.Equal(a.Body, b.Body) }) {
			w.t.Errorf("page %d changed after it was given to the ledger", i)
		}
	}
	bytesOf, whole := w.covered()
	var want ledger.Inventory
	for _, l := range w.objects {
		switch o.Filter.Select(l.Object, l.Archived) {
		case plan.Take:
			want.Objects++
			want.Bytes += l.Size
			if bytesOf[l.Key] != l.Size {
				w.t.Errorf("%q: %d of %d bytes are in units", l.Key, bytesOf[l.Key], l.Size)
			}
			delete(bytesOf, l.Key)
		case plan.Empty:
			want.Empty++
		case plan.Directory:
			want.Directory++
		case plan.Excluded:
			want.Excluded++
		case plan.Archived:
			want.Archived++
			want.ArchivedBytes += l.Size
		}
	}
	if len(bytesOf) > 0 {
		w.t.Errorf("in units and not to be read: %v", slices.Collect(maps.Keys(bytesOf)))
	}
	if m.Inventory != want {
		w.t.Errorf("inventory %+v, want %+v", m.Inventory, want)
	}
	for key, n := range whole {
		if n > 1 {
			w.t.Errorf("%q is whole in %d units", key, n)
		}
	}
}

// covered adds up what the units in the feed hold of each object.
func (w *world) covered() (bytesOf map[string]int64, whole map[string]int) {
	bytesOf, whole = map[string]int64{}, map[string]int{}
	open := w.open()
	for id, body := range w.sent {
		u, err := unit.Decode(body)
		if err != nil {
			w.t.Fatal(err)
		}
		if u.ID() != id || u.Job != "job" || u.Run != 1 || u.Bucket != "bucket" || !open[id] {
			w.t.Errorf("message %s holds unit %s of job %s, run %d, bucket %s", id, u.ID(), u.Job, u.Run, u.Bucket)
		}
		if u.Range != nil {
			bytesOf[u.Objects[0].Key] += u.Size()
			continue
		}
		for _, o := range u.Objects {
			bytesOf[o.Key] += o.Size
			whole[o.Key]++
		}
	}
	return bytesOf, whole
}

// zoo holds an object of every kind that a lister treats in a way of its own.
func zoo() []object.Listed {
	var objects []object.Listed
	add := func(key string, size int64, archived bool) {
		objects = append(objects, object.Listed{
			Object:   unit.Object{Key: key, Size: size, ETag: `"` + key + `"`, LastModified: time.Unix(1e9, 0).UTC()},
			Archived: archived,
		})
	}
	for i := range 40 {
		add(fmt.Sprintf("p/%02d/small.json", i), int64(1+i*9000), false)
	}
	// A key that a unit begins with, whatever was open before it.
	for i := 0; ; i++ {
		key := fmt.Sprintf("p/33/anchor-%d", i)
		if sum := sha256.Sum256([]byte(key)); sum[0] == 0 && sum[1] < 64 {
			add(key, 9, false)
			break
		}
	}
	add("p/", 0, false)
	add("p/03/", 0, false)
	add("p/04/empty.json", 0, false)
	add("p/05/tmp", 77, false)
	add("p/06/frozen.json", 99, true)
	add("p/07/big.json", 5*mib+3, false)
	add("p/08/big.json.gz", 5*mib+3, false)
	add("p/09/alone.json", mib, false)
	add("p/09/big-frozen.json", 9*mib, true)
	add("p/10/big.json", 2*mib, false)
	add("p/41/tmp", 5, false)
	add("p/42/", 0, false)
	return objects
}

func zooOptions() lister.Options {
	return lister.Options{
		Bucket: "bucket", Options: cut.Options{Target: mib, Cut: &plan.Cut{Delimiter: '\n'}},
		Filter: plan.Filter{Prefix: "p/", Exclude: []string{"**/tmp"}, SkipArchived: true},
	}
}

func newZoo(t *testing.T) *world {
	w := newWorld(t, zoo())
	w.heads["p/08/big.json.gz"] = func() ([]byte, error) { return []byte("\x1f\x8b\x08\x00 and so on, compressed"), nil }
	return w
}
