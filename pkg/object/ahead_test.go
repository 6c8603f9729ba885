package object_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/object/memobject"
)

func TestASmallObjectIsOneRequest(t *testing.T) {
	b := &memobject.Bucket{}
	parts, data := put(b, 100, 200, 0, 300)
	good(t, object.NewReader(t.Context(), b, parts, object.Options{}), data)
	got := map[string]int64{}
	for _, r := range b.Requests() {
		got[r.Key] += r.N
	}
	if want := map[string]int64{"k0": 100, "k1": 200, "k3": 300}; !cmp.Equal(want, got) || len(b.Requests()) != 3 {
		t.Errorf("requests %v", b.Requests())
	}
	if n := b.Calls(memobject.OpList); n != 0 {
		t.Errorf("%d listings (INV-4)", n)
	}
}

// A body may say that it ended, well or not, together with its last byte.
func TestNothingIsAskedForOnceAllIsThere(t *testing.T) {
	for name, last := range map[string]error{"an end": io.EOF, "a cut": memobject.ErrCut, "a fault that may pass": transient("k0")} {
		t.Run(name, func(t *testing.T) {
			b := &memobject.Bucket{Wrap: func(_ context.Context, r memobject.Request, body memobject.Body) memobject.Body {
				return &ending{body, r.N, last}
			}}
			parts, data := put(b, 100)
			good(t, object.NewReader(t.Context(), b, parts, object.Options{}), data)
			if n := len(b.Requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestRequestsAheadAreSentBeforeTheBodyIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		opt  object.Options
		next int // requests sent once Next returned
		read int // and once the first byte was read
	}{
		"as many as may be, across objects":           {object.Options{Window: 10, Ahead: 4}, 4, 5},
		"none":                                        {object.Options{Window: 10, Ahead: -1}, 0, 1},
		"as many bytes as may be":                     {object.Options{Window: 10, AheadBytes: 25}, 2, 3},
		"one, where not even that fits":               {object.Options{Window: 10, AheadBytes: 5}, 1, 2},
		"all there are":                               {object.Options{Window: 10, Ahead: 100}, 9, 9},
		"by default eight beyond the current one":     {object.Options{Window: 8}, 8, 9},
		"by default windows larger than these":        {object.Options{}, 3, 3},
		"windows of eight bytes and no more than two": {object.Options{Window: 8, Ahead: 2}, 2, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &memobject.Bucket{}
				parts, data := put(b, 30, 30, 30)
				r := object.NewReader(t.Context(), b, parts, c.opt)
				synctest.Wait()
				if n := len(b.Requests()); n != 0 {
					t.Errorf("%d requests before the first Next", n)
				}
				_ = r.Next()
				synctest.Wait()
				if n := len(b.Requests()); n != c.next {
					t.Errorf("%d requests after Next, want %d", n, c.next)
				}
				if _, err := r.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if n := len(b.Requests()); n != c.read {
					t.Errorf("%d requests after a byte, want %d", n, c.read)
				}
				if got, err := io.ReadAll(r); err != nil || string(got) != string(data[0][1:]) {
					t.Errorf("the rest: %d bytes, %v", len(got), err)
				}
				good(t, r, data[1:])
			})
		})
	}
}

// The bound holds at every moment, and is used: each byte read lets what fits
// follow.
func TestNoMoreIsInFlightThanOptionsAllow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &memobject.Bucket{}
		parts, _ := put(b, 95, 5, 5, 5, 5, 5, 95)
		r := object.NewReader(t.Context(), b, parts, object.Options{Window: 10, Ahead: 3, AheadBytes: 25})
		one := make([]byte, 1)
		var taken int64
		for r.Next() == nil {
			for {
				_, err := r.Read(one)
				if err == io.EOF {
					break
				}
				synctest.Wait()
				taken++
				var asked int64
				for _, q := range b.Requests() {
					asked += q.N
				}
				if over := asked - taken; over > 25+9 || b.OpenBodies() > 4 {
					t.Fatalf("after %d bytes %d more are asked for, in %d bodies", taken, over, b.OpenBodies())
				}
				if taken == 1 && b.OpenBodies() != 3 {
					t.Errorf("%d bodies open", b.OpenBodies())
				}
			}
		}
		_ = r.Close()
	})
}

func TestATailIsFetchedOnlyWhenAskedForAPieceAtATime(t *testing.T) {
	b := &memobject.Bucket{}
	parts, data := put(b, 1000+2*object.TailBytes)
	parts[0].Start, parts[0].End, parts[0].Limit = 10, 900, int64(len(data[0]))-50
	r := object.NewReader(t.Context(), b, parts, object.Options{Window: 500})
	_ = r.Next()
	if _, err := io.ReadFull(r, make([]byte, 890)); err != nil {
		t.Fatal(err)
	}
	want := []memobject.Request{{Key: "k0", Off: 10, N: 500}, {Key: "k0", Off: 510, N: 390}}
	check := func(when string) {
		t.Helper()
		got := b.Requests()
		if len(got) > 1 && got[0].Off > got[1].Off { // sent at the same time
			got[0], got[1] = got[1], got[0]
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", when, d)
		}
	}
	check("at End")
	_, _ = r.Read(make([]byte, 1))
	want = append(want, memobject.Request{Key: "k0", Off: 900, N: object.TailBytes})
	check("a byte later")
	rest, err := io.ReadAll(r)
	want = append(want,
		memobject.Request{Key: "k0", Off: 900 + object.TailBytes, N: object.TailBytes},
		memobject.Request{Key: "k0", Off: 900 + 2*object.TailBytes, N: 50})
	check("at Limit")
	if err != nil || string(rest) != string(data[0][901:parts[0].Limit]) {
		t.Errorf("%d bytes, %v", len(rest), err)
	}
	_ = r.Close()
}

