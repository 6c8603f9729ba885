package memfeed_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/feed/memfeed"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/unit"
)

func msg(job string, id int) feed.Message {
	return feed.Message{ID: unit.ID(fmt.Sprintf("%s%d", job, id)), Job: job, Body: []byte("body")}
}

func send(t *testing.T, f *memfeed.Feed, ms ...feed.Message) {
	t.Helper()
	if err := f.Send(t.Context(), ms...); err != nil {
		t.Fatal(err)
	}
}

// drain reads f, one delivery at a time, until nothing is left to deliver, and
// returns the ids in the order of their deliveries.
func drain(t *testing.T, f *memfeed.Feed, h feed.Handler) (ids []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- f.Run(ctx, 1, func(ctx context.Context, d feed.Delivery) error {
			ids = append(ids, string(d.ID))
			return h(ctx, d)
		})
	}()
	for !f.Depth().Empty() {
		time.Sleep(time.Second)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
	return ids
}

func ack(context.Context, feed.Delivery) error { return nil }

func same(t *testing.T, got []string, want string) {
	t.Helper()
	if g := strings.Join(got, " "); g != want {
		t.Errorf("delivered %q, want %q", g, want)
	}
}

func TestOrder(t *testing.T) {
	t.Run("jobs take turns and each keeps its order", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := memfeed.New(memfeed.Options{})
			send(t, f, msg("a", 1), msg("a", 2), msg("a", 3), msg("b", 1), msg("b", 2), msg("c", 1))
			same(t, drain(t, f, ack), "a1 b1 c1 a2 b2 a3")
		})
	})
	t.Run("failed messages come in the order in which they are due", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, start := memfeed.New(memfeed.Options{}), time.Now()
			send(t, f, msg("a", 5), msg("a", 2), msg("a", 3), msg("a", 0), msg("b", 3))
			var at []time.Duration
			ids := drain(t, f, func(_ context.Context, d feed.Delivery) error {
				if d.Receives > 1 {
					at = append(at, time.Since(start))
					return nil
				}
				return feed.RetryAfter(errors.New("no"), time.Duration(d.ID[1]-'0')*time.Minute)
			})
			same(t, ids[5:], "a0 a2 b3 a3 a5") // b failed before a3 did
			want := []time.Duration{0, 2 * time.Minute, 3 * time.Minute, 3 * time.Minute, 5 * time.Minute}
			if !slices.Equal(at, want) {
				t.Errorf("came again after %v, want exactly %v", at, want)
			}
		})
	})
	t.Run("a message handed back at the end goes before the rest of its job", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := memfeed.New(memfeed.Options{})
			send(t, f, msg("a", 1), msg("a", 2))
			ctx, cancel := context.WithCancel(t.Context())
			if err := f.Run(ctx, 1, func(context.Context, feed.Delivery) error { cancel(); return ctx.Err() }); !errors.Is(err, context.Canceled) {
				t.Errorf("Run: %v", err)
			}
			same(t, drain(t, f, ack), "a1 a2")
		})
	})
}

func TestStop(t *testing.T) {
	t.Run("handlers at work finish under a live context, nothing else is delivered", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := memfeed.New(memfeed.Options{})
			send(t, f, msg("a", 1), msg("a", 2), msg("a", 3))
			finished := 0
			time.AfterFunc(time.Second, func() { f.Stop(); f.Stop() })
			start := time.Now()
			err := f.Run(t.Context(), 1, func(ctx context.Context, _ feed.Delivery) error {
				time.Sleep(time.Minute)
				if ctx.Err() == nil {
					finished++
				}
				return ctx.Err()
			})
			if err != nil || finished != 1 || time.Since(start) != time.Minute {
				t.Errorf("Run: %v after %v, %d finished", err, time.Since(start), finished)
			}
			if d := f.Depth(); d != (feed.Depth{Ready: 2}) {
				t.Errorf("depth %+v", d)
			}
			if err := f.Run(t.Context(), 1, ack); err != nil || f.Depth().Ready != 2 {
				t.Errorf("a later Run: %v, depth %+v", err, f.Depth())
			}
		})
	})
	t.Run("readers and senders that wait are let go", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := memfeed.New(memfeed.Options{Capacity: 1})
			idle := make(chan error, 1)
			go func() { idle <- f.Run(t.Context(), 3, ack) }()
			synctest.Wait()
			f.Stop()
			if err := <-idle; err != nil {
				t.Errorf("Run: %v", err)
			}
			full := memfeed.New(memfeed.Options{Capacity: 1})
			sent := make(chan error, 1)
			go func() { sent <- full.Send(t.Context(), msg("a", 1), msg("a", 2)) }()
			synctest.Wait()
			full.Stop()
			if err := <-sent; !errors.Is(err, memfeed.ErrStopped) || !strings.Contains(err.Error(), "a2") {
				t.Errorf("Send: %v", err)
			}
		})
	})
	t.Run("a drain that is cut short by its context says so", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := memfeed.New(memfeed.Options{})
			send(t, f, msg("a", 1))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			time.AfterFunc(time.Second, f.Stop)
			err := f.Run(ctx, 1, func(ctx context.Context, _ feed.Delivery) error { <-ctx.Done(); return ctx.Err() })
			if !errors.Is(err, context.DeadlineExceeded) || f.Depth() != (feed.Depth{Ready: 1}) {
				t.Errorf("Run: %v, depth %+v", err, f.Depth())
			}
		})
	})
}

