package sim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/unit"
)

const mib = 1 << 20

// version is one version of an object. Its bytes are records of headBytes, each
// followed by padding, so that objects are as large as segments need them to be
// and cost nothing: nobody writes or reads the padding.
type version struct {
	unit.Object
	records int
	stride  int64
}

const headBytes = 64

// head is a record's bytes. The row that it becomes names object and record.
func (v *version) head(n int, corrupt bool) string {
	mark := "ok"
	if corrupt {
		mark = "no"
	}
	return fmt.Sprintf("%-*s", headBytes, fmt.Sprintf("%s %s %d %d", mark, row(v.ETag, n), v.stride-headBytes, n))
}

func row(etag string, n int) string { return strings.Trim(etag, `"`) + "#" + strconv.Itoa(n) }

// kept reports whether the chain keeps the record.
func kept(n int) bool { return n%4 != 3 }

// store is the bucket: versions by ETag, and what is wrong with them for now.
type store struct {
	current map[string]*version // by key
	all     map[string]*version // by ETag
	serial  int
	faults  map[string]badness // by ETag
	denied  bool
	reads   int
}

// badness is how a version is bad, from a record on.
type badness struct {
	reason failure.Reason
	from   int
}

func newStore() *store {
	return &store{current: map[string]*version{}, all: map[string]*version{}, faults: map[string]badness{}}
}

// put makes a version current.
func (b *store) put(key string, records int, stride int64) *version {
	b.serial++
	v := &version{records: records, stride: stride}
	v.Key, v.ETag, v.Size = key, fmt.Sprintf(`"%s.%d"`, key, b.serial), int64(records)*stride
	v.LastModified = epoch
	b.current[key], b.all[v.ETag] = v, v
	return v
}

// restore makes the version with that ETag the current one, and good.
func (b *store) restore(etag string) {
	v := b.all[etag]
	b.current[v.Key] = v
	delete(b.faults, etag)
}

// of are the versions of a key, in order.
func (b *store) of(key string) (all []*version) {
	for _, v := range b.all {
		if v.Key == key {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(v, u *version) int { return strings.Compare(v.ETag, u.ETag) })
	return all
}

// stat is the current version of a key.
func (b *store) stat(key string, o *unit.Object) error {
	v := b.current[key]
	switch {
	case b.denied:
		return failure.Errorf(failure.Job, failure.Denied, "stat %s: 403", key)
	case v == nil:
		return failure.Errorf(failure.Member, failure.NotFound, "stat %s: no such object", key)
	}
	*o = v.Object
	return nil
}

// wrong is what is wrong with a version that is to be read.
func (b *store) wrong(o unit.Object) (badness, bool) {
	if f, ok := b.faults[o.ETag]; ok {
		return f, true
	}
	v := b.current[o.Key]
	switch {
	case v == nil:
		return badness{reason: failure.NotFound}, true
	case v.ETag != o.ETag:
		return badness{reason: failure.ETagDrift}, true
	}
	return badness{}, false
}

// bucket is the store as one actor sees it.
type bucket struct {
	w   *world
	who func() *actor
}

var _ object.Bucket = bucket{}

// List returns pages of three keys.
func (b bucket) List(ctx context.Context, after string) (p object.Page, err error) {
	err = b.who().do(ctx, "list", "list after "+after, func(context.Context, float64) error {
		if b.w.store.denied {
			return failure.Errorf(failure.Job, failure.Denied, "list: 403")
		}
		p.Last = after
		for _, key := range slices.Sorted(maps.Keys(b.w.store.current)) {
			if key <= after {
				continue
			}
			if p.More = len(p.Objects) == 3; p.More {
				break
			}
			p.Objects = append(p.Objects, object.Listed{Object: b.w.store.current[key].Object})
			p.Last = key
		}
		return nil
	})
	if err != nil {
		return object.Page{}, err
	}
	return p, nil
}

func (b bucket) Pin(o unit.Object) object.Pinned { return &pinned{b, o} }

type pinned struct {
	bucket
	o unit.Object
}

func (p *pinned) Close() error { return nil }

func (p *pinned) ReadRange(ctx context.Context, off, n int64) (body io.ReadCloser, err error) {
	a := p.who()
	channel := fmt.Sprintf("get %s %d", p.o.ETag, off+n)
	err = a.do(ctx, channel, fmt.Sprintf("get %s from %d to %d", p.o.ETag, off/mib, (off+n)/mib), func(_ context.Context, roll float64) error {
		s := p.w.store
		s.reads++
		p.w.laws.read(a, p.o)
		if s.denied {
			return failure.Errorf(failure.Job, failure.Denied, "get %s: 403", p.o.Key)
		}
		r := &content{v: s.all[p.o.ETag], off: off, end: off + n, corrupt: -1}
		bad, is := s.wrong(p.o)
		at := int64(bad.from) * r.v.stride
		switch {
		case is && bad.reason == failure.Undecodable:
			r.corrupt = bad.from
			p.w.laws.spoilt(p.o)
		case is && off >= at:
			p.w.laws.spoilt(p.o)
			return failure.Errorf(failure.Member, bad.reason, "get %s: it is not what it was", p.o.Key)
		case is && at < off+n: // found out in the middle
			p.w.laws.spoilt(p.o)
			r.cut = at
		case p.w.quiet:
		case p.w.on("cut") && roll < 0.05:
			r.cut = off + 1 + int64(roll*20*float64(n-1))
		}
		if r.cut > 0 {
			r.broke = func() { a.waits(channel) }
		}
		body = r
		return nil
	})
	if errors.Is(err, errFault) {
		// When a request that was sent ahead is repeated depends on when its turn
		// comes; so none is, but where a body breaks.
		err = failure.New(failure.Unit, failure.RetriesExhausted, err)
	}
	if err != nil {
		return nil, err
	}
	return body, nil
}

// waits notes that the actor waits for a while before it asks again.
func (a *actor) waits(channel string) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	a.failed[channel] = failed{at: time.Now(), streak: a.failed[channel].streak + 1}
}

