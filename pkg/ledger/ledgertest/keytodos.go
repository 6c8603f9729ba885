package ledgertest

import (
	"errors"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// keyTodos are the keys that are to be looked at again, by key.
func (b bench) keyTodos(s ledger.Shared) map[string]ledger.KeyTodo {
	b.Helper()
	todos := map[string]ledger.KeyTodo{}
	b.ok(s.Keys(b.ctx, b.job, func(t ledger.KeyTodo) error {
		if _, twice := todos[t.Object.Key]; twice {
			b.Errorf("key %q came twice", t.Object.Key)
		}
		todos[t.Object.Key] = t
		return nil
	}))
	return todos
}

// current is a key as it was looked at.
func current(key, etag string, again int) unit.Object {
	return unit.Object{
		Key: key, ETag: etag, Size: 1 << 40, Version: "v1", Again: again,
		LastModified: time.Unix(1_800_000_000, 0).UTC(),
	}
}

var keyTodo = []sharedTest{
	{"a key is to be looked at once, as it was last put", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		b.equal("keys", len(b.keyTodos(s)), 0)
		odd := "in/\xff\x00#\u2028\ufffe"
		for _, o := range []unit.Object{current("in/a", `"1"`, 1), current(odd, `"2"`, 1), current("in/a", `"3"`, 2), {Key: "in/b", ETag: `"e"`}} {
			b.ok(s.Again(b.ctx, b.job, o))
		}
		todos := b.keyTodos(s)
		b.equal("keys", len(todos), 3)
		for _, o := range []unit.Object{current("in/a", `"3"`, 2), current(odd, `"2"`, 1), {Key: "in/b", ETag: `"e"`}} {
			b.equal("object", todos[o.Key].Object, o)
		}
		c := b.another()
		c.opened(s, "t1")
		b.equal("keys of another job", len(c.keyTodos(s)), 0)
	}},
	{"it is removed as it was sent", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		b.ok(s.Again(b.ctx, b.job, current("in/a", `"1"`, 1)))
		b.ok(s.Again(b.ctx, b.job, current("in/b", `"2"`, 1)))
		sent := b.keyTodos(s)["in/a"]
		for range 2 { // its answer was lost
			b.ok(s.KeySent(b.ctx, b.job, sent))
			todos := b.keyTodos(s)
			b.equal("keys", len(todos), 1)
			b.equal("object", todos["in/b"].Object, current("in/b", `"2"`, 1))
		}
	}},
	{"one that was put again meanwhile stays, and each has a number of its own", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		seen := map[int]bool{}
		var before ledger.KeyTodo
		for n := range 6 {
			b.ok(s.Again(b.ctx, b.job, current("in/a", `"1"`, 1))) // the very same
			now := b.keyTodos(s)["in/a"]
			if seen[now.Number] {
				b.Errorf("number %d came twice", now.Number)
			}
			seen[now.Number] = true
			if before.Number != 0 {
				b.ok(s.KeySent(b.ctx, b.job, before))
				b.equal("key", b.keyTodos(s)["in/a"], now)
			}
			if before = now; n%3 == 2 {
				b.ok(s.KeySent(b.ctx, b.job, now))
				b.equal("keys", len(b.keyTodos(s)), 0)
			}
		}
	}},
	{"Keys ends with the error of yield, which may use the ledger", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		for _, key := range []string{"a", "b", "c"} {
			b.ok(s.Again(b.ctx, b.job, current(key, `"1"`, 1)))
		}
		stop, n := errors.New("enough"), 0
		b.is(s.Keys(b.ctx, b.job, func(t ledger.KeyTodo) error {
			n++
			if err := s.KeySent(b.ctx, b.job, t); err != nil || n < 2 {
				return err
			}
			return stop
		}), stop)
		b.equal("calls", n, 2)
		b.equal("keys", len(b.keyTodos(s)), 1)
	}},
}
