package s3sink_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink/s3sink"
)

// TestNoSingleFaultShows fails the first call, then the second and so on until
// none is left to fail, each once not applied and once applied with its answer
// lost. The write fails or not; after its repeat every object is there as if
// nothing had happened, and no upload is left open but one whose very beginning
// went unanswered.
func TestNoSingleFaultShows(t *testing.T) {
	long := strings.Repeat("y", 6<<20)
	rows := []string{"a|1", "b|" + long, "a|2", "c|3"}
	for name, o := range map[string]s3sink.Options{
		"one object":  {PartSize: 5 << 20, Concurrency: 1},
		"partitioned": {PartSize: 5 << 20, Concurrency: 1, Partition: first},
	} {
		clean := newStore(t)
		write(t, open(t, clean, o), block(0, 0, rows...))
		for _, applied := range []bool{false, true} {
			for n := 1; n <= len(clean.calls)+1; n++ {
				t.Run(fmt.Sprintf("%s, call %d, applied %t", name, n, applied), func(t *testing.T) {
					s := newStore(t)
					s.at, s.applied = n, applied
					sink := open(t, s, o)
					err := sink.Write(t.Context(), block(0, 0, rows...))
					if n <= len(clean.calls) {
						expect(t, err, failure.Transient, failure.RetriesExhausted, "SlowDown", "s3://bucket/")
						write(t, sink, block(0, 0, rows...))
					} else if err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(s.keys(), clean.keys()) {
						t.Fatalf("objects %q, want %q", s.keys(), clean.keys())
					}
					for _, key := range s.keys() {
						if s.object(key).etag != clean.object(key).etag {
							t.Errorf("%s is another object", key)
						}
					}
					if got := len(s.all()); got != len(strings.Join(rows, "\n"))+1 {
						t.Errorf("%d bytes of rows", got)
					}
					if err != nil && strings.Contains(err.Error(), "stay") {
						t.Errorf("no upload is left, and it says: %v", err)
					}
					orphans := 0
					if applied && n <= len(clean.calls) && clean.calls[n-1] == "create" {
						orphans = 1
					}
					if len(s.uploads) != orphans {
						t.Errorf("%d uploads are open, want %d", len(s.uploads), orphans)
					}
				})
			}
		}
	}
}

func TestAnUploadWhoseContextEndsIsAborted(t *testing.T) {
	for _, within := range []string{"part", "complete"} {
		t.Run("within a "+within, func(t *testing.T) {
			s := newStore(t)
			ctx, cancel := context.WithCancel(t.Context())
			s.during = func(call string) {
				if call == within {
					cancel()
				}
			}
			err := open(t, s, s3sink.Options{PartSize: 5 << 20}).Write(ctx, block(0, 0, strings.Repeat("y", 6<<20)))
			if !errors.Is(err, context.Canceled) || failure.Marked(err) {
				t.Errorf("got %v", err)
			}
			if len(s.uploads) != 0 || len(s.objects) != 0 || !slices.Contains(s.calls, "abort") {
				t.Errorf("%d uploads, %d objects, calls %q", len(s.uploads), len(s.objects), s.calls)
			}
		})
	}
}

func TestAnAbortWaitsForThePartsUnderWay(t *testing.T) {
	s := newStore(t)
	s.at = 2 // the first part
	var mu sync.Mutex
	var order []string
	s.during = func(call string) {
		if call == "part" {
			time.Sleep(5 * time.Millisecond)
		}
		mu.Lock()
		order = append(order, call)
		mu.Unlock()
	}
	err := open(t, s, s3sink.Options{PartSize: 5 << 20}).Write(t.Context(), block(0, 0, strings.Repeat("y", 24<<20)))
	expect(t, err, failure.Transient, failure.RetriesExhausted, "part")
	if order[len(order)-1] != "abort" || len(s.uploads) != 0 {
		t.Errorf("calls ended as %q", order)
	}
}

func TestAnAbortThatFailsIsSaidAndChangesNoMark(t *testing.T) {
	s := newStore(t)
	s.fails, s.err = "abort", answered(403, "AccessDenied", "not allowed to abort")
	s.at = 3 // what fails first is the second part
	err := open(t, s, s3sink.Options{PartSize: 5 << 20, Concurrency: 1}).Write(t.Context(), block(0, 0, strings.Repeat("y", 6<<20)))
	expect(t, err, failure.Job, failure.Denied, "s3:PutObject") // for both have one error here
	expect(t, err, failure.Job, failure.Denied, "the parts of upload upload-1 stay", "not allowed to abort")
}

func TestAnAbortThatHangsIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		hang := hanging{s}
		start := time.Now()
		s.fails = "complete"
		err := open(t, hang, s3sink.Options{PartSize: 5 << 20}).Write(t.Context(), block(0, 0, strings.Repeat("y", 6<<20)))
		expect(t, err, failure.Transient, failure.RetriesExhausted, "complete upload", "stay")
		if d := time.Since(start); d > 30*time.Second {
			t.Errorf("it took %v", d)
		}
	})
}

func TestARequestThatHangsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		s.during = func(string) { time.Sleep(time.Hour) }
		err := open(t, s, s3sink.Options{}).Write(t.Context(), block(0, 0, "a"))
		expect(t, err, failure.Transient, failure.RetriesExhausted, "deadline exceeded")
	})
}

func TestTheFirstFaultOfABlockEndsIt(t *testing.T) {
	rows := make([]string, 100)
	for i := range rows {
		rows[i] = fmt.Sprintf("p%d|", i)
	}
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		s.at, s.err = 5, answered(403, "AccessDenied", "")
		s.during = func(string) { time.Sleep(time.Millisecond) } // so that calls end in turn
		err := open(t, s, s3sink.Options{Partition: first, Concurrency: 2}).Write(t.Context(), block(0, 0, rows...))
		expect(t, err, failure.Job, failure.Denied)
		if n := len(s.calls); n > 8 { // some had begun by the time that it was seen
			t.Errorf("%d calls of 100 though the fifth had failed", n)
		}
	})
}

// A transport may read a body after it has failed its request. By then the rows
// are the caller's again.
func TestABodyIsNotReadOnceItsRequestHasFailed(t *testing.T) {
	for name, o := range variants() {
		s := newStore(t)
		s.fails, s.applied = "put", true
		api := late{store: s, started: make(chan struct{})}
		b := block(0, 0, strings.Repeat("a", 1<<20), "b")
		if err := open(t, &api, o).Write(t.Context(), b); err == nil {
			t.Errorf("%s: no error", name)
		}
		for i := range b.Data {
			b.Data[i] = '#' // the race detector looks on
		}
		close(api.started)
		api.wg.Wait()
		if api.read > 0 {
			t.Errorf("%s: %d bytes were read", name, api.read)
		}
	}
}
