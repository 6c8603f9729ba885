// Package memobject is a bucket in memory, for tests: versioned like S3, with
// pages of any size, counters of calls, and hooks for faults.
//
// It is neither a cache nor a place to keep data. It keeps the contract of
// package object to the letter, so that what passes on it passes on S3.
package memobject

import (
	"cmp"
	"context"
	"crypto/md5" //nolint:gosec // an ETag, as S3 makes it; nothing is secured by it
	"encoding/hex"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

// Op is a kind of call.
type Op string

// The calls that are counted and that Hook sees.
const (
	OpList Op = "list" // key is the after of the call
	OpGet  Op = "get"
	OpStat Op = "stat"
)

// Request is one ReadRange as it arrived.
type Request struct {
	Key    string
	Off, N int64
}

// Bucket is a bucket in memory. The zero value is an empty one. The fields are
// set before the first call; the methods may be called concurrently.
type Bucket struct {
	PageSize int              // keys of a listing page; 0 means 1000
	Now      func() time.Time // LastModified of what is put; nil means time.Now
	// Versioned: Stat returns version ids, as for a bucket with versioning.
	Versioned bool

	// Hook is called at the start of each call; its error becomes the call's.
	// Nil lets every call pass.
	Hook func(op Op, key string, off int64) error
	// Wrap may replace a body, to cut it (Cut), to slow it (Slow) or to change
	// it. Nil leaves all as they are.
	Wrap func(ctx context.Context, r Request, body Body) Body

	mu       sync.Mutex
	keys     []string            // sorted; guarded by mu, as all below
	versions map[string][]*entry // oldest first
	serial   int
	calls    map[Op]int
	requests []Request
	open     int // bodies that are not closed
}

// entry is one version of an object.
type entry struct {
	unit.Object
	data     []byte
	archived bool
	deleted  bool // a delete marker
}

var (
	_ object.Bucket = (*Bucket)(nil)
	_ object.Stater = (*Bucket)(nil)
)

// Put adds a version of key, which is the current one from then on, and returns
// it with its version id. The ETag is the MD5 of the data, as S3's is: the same
// bytes put again have the same ETag. The data is kept, not copied.
func (b *Bucket) Put(key string, data []byte) unit.Object {
	sum := md5.Sum(data) //nolint:gosec // see the import
	e := &entry{data: data}
	e.Key, e.Size, e.ETag = key, int64(len(data)), strconv.Quote(hex.EncodeToString(sum[:]))
	return b.add(e)
}

// Delete makes the current version of key a delete marker; the versions below
// stay readable by their ids.
func (b *Bucket) Delete(key string) {
	e := &entry{deleted: true}
	e.Key = key
	b.add(e)
}

func (b *Bucket) add(e *entry) unit.Object {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now
	if b.Now != nil {
		now = b.Now
	}
	b.serial++
	e.Version, e.LastModified = "v"+strconv.Itoa(b.serial), now()
	if b.versions == nil {
		b.versions = map[string][]*entry{}
	}
	if i, ok := slices.BinarySearch(b.keys, e.Key); !ok {
		b.keys = slices.Insert(b.keys, i, e.Key)
	}
	b.versions[e.Key] = append(b.versions[e.Key], e)
	return e.Object
}

// Archive moves the current version of key into the archive, or restores it.
func (b *Bucket) Archive(key string, archived bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.current(key); e != nil {
		e.archived = archived
	}
}

// current returns the version that reading key gives; nil: there is none.
func (b *Bucket) current(key string) *entry {
	v := b.versions[key]
	if len(v) == 0 || v[len(v)-1].deleted {
		return nil
	}
	return v[len(v)-1]
}

// Stat returns the current version of key.
func (b *Bucket) Stat(ctx context.Context, key string) (unit.Object, error) {
	if err := b.called(ctx, OpStat, key, 0); err != nil {
		return unit.Object{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.current(key)
	if e == nil {
		return unit.Object{}, failure.Errorf(failure.Member, failure.NotFound, "stat %q: no such object", key)
	}
	o := e.Object
	if !b.Versioned {
		o.Version = ""
	}
	return o, nil
}

// List returns a page. As S3's, it knows no version ids.
func (b *Bucket) List(ctx context.Context, after string) (object.Page, error) {
	if err := b.called(ctx, OpList, after, 0); err != nil {
		return object.Page{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i, found := slices.BinarySearch(b.keys, after)
	if found {
		i++
	}
	p := object.Page{Last: after}
	for _, key := range b.keys[i:] {
		e := b.current(key)
		if e == nil {
			continue
		}
		if len(p.Objects) == cmp.Or(b.PageSize, 1000) {
			p.More = true
			break
		}
		o := e.Object
		o.Version = ""
		p.Objects = append(p.Objects, object.Listed{Object: o, Archived: e.archived})
		p.Last = key
	}
	return p, nil
}

// called counts a call and asks the hook.
func (b *Bucket) called(ctx context.Context, op Op, key string, off int64) error {
	b.mu.Lock()
	if b.calls == nil {
		b.calls = map[Op]int{}
	}
	b.calls[op]++
	b.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.Hook == nil {
		return nil
	}
	return b.Hook(op, key, off)
}

// Calls is how often op was called.
func (b *Bucket) Calls(op Op) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls[op]
}

// Requests returns every ReadRange so far, in the order of their arrival.
func (b *Bucket) Requests() []Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.requests)
}

// OpenBodies is the number of bodies that were opened and not closed.
func (b *Bucket) OpenBodies() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open
}