func TestLeavingAPartEndsWhatIsUnderWayForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &memobject.Bucket{}
		parts, data := put(b, 100, 20)
		r := object.NewReader(t.Context(), b, parts, object.Options{Window: 10, Ahead: 5})
		_ = r.Next()
		if _, err := r.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := b.OpenBodies(); n != 6 {
			t.Errorf("%d bodies open", n)
		}
		_ = r.Next()
		synctest.Wait()
		if n := b.OpenBodies(); n != 2 {
			t.Errorf("%d bodies open, want the two of the next part", n)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != string(data[1]) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if n := len(b.Requests()); n != 8 {
			t.Errorf("%d requests, want 6 and 2", n)
		}
		_ = r.Close()
	})
}

// hanging is a body that brings nothing until its request ends.
func hanging(ctx context.Context, body memobject.Body) memobject.Body {
	return memobject.Slow(ctx, body, 1000*time.Hour)
}

func TestCancellingEndsEveryWait(t *testing.T) {
	for name, prepare := range map[string]func(b *memobject.Bucket, opt *object.Options, block <-chan struct{}){
		"for an answer": func(b *memobject.Bucket, _ *object.Options, block <-chan struct{}) {
			b.Hook = func(memobject.Op, string, int64) error { <-block; return errors.New("late") }
		},
		"for a body": func(b *memobject.Bucket, opt *object.Options, _ <-chan struct{}) {
			opt.Stall = 10000 * time.Hour
			b.Wrap = func(ctx context.Context, _ memobject.Request, body memobject.Body) memobject.Body {
				return hanging(ctx, body)
			}
		},
		"for a retry": func(b *memobject.Bucket, opt *object.Options, _ <-chan struct{}) {
			opt.BackoffBase, opt.BackoffMax = 100*time.Hour, 100*time.Hour
			b.Hook = func(_ memobject.Op, key string, _ int64) error { return transient(key) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, opt, block := &memobject.Bucket{}, object.Options{Window: 10, Retries: 1000}, make(chan struct{})
				prepare(b, &opt, block)
				parts, _ := put(b, 100, 100)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				r := object.NewReader(ctx, b, parts, opt)
				began := time.Now()
				_, err := next(t, r)
				if err != context.DeadlineExceeded || time.Since(began) != time.Minute {
					t.Errorf("%v after %v", err, time.Since(began))
				}
				if err := r.Next(); err != context.DeadlineExceeded {
					t.Errorf("next: %v", err)
				}
				close(block)
				_ = r.Close()
				if n := b.OpenBodies(); n != 0 {
					t.Errorf("%d bodies open", n)
				}
			})
		})
	}
}

func TestCloseWaitsForWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, returned := &memobject.Bucket{}, make(chan struct{})
		parts, _ := put(b, 100)
		b.Hook = func(memobject.Op, string, int64) error { time.Sleep(time.Second); return nil } // deaf to its context
		r := object.NewReader(t.Context(), b, parts, object.Options{Window: 50})
		_ = r.Next()
		synctest.Wait()
		began := time.Now()
		go func() { _ = r.Close(); close(returned) }()
		<-returned
		if time.Since(began) != time.Second || b.OpenBodies() != 0 {
			t.Errorf("closed after %v, %d bodies open", time.Since(began), b.OpenBodies())
		}
	})
}

func TestAFailedPartSaysSoAtReadAndNextLeadsPastIt(t *testing.T) {
	for _, c := range []struct {
		scope  failure.Scope
		reason failure.Reason
	}{{failure.Member, failure.NotFound}, {failure.Member, failure.ETagDrift}, {failure.Member, failure.Archived}, {failure.Job, failure.Denied}, {failure.Unit, failure.RetriesExhausted}} {
		t.Run(string(c.reason), func(t *testing.T) {
			b := &memobject.Bucket{}
			parts, data := put(b, 100, 100, 100)
			b.Hook = func(_ memobject.Op, key string, off int64) error {
				if key == "k1" && off == 30 {
					return failure.Errorf(c.scope, c.reason, "get %q: no", key)
				}
				return nil
			}
			r := object.NewReader(t.Context(), b, parts, object.Options{Window: 10})
			if got, err := next(t, r); err != nil || string(got) != string(data[0]) {
				t.Errorf("the part before: %d bytes, %v", len(got), err)
			}
			got, err := next(t, r)
			expect(t, err, c.scope, c.reason)
			if string(got) != string(data[1][:30]) {
				t.Errorf("%d bytes before the failure", len(got))
			}
			if _, again := r.Read(make([]byte, 1)); again != err {
				t.Errorf("read again: %v", again)
			}
			good(t, r, data[2:])
			asked := 0
			for _, q := range b.Requests() {
				if q.Key == "k1" && q.Off == 30 {
					asked++
				}
			}
			if asked != 1 || b.OpenBodies() != 0 {
				t.Errorf("asked %d times, %d bodies open", asked, b.OpenBodies())
			}
		})
	}
}
