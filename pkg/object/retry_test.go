package object_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/object/memobject"
)

func TestATransientRefusalIsRetriedAndThenTheUnitFails(t *testing.T) {
	for name, c := range map[string]struct{ retries, want int }{"by default": {0, 8}, "as often as told": {3, 3}, "or never": {-1, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &memobject.Bucket{Hook: func(_ memobject.Op, key string, _ int64) error { return transient(key) }}
				parts, _ := put(b, 10)
				retries := new(metric.Value)
				r := object.NewReader(t.Context(), b, parts, object.Options{Retries: c.retries, GetRetries: retries})
				_, err := next(t, r)
				expect(t, err, failure.Unit, failure.RetriesExhausted)
				if s := err.Error(); !strings.Contains(s, `"k0"`) || !strings.Contains(s, "503 SlowDown") {
					t.Errorf("the error names not both key and cause: %v", err)
				}
				if len(b.Requests()) != 1+c.want || retries.Load() != int64(c.want) {
					t.Errorf("%d requests, %d retries counted", len(b.Requests()), retries.Load())
				}
				_ = r.Close()
			})
		})
	}
}

func TestAFaultThatPassesIsNotSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		b := &memobject.Bucket{Hook: func(_ memobject.Op, key string, _ int64) error {
			if n.Add(1)%3 != 0 {
				return transient(key)
			}
			return nil
		}}
		parts, data := put(b, 100, 100)
		good(t, object.NewReader(t.Context(), b, parts, object.Options{Window: 10}), data)
	})
}

func TestRetriesAreCountedForEachWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := map[int64]int{}
		b := &memobject.Bucket{}
		b.Hook = func(_ memobject.Op, key string, off int64) error {
			if failed[off]++; failed[off] <= 2 {
				return transient(key)
			}
			return nil
		}
		parts, data := put(b, 100)
		good(t, object.NewReader(t.Context(), b, parts, object.Options{Window: 10, Ahead: -1, Retries: 2}), data)
	})
}

func TestRetriesStartAnewAfterProgressAndNotAfterAByte(t *testing.T) {
	for name, c := range map[string]struct {
		gain int64
		ok   bool
	}{"64 KiB a request are progress": {object.TailBytes, true}, "one byte less is none": {object.TailBytes - 1, false}, "a byte a request is none": {1, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &memobject.Bucket{Wrap: func(_ context.Context, _ memobject.Request, body memobject.Body) memobject.Body {
					return memobject.Cut(body, c.gain)
				}}
				parts, data := put(b, 1<<20)
				r := object.NewReader(t.Context(), b, parts, object.Options{})
				got, err := next(t, r)
				if c.ok && (err != nil || string(got) != string(data[0])) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				if !c.ok {
					expect(t, err, failure.Unit, failure.RetriesExhausted)
					if !errors.Is(err, memobject.ErrCut) || int64(len(got)) != 9*c.gain {
						t.Errorf("%d bytes, %v", len(got), err)
					}
				}
				_ = r.Close()
			})
		})
	}
}

func TestAShortBodyIsNeverAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &memobject.Bucket{Wrap: func(_ context.Context, _ memobject.Request, body memobject.Body) memobject.Body {
			return io.LimitReader(body, 3)
		}}
		parts, _ := put(b, 100)
		r := object.NewReader(t.Context(), b, parts, object.Options{Retries: 2})
		got, err := next(t, r)
		expect(t, err, failure.Unit, failure.RetriesExhausted)
		if len(got) != 9 || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		_ = r.Close()
	})
}

func TestAMarkedFaultInABodyIsNotRetried(t *testing.T) {
	drift := failure.Errorf(failure.Member, failure.ETagDrift, `read "k0": changed`)
	for name, keep := range map[string]int64{"in its midst": 40, "at its last byte": 100} {
		t.Run(name, func(t *testing.T) {
			b := &memobject.Bucket{Wrap: func(_ context.Context, _ memobject.Request, body memobject.Body) memobject.Body {
				return &ending{io.LimitReader(body, keep), keep, drift}
			}}
			parts, _ := put(b, 100)
			r := object.NewReader(t.Context(), b, parts, object.Options{})
			_, err := next(t, r)
			expect(t, err, failure.Member, failure.ETagDrift)
			if n := len(b.Requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
			_ = r.Close()
		})
	}
}

// ending gives its last byte together with an error.
type ending struct {
	r    io.Reader
	left int64
	err  error
}

func (e *ending) Read(b []byte) (int, error) {
	n, err := e.r.Read(b)
	if e.left -= int64(n); e.left == 0 {
		return n, e.err
	}
	return n, err
}

func TestABodyThatStallsIsCutAndResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		b := &memobject.Bucket{}
		b.Wrap = func(ctx context.Context, _ memobject.Request, body memobject.Body) memobject.Body {
			if !first {
				return body
			}
			first = false
			return io.MultiReader(io.LimitReader(body, 30), hanging(ctx, body))
		}
		parts, data := put(b, 100)
		began := time.Now()
		good(t, object.NewReader(t.Context(), b, parts, object.Options{}), data)
		if d := time.Since(began); d < 30*time.Second || d > 31*time.Second {
			t.Errorf("it took %v", d)
		}
		if q := b.Requests()[1]; q.Off != 30 || q.N != 70 {
			t.Errorf("resumed as %+v", q)
		}
	})
}

// A consumer that waits is no stall.
func TestASlowConsumerCutsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &memobject.Bucket{}
		parts, _ := put(b, 100)
		r := object.NewReader(t.Context(), b, parts, object.Options{Window: 50})
		_ = r.Next()
		for range 100 {
			if _, err := r.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		if n := len(b.Requests()); n != 2 {
			t.Errorf("%d requests", n)
		}
		_ = r.Close()
	})
}

func TestWaitsDoubleUpToTheirBoundAndAreJittered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := map[time.Duration]bool{}
		for range 20 {
			var at []time.Time
			b := &memobject.Bucket{Hook: func(_ memobject.Op, key string, _ int64) error {
				at = append(at, time.Now())
				return transient(key)
			}}
			parts, _ := put(b, 10)
			r := object.NewReader(t.Context(), b, parts, object.Options{Retries: 8})
			_, _ = next(t, r)
			_ = r.Close()
			for i, bound := range []time.Duration{200, 400, 800, 1600, 3200, 5000, 5000, 5000} {
				bound *= time.Millisecond
				d := at[i+1].Sub(at[i])
				if d < bound/2 || d > bound {
					t.Errorf("wait %d is %v, its bound %v", i+1, d, bound)
				}
				waits[d] = true
			}
		}
		if len(waits) < 100 {
			t.Errorf("only %d of 160 waits differ", len(waits))
		}
	})
}
