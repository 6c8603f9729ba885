package memfeed_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/feed/memfeed"
)

// fill sends until Send would wait, and returns how many passed.
func fill(t *testing.T, f *memfeed.Feed, size int) (n int) {
	t.Helper()
	m := msg("a", 1)
	m.Body = make([]byte, size)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := f.Send(ctx, m)
		cancel()
		if err != nil {
			return n
		}
		n++
	}
}

func TestCapacity(t *testing.T) {
	for _, tc := range []struct {
		name    string
		options memfeed.Options
		size    int
		want    int
	}{
		{"1024 messages wait by default", memfeed.Options{}, 1, 1024},
		{"16 MiB wait by default", memfeed.Options{}, 200 << 10, 81},
		{"the number is an option", memfeed.Options{Capacity: 7}, 1, 7},
		{"so are the bytes", memfeed.Options{CapacityBytes: 100}, 30, 3},
		{"one message alone may be larger than the feed", memfeed.Options{CapacityBytes: 100}, 101, 1},
		{"bytes up to the bound fit", memfeed.Options{CapacityBytes: 90}, 30, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if n := fill(t, memfeed.New(tc.options), tc.size); n != tc.want {
					t.Errorf("%d messages passed, want %d", n, tc.want)
				}
			})
		})
	}
}

func TestWaitingMessagesTakeRoom(t *testing.T) {
	t.Run("what comes again counts while it waits and makes room when it ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := memfeed.New(memfeed.Options{Cap: 2, Capacity: 2, CapacityBytes: 8})
			send(t, f, msg("a", 1), msg("a", 2))
			go func() { _ = f.Run(t.Context(), 1, later) }()
			time.Sleep(time.Minute) // both failed once and are due in an hour
			if d := f.Depth(); d != (feed.Depth{Delayed: 2}) {
				t.Errorf("depth %+v", d)
			}
			if n := fill(t, f, 4); n != 0 {
				t.Errorf("%d messages passed into a full feed", n)
			}
			time.Sleep(time.Hour)
			if d := f.Depth(); d != (feed.Depth{Dead: 2}) {
				t.Errorf("depth %+v", d)
			}
			f.Stop()
		})
	})
	t.Run("bytes count while a message waits, also for another delivery, and no longer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := memfeed.New(memfeed.Options{Cap: 3, CapacityBytes: 8}) // two bodies
			send(t, f, msg("a", 1), msg("a", 2))
			drain(t, f, ack)
			send(t, f, msg("a", 3), msg("a", 4))
			once := func(h feed.Handler) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_ = f.Run(ctx, 2, h)
			}
			once(later)
			if n := fill(t, f, 4); n != 0 {
				t.Errorf("%d messages passed while two are delayed", n)
			}
			time.Sleep(time.Hour)
			once(func(ctx context.Context, _ feed.Delivery) error { <-ctx.Done(); return ctx.Err() })
			if n := fill(t, f, 4); n != 0 {
				t.Errorf("%d messages passed while two were handed back", n)
			}
			drain(t, f, ack)
			if n := fill(t, f, 4); n != 2 {
				t.Errorf("%d messages passed into an empty feed", n)
			}
		})
	})
}

func TestRoomComesWithDeliveries(t *testing.T) {
	t.Run("a delivery makes room at its start", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := memfeed.New(memfeed.Options{Capacity: 1})
			send(t, f, msg("a", 1))
			sent, begun := make(chan error, 1), make(chan struct{}, 2)
			go func() { sent <- f.Send(t.Context(), msg("a", 2)) }()
			synctest.Wait()
			ended := make(chan error, 1)
			go func() {
				ended <- f.Run(t.Context(), 1, func(context.Context, feed.Delivery) error {
					begun <- struct{}{}
					time.Sleep(time.Hour)
					return nil
				})
			}()
			<-begun
			synctest.Wait()
			if len(sent) != 1 {
				t.Error("Send waits though no message does")
			}
			f.Stop()
			<-ended
		})
	})
	t.Run("what is due counts as ready, whether or not it is read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := memfeed.New(memfeed.Options{})
			send(t, f, msg("a", 1))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_ = f.Run(ctx, 1, later)
			if d := f.Depth(); d != (feed.Depth{Delayed: 1}) {
				t.Errorf("depth %+v", d)
			}
			time.Sleep(time.Hour)
			if d := f.Depth(); d != (feed.Depth{Ready: 1}) {
				t.Errorf("depth %+v", d)
			}
		})
	})
}

func TestDeadLetters(t *testing.T) {
	t.Run("dead letters are kept up to their bound and counted beyond it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := memfeed.New(memfeed.Options{Cap: 1, DeadBytes: 8})
			send(t, f, msg("a", 1), msg("a", 2), msg("a", 3))
			drain(t, f, later)
			if d := f.Depth(); d.Dead != 3 {
				t.Errorf("depth %+v", d)
			}
			kept := slices.Collect(f.DeadLetters)
			if len(kept) != 2 || kept[0].ID != "a1" || kept[1].ID != "a2" {
				t.Errorf("kept %+v", kept)
			}
		})
	})
	t.Run("the cap is 10 by default", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := memfeed.New(memfeed.Options{})
			send(t, f, msg("a", 1))
			if n := len(drain(t, f, later)); n != 10 {
				t.Errorf("%d deliveries", n)
			}
		})
	})
}

func later(context.Context, feed.Delivery) error {
	return feed.RetryAfter(errors.New("no"), time.Hour)
}
