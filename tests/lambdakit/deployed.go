package lambdakit

import (
	"context"
	"strings"
	"sync"
	"testing"
)

// Deployed is a function of a test with its way to AWS.
type Deployed struct {
	*Function
	Proxy *Proxy
}

// DeployProxied is Deploy with a proxy of the function's own, whose calls of
// functions l takes. Both end with the test. A race or a panic in the processes
// fails it, and a test that failed shows their last words.
func (s *Stack) DeployProxied(t testing.TB, binary, pipeline string, l *Lambda, o Options) *Deployed {
	t.Helper()
	p, err := NewProxy(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	p.Route("lambda", l)
	f, err := s.Deploy(t.TempDir(), binary, pipeline, p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = f.Close(), p.Close() // nothing is left to lose
		logs := f.Logs()
		if strings.Contains(logs, "DATA RACE") || strings.Contains(logs, "\ngoroutine ") {
			t.Errorf("%s: %s", binary, logs)
		}
		if t.Failed() {
			t.Logf("%s, its last words:\n%s", binary, logs[max(0, len(logs)-4000):])
		}
	})
	return &Deployed{f, p}
}

// MustInvoke invokes the function with an event that it must handle well.
func (d *Deployed) MustInvoke(t testing.TB, event string) Outcome {
	t.Helper()
	o, err := d.Invoke(t.Context(), []byte(event))
	if err != nil || !o.OK() {
		t.Fatalf("event %s: %v, %+v\n%s", event, err, o, d.Logs())
	}
	return o
}

// Poll runs a mapping for each function, until the test ends or stop is called,
// which waits.
func Poll(t testing.TB, fs []*Deployed, of func(f *Deployed) *Mapping) (stop func()) {
	t.Helper()
	var polls []func(context.Context)
	for _, f := range fs {
		m := of(f)
		polls = append(polls, func(ctx context.Context) {
			if err := m.Run(ctx, f.Function); err != nil {
				t.Error(err)
			}
		})
	}
	return Background(t, polls...)
}

// Background calls each f on a goroutine, under a context that ends when the test
// does or stop is called, which waits for all of them.
func Background(t testing.TB, fs ...func(ctx context.Context)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, f := range fs {
		wg.Go(func() { f(ctx) })
	}
	stop = func() {
		cancel()
		wg.Wait()
	}
	t.Cleanup(stop)
	return stop
}