func TestPanics(t *testing.T) {
	t.Run("a handler that panics fails its delivery, which counts, and the log says so", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			f := memfeed.New(memfeed.Options{Cap: 3, Log: slog.New(slog.NewTextHandler(&log, nil))})
			send(t, f, msg("a", 1))
			if n := len(drain(t, f, func(context.Context, feed.Delivery) error { panic("boom 7") })); n != 3 {
				t.Errorf("%d deliveries", n)
			}
			dead := slices.Collect(f.DeadLetters)
			if len(dead) != 1 || dead[0].Receives != 3 {
				t.Fatalf("dead letters %+v", dead)
			}
			err := dead[0].Err
			if s, r := failure.Of(err); s != failure.Unit || r != failure.Operator {
				t.Errorf("scope %v, reason %v", s, r)
			}
			for _, want := range []string{"a1", "boom 7", "memfeed_test.TestPanics"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not name %q: %v", want, err)
				}
			}
			if n := strings.Count(log.String(), "handler panicked"); n != 3 {
				t.Errorf("logged %d times: %s", n, &log)
			}
		})
	})
	t.Run("a handler that ends its goroutine fails its delivery", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := memfeed.New(memfeed.Options{Cap: 1})
			send(t, f, msg("a", 1))
			_ = f.Run(t.Context(), 1, func(context.Context, feed.Delivery) error { runtime.Goexit(); return nil })
			if d := f.Depth(); d != (feed.Depth{Dead: 1}) {
				t.Errorf("depth %+v", d)
			}
		})
	})
	t.Run("a panic counts even when the context has ended", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := memfeed.New(memfeed.Options{Cap: 1})
			send(t, f, msg("a", 1))
			ctx, cancel := context.WithCancel(t.Context())
			_ = f.Run(ctx, 1, func(context.Context, feed.Delivery) error { cancel(); panic("late") })
			if d := f.Depth(); d != (feed.Depth{Dead: 1}) {
				t.Errorf("depth %+v", d)
			}
		})
	})
}

func TestBodiesAreTheFeedsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := memfeed.New(memfeed.Options{Cap: 2}), msg("a", 1)
		send(t, f, m)
		m.Body[0] = 'X'
		drain(t, f, func(_ context.Context, d feed.Delivery) error {
			if string(d.Body) != "body" {
				t.Errorf("delivery %d: %q", d.Receives, d.Body)
			}
			d.Body[1] = 'Y'
			return errors.New("no")
		})
		for range 2 {
			for d := range f.DeadLetters {
				if string(d.Body) != "body" {
					t.Errorf("dead: %q", d.Body)
				}
				d.Body[2] = 'Z'
			}
		}
	})
}

func TestEveryDeliveryIsCountedByItsOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r metric.Registry
		f := memfeed.New(memfeed.Options{Cap: 2, Metrics: &r, Labels: []metric.Label{{Name: "pipeline", Value: "p"}}})
		send(t, f, msg("a", 1), msg("a", 2))
		drain(t, f, func(_ context.Context, d feed.Delivery) error {
			if d.ID == "a2" {
				return errors.New("no")
			}
			return nil
		})
		got := map[string]int64{}
		for _, s := range r.Gather() {
			if len(s.Labels) != 1 || s.Labels[0].Value != "p" {
				t.Errorf("labels of %s: %v", s.Name, s.Labels)
			}
			got[strings.TrimPrefix(s.Name, "spate_feed_")] = s.Value
		}
		for name, want := range map[string]int64{
			"units_published_total": 2, "units_received_total": 3, "units_acknowledged_total": 1,
			"units_failed_total": 2, "dead_letter_units": 1,
		} {
			if got[name] != want {
				t.Errorf("%s is %d, want %d", name, got[name], want)
			}
		}
	})
}