// content is a body. What it leaves unwritten of a buffer is padding.
type content struct {
	v        *version
	off, end int64
	corrupt  int   // record; -1: none
	cut      int64 // where it breaks; 0: nowhere
	broke    func()
}

func (c *content) Close() error { return nil }

func (c *content) Read(p []byte) (int, error) {
	end := min(c.end, c.off+int64(len(p)))
	if c.cut > 0 {
		end = min(end, c.cut)
	}
	if c.off >= end {
		if c.cut > 0 && c.off >= c.cut {
			c.broke()
			return 0, memobject.ErrCut
		}
		return 0, io.EOF
	}
	for n := c.off / c.v.stride; n*c.v.stride < end && n < int64(c.v.records); n++ {
		h, at := c.v.head(int(n), int(n) == c.corrupt), n*c.v.stride
		from, to := max(at, c.off), min(at+headBytes, end)
		if from < to {
			copy(p[from-c.off:to-c.off], h[from-at:to-at])
		}
	}
	n := int(end - c.off)
	c.off = end
	return n, nil
}

// framer finds the records of such objects.
type framer struct{ pad int64 }

var _ frame.Framer = (*framer)(nil)

func (f *framer) Need() int    { return headBytes }
func (f *framer) Blank() int64 { return 0 }
func (f *framer) Reset(int64)  { f.pad = 0 }

func (f *framer) Split(dst []record.Frame, buf []byte, _ bool) ([]record.Frame, int, error) {
	at := 0
	for {
		skip := int(min(f.pad, int64(len(buf)-at)))
		f.pad -= int64(skip)
		at += skip
		if f.pad > 0 || len(buf)-at < headBytes {
			return dst, at, nil
		}
		var mark, name string
		var n int
		if _, err := fmt.Sscan(string(buf[at:at+headBytes]), &mark, &name, &f.pad, &n); err != nil || mark != "ok" {
			return dst, at, failure.Errorf(failure.Member, failure.Undecodable, "record %q %s", mark, name)
		}
		dst = append(dst, record.Frame{Start: at, End: at + headBytes, Next: at + headBytes})
		at += headBytes
	}
}

// rows is the chain: a record is a row, or filtered.
type rows struct{}

func (rows) Process(b *chain.Batch, out *chain.Output) error {
	for i, f := range b.Frames {
		out.Counts.In++
		if !kept(int(b.First) + i) {
			out.Counts.Filtered++
			continue
		}
		out.Counts.Out++
		for k := range out.Sinks {
			out.Sinks[k].Data = append(append(out.Sinks[k].Data, strings.Fields(string(b.Buf[f.Start:f.End]))[1]...), '\n')
			out.Sinks[k].End()
		}
	}
	return nil
}
