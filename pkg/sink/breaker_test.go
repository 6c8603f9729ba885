package sink_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/sink"
)

// call asks the breaker for admission and reports.
func call(t *testing.T, b *sink.Breaker, o sink.Outcome) {
	t.Helper()
	report, ok := b.Admit()
	if !ok {
		t.Fatalf("not admitted, for %v", b.Wait())
	}
	report(o)
}

func closedTo(t *testing.T, b *sink.Breaker, wait time.Duration) {
	t.Helper()
	if _, ok := b.Admit(); ok || b.Wait() != wait {
		t.Fatalf("admitted %t, wait %v, want %v", ok, b.Wait(), wait)
	}
}

func TestBreaker(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *sink.Breaker){
		"it opens at the third failure in a row": func(t *testing.T, b *sink.Breaker) {
			for _, o := range []sink.Outcome{sink.Failed, sink.Failed, sink.Answered, sink.Failed, sink.Abandoned, sink.Failed, sink.Failed} {
				call(t, b, o)
			}
			closedTo(t, b, 5*time.Second)
		},
		"it admits one probe, whose answer closes it": func(t *testing.T, b *sink.Breaker) {
			open(t, b)
			time.Sleep(5*time.Second - 1)
			closedTo(t, b, 1)
			time.Sleep(1 * time.Nanosecond)
			report, ok := b.Admit()
			if !ok {
				t.Fatal("no probe")
			}
			time.Sleep(time.Minute)
			closedTo(t, b, 100*time.Millisecond)
			report(sink.Answered)
			for range 10 {
				if _, ok := b.Admit(); !ok {
					t.Fatal("it is not closed")
				}
			}
		},
		"a probe that fails opens it anew": func(t *testing.T, b *sink.Breaker) {
			open(t, b)
			for range 3 {
				time.Sleep(5 * time.Second)
				call(t, b, sink.Failed)
				closedTo(t, b, 5*time.Second)
			}
		},
		"a probe whose caller went away leaves room for another": func(t *testing.T, b *sink.Breaker) {
			open(t, b)
			time.Sleep(5 * time.Second)
			call(t, b, sink.Abandoned)
			call(t, b, sink.Answered)
			call(t, b, sink.Failed)
			call(t, b, sink.Failed)
			if b.Wait() != 0 {
				t.Error("failures from before the answer count")
			}
		},
		"failures that come late do not keep it open, an answer closes it": func(t *testing.T, b *sink.Breaker) {
			early, _ := b.Admit()
			late, _ := b.Admit()
			open(t, b)
			time.Sleep(4 * time.Second)
			early(sink.Failed)
			closedTo(t, b, time.Second)
			late(sink.Answered)
			call(t, b, sink.Answered)
		},
		"a late failure takes no probe's place": func(t *testing.T, b *sink.Breaker) {
			late, _ := b.Admit()
			open(t, b)
			time.Sleep(5 * time.Second)
			probe, _ := b.Admit()
			late(sink.Failed)
			closedTo(t, b, 100*time.Millisecond)
			probe(sink.Answered)
			call(t, b, sink.Answered)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, sink.NewBreaker(sink.BreakerOptions{})) })
		})
	}
	t.Run("it is as its options say", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := sink.NewBreaker(sink.BreakerOptions{Failures: 1, Open: time.Minute})
			call(t, b, sink.Failed)
			closedTo(t, b, time.Minute)
		})
	})
}

func open(t *testing.T, b *sink.Breaker) {
	t.Helper()
	for range 3 {
		call(t, b, sink.Failed)
	}
}
