package backoff_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/failure"
)

const second = time.Second

func TestDelay(t *testing.T) {
	for name, c := range map[string]struct {
		base, limit time.Duration
		n           int
		bound       time.Duration
	}{
		"the first":                        {second, 10 * second, 1, second},
		"no retry yet counts as the first": {second, 10 * second, 0, second},
		"doubles":                          {second, 10 * second, 4, 8 * second},
		"up to its limit":                  {second, 10 * second, 5, 10 * second},
		"however many there were":          {second, 10 * second, 1 << 40, 10 * second},
		"a limit below the base holds":     {second, second / 2, 1, second / 2},
		"none is none":                     {0, 0, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			low, high := c.bound, time.Duration(0)
			for range 200 {
				d := backoff.Delay(c.base, c.limit, c.n)
				low, high = min(low, d), max(high, d)
			}
			if low < c.bound/2 || high > c.bound {
				t.Errorf("%v to %v, want within %v to %v", low, high, c.bound/2, c.bound)
			}
			if c.bound > 0 && (low > c.bound*6/10 || high < c.bound*9/10) {
				t.Errorf("%v to %v do not spread over %v to %v", low, high, c.bound/2, c.bound)
			}
		})
	}
}

func TestWait(t *testing.T) {
	for name, c := range map[string]struct {
		end, wait, want time.Duration
		err             error
	}{
		"for its time":                   {time.Hour, second, second, nil},
		"until its context ends":         {second, time.Hour, second, context.DeadlineExceeded},
		"not at all under an ended one":  {0, 0, 0, context.DeadlineExceeded},
		"not at all where there is none": {time.Hour, -1, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.end)
				defer cancel()
				start := time.Now()
				if err := backoff.Wait(ctx, c.wait); !errors.Is(err, c.err) || time.Since(start) != c.want {
					t.Errorf("%v after %v, want %v after %v", err, time.Since(start), c.err, c.want)
				}
				for range 50 { // by now a wait of nothing and the end may both be there
					if err := backoff.Wait(ctx, 0); !errors.Is(err, ctx.Err()) {
						t.Fatalf("%v under %v", err, ctx.Err())
					}
				}
			})
		})
	}
}

var errAway = errors.New("away")

func always(error) bool { return true }

func TestRetry(t *testing.T) {
	marked := failure.New(failure.Transient, failure.RetriesExhausted, errAway)
	for name, c := range map[string]struct {
		policy backoff.Policy
		fails  int           // calls before one succeeds
		takes  time.Duration // a call
		calls  int           // 0: as many as the jitter lets fit
		low    time.Duration // of the whole time
		high   time.Duration
		err    error
	}{
		"a call that succeeds is made once":          {backoff.Policy{Retries: 3}, 0, 0, 1, 0, 0, nil},
		"a fault that passes costs its waits":        {backoff.Policy{Base: second, Max: 2 * second, Retries: 9}, 3, 0, 4, 2500 * time.Millisecond, 5 * second, nil},
		"the last retry may succeed":                 {backoff.Policy{Retries: 2}, 2, 0, 3, 0, 0, nil},
		"after it the last error is returned":        {backoff.Policy{Retries: 2}, 3, 0, 3, 0, 0, errAway},
		"a budget ends with an attempt":              {backoff.Policy{Base: second, Max: 7 * second, Budget: time.Minute}, 99, 0, 0, time.Minute, time.Minute, errAway},
		"a budget counts from the first failure":     {backoff.Policy{Base: second, Max: second, Budget: time.Minute}, 99, 25 * second, 4, 100 * second, 109 * second, errAway},
		"whichever of the two is used up first ends": {backoff.Policy{Base: second, Max: second, Budget: time.Minute, Retries: 2}, 99, 0, 3, second, 2 * second, errAway},
		"without either it goes on":                  {backoff.Policy{Base: second, Max: second}, 99, 0, 100, 49 * second, 99 * second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls, told, start := 0, 0, time.Now()
				c.policy.OnRetry = func(err error) {
					if told++; err != marked || told != calls {
						t.Errorf("told %v after %d calls", err, calls)
					}
				}
				err := backoff.Retry(t.Context(), c.policy, always, func() error {
					calls++
					time.Sleep(c.takes)
					if calls > c.fails {
						return nil
					}
					return marked
				})
				d := time.Since(start)
				if !errors.Is(err, c.err) || c.calls > 0 && calls != c.calls || d < c.low || d > c.high {
					t.Errorf("%v after %d calls and %v, want %v after %d and %v to %v", err, calls, d, c.err, c.calls, c.low, c.high)
				}
				if told != calls-1 {
					t.Errorf("told %d times of %d retries", told, calls-1)
				}
			})
		})
	}
	t.Run("what is not retryable is returned as it is", func(t *testing.T) {
		calls, other := 0, errors.New("other")
		err := backoff.Retry(t.Context(), backoff.Policy{Retries: 9}, func(err error) bool { return err != other }, func() error {
			if calls++; calls == 2 {
				return other
			}
			return errAway
		})
		if err != other || calls != 2 {
			t.Errorf("%v after %d calls", err, calls)
		}
	})
	for name, end := range map[string]time.Duration{"in a wait": second, "before the first call": 0} {
		t.Run("a context that ends "+name+" ends it", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), end)
				defer cancel()
				calls, told, start := 0, 0, time.Now()
				p := backoff.Policy{Base: time.Hour, Max: time.Hour, OnRetry: func(error) { told++ }}
				err := backoff.Retry(ctx, p, always, func() error { calls++; return marked })
				if !errors.Is(err, context.DeadlineExceeded) || calls != 1 || time.Since(start) != end {
					t.Errorf("%v after %d calls and %v", err, calls, time.Since(start))
				}
				if failure.Is(err, failure.Transient) || !strings.Contains(err.Error(), "away") {
					t.Errorf("%v: want the last error's text and not its mark", err)
				}
				if want := min(1, int(end)); told != want {
					t.Errorf("told %d times, want %d", told, want)
				}
			})
		})
	}
}
