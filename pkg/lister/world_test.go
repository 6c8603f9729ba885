package lister_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/lister"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/unit"
)

const mib = 1 << 20

var errLost = failure.New(failure.Transient, failure.RetriesExhausted, errors.New("connection lost"))

// fault lets the calls of a world fail from one on: before they do anything, or
// after, so that only the answer is lost. It counts them all.
type fault struct {
	at      int // the first call to fail; 0: none
	applied bool
	span    int // how many calls fail; 0: one
	err     error

	mu    sync.Mutex
	calls int // guarded by mu
}

// around runs op, or fails it, or both.
func (f *fault) around(op func() error) error {
	f.mu.Lock()
	f.calls++
	n := f.calls
	f.mu.Unlock()
	fails := f.at > 0 && n >= f.at && n < f.at+max(f.span, 1)
	if fails && !f.applied {
		return f.err
	}
	if err := op(); err != nil || !fails {
		return err
	}
	return f.err
}

func (f *fault) seen() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// world is all that a lister touches: a bucket, a ledger and a feed. As ledger
// and feed it asserts what they may rely on.
type world struct {
	t       *testing.T
	objects []object.Listed // in order of keys
	size    int             // of a page of the listing
	heads   map[string]func() ([]byte, error)
	*fault

	ledger *memledger.Ledger

	mu       sync.Mutex // guards all below
	asked    []string   // ReadRange calls
	reading  int        // bodies that are not closed
	changed  []string   // keys of which a reader is told only when it closes them
	pages    []ledger.Page
	known    map[unit.ID]bool
	finished bool
	sent     map[unit.ID][]byte
	sends    []int // messages of each Send, repeated ones included
}

func newWorld(t *testing.T, objects []object.Listed) *world {
	slices.SortFunc(objects, func(a, b object.Listed) int { return strings.Compare(a.Key, b.Key) })
	return &world{
		t: t, objects: objects, size: 7, heads: map[string]func() ([]byte, error){}, fault: &fault{err: errLost},
		ledger: memledger.New(), known: map[unit.ID]bool{}, sent: map[unit.ID][]byte{},
	}
}

func (w *world) start() ledger.Meta {
	w.t.Helper()
	m, err := w.ledger.Start(context.Background(), "job", "token", ledger.Digests{})
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// run lists as a process does that knows nothing of an earlier one.
func (w *world) run(o lister.Options) error {
	return lister.New(w, planner{w}, w, o).Run(context.Background(), "job", w.start())
}

func (w *world) List(_ context.Context, after string) (p object.Page, err error) {
	err = w.around(func() error {
		i, found := slices.BinarySearchFunc(w.objects, after, func(o object.Listed, key string) int { return strings.Compare(o.Key, key) })
		if found {
			i++
		}
		end := min(i+w.size, len(w.objects))
		p = object.Page{Objects: w.objects[i:end], Last: after, More: end < len(w.objects)}
		if end > i {
			p.Last = w.objects[end-1].Key
		}
		return nil
	})
	return p, err
}

func (w *world) Pin(o unit.Object) object.Pinned { return pinned{w, o} }

type pinned struct {
	w *world
	o unit.Object
}

func (p pinned) Close() error {
	if slices.Contains(p.w.changed, p.o.Key) {
		return failure.New(failure.Member, failure.ETagDrift, errors.New("changed while it was read"))
	}
	return nil
}

// counted is a body that says when it is closed.
type counted struct {
	io.Reader
	w *world
}

func (c counted) Close() error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.reading--
	return nil
}

func (p pinned) ReadRange(_ context.Context, off, n int64) (body io.ReadCloser, err error) {
	err = p.w.around(func() error {
		p.w.mu.Lock()
		p.w.asked = append(p.w.asked, fmt.Sprintf("%s %s %d+%d", p.o.Key, p.o.ETag, off, n))
		head, ok := p.w.heads[p.o.Key]
		p.w.mu.Unlock()
		b := bytes.Repeat([]byte("x"), int(n))
		if ok {
			if b, err = head(); err != nil {
				return err
			}
		}
		p.w.mu.Lock()
		defer p.w.mu.Unlock()
		p.w.reading++
		body = counted{bytes.NewReader(b), p.w}
		return nil
	})
	if err != nil && body != nil {
		body.Close() // the answer is lost, and nobody holds it
		body = nil
	}
	return body, err
}

// planner is the world's ledger, under its method names.
type planner struct{ *world }

func (w planner) Start(context.Context, string, string, ledger.Digests) (ledger.Meta, error) {
	w.t.Error("the lister started a job")
	return ledger.Meta{}, nil
}

func (w planner) Publish(ctx context.Context, job string, run int, p ledger.Page) (due []unit.ID, err error) {
	err = w.around(func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if due, err = w.ledger.Publish(ctx, job, run, p); err != nil {
			return err
		}
		p.Units = slices.Clone(p.Units)
		w.pages = append(w.pages, p)
		for _, u := range p.Units {
			w.known[u.ID] = true
		}
		return nil
	})
	return due, err
}

func (w planner) Finish(ctx context.Context, job string, run int) error {
	return w.around(func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		for id := range w.open() {
			if _, ok := w.sent[id]; !ok {
				w.t.Errorf("end marker before unit %s was sent", id)
			}
		}
		w.finished = true
		return w.ledger.Finish(ctx, job, run)
	})
}

// open returns the units that are not done.
func (w *world) open() map[unit.ID]bool {
	ids := map[unit.ID]bool{}
	err := w.ledger.Unfinished(context.Background(), "job", 1, func(it ledger.Item) error {
		ids[it.ID] = true
		return nil
	})
	if err != nil {
		w.t.Error(err)
	}
	return ids
}

func (w *world) Send(_ context.Context, ms ...feed.Message) error {
	return w.around(func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		total := 0
		for _, m := range ms {
			if !w.known[m.ID] {
				w.t.Errorf("INV-7: unit %s is sent and the ledger does not know it", m.ID)
			}
			if m.Job != "job" {
				w.t.Errorf("unit %s is sent for job %q", m.ID, m.Job)
			}
			total += len(m.Body)
			w.sent[m.ID] = m.Body
		}
		w.sends = append(w.sends, len(ms))
		if len(ms) > 1 && (len(ms) > 64 || total > mib) {
			w.t.Errorf("%d messages of %d bytes in one send", len(ms), total)
		}
		return nil
	})
}

// check holds the law of a listing that ended: what the filter takes is in one
// unit, which ledger and feed have; the end marker counts just these; and all
// else is counted.
func (w *world) check(o lister.Options) {
	w.t.Helper()
	m, err := w.ledger.Meta(context.Background(), "job")
	if err != nil {
		w.t.Fatal(err)
	}
	if !m.Listed || m.State != ledger.Running || m.Planned != len(w.sent) {
		w.t.Fatalf("listed %v, %s, %d units planned; %d are in the feed", m.Listed, m.State, m.Planned, len(w.sent))
	}
	if w.reading != 0 {
		w.t.Errorf("%d bodies were left open", w.reading)
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
		Bucket: "bucket", Target: mib, Cut: &plan.Cut{Delimiter: '\n'},
		Filter: plan.Filter{Prefix: "p/", Exclude: []string{"**/tmp"}, SkipArchived: true},
	}
}

func newZoo(t *testing.T) *world {
	w := newWorld(t, zoo())
	w.heads["p/08/big.json.gz"] = func() ([]byte, error) { return []byte("\x1f\x8b\x08\x00 and so on, compressed"), nil }
	return w
}
