package lambdakit

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Lambda stands in for the service that invokes functions by name: a Proxy
// routes those calls to it (Route). An asynchronous invocation is acknowledged
// at once and waits for its turn. It fails for good: what the service retries
// after a minute or two, a test has to retry.
type Lambda struct {
	// Each is called after every invocation; may be nil.
	Each func(name string, event []byte, o Outcome, err error)

	mu     sync.Mutex
	pools  map[string]chan *Function // guarded by mu: the idle functions of a name
	closed bool                      // guarded by mu
	events sync.WaitGroup
}

// Register adds functions of one name. An invocation takes an idle one.
func (l *Lambda) Register(name string, fs ...*Function) {
	pool := make(chan *Function, len(fs))
	for _, f := range fs {
		pool <- f
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pools == nil {
		l.pools = map[string]chan *Function{}
	}
	l.pools[name] = pool
}

// Close refuses new invocations and waits for the pending events.
func (l *Lambda) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.events.Wait()
}

// enter returns the functions of the name, or nil. If it returns some, the
// caller has to say when its invocation has ended.
func (l *Lambda) enter(name string) chan *Function {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.pools[name] == nil {
		return nil
	}
	l.events.Add(1)
	return l.pools[name]
}

// ServeHTTP is the service's Invoke.
func (l *Lambda) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, "/2015-03-31/functions/")
	name, invoke := strings.CutSuffix(rest, "/invocations")
	event, err := io.ReadAll(r.Body)
	if !ok || !invoke || err != nil {
		http.Error(w, fmt.Sprintf("%s %s is not Invoke, or its event was cut off", r.Method, r.URL.Path), http.StatusBadRequest)
		return
	}
	pool := l.enter(name)
	if pool == nil {
		w.Header().Set("X-Amzn-Errortype", "ResourceNotFoundException")
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(map[string]string{"Message": "Function not found: " + name}) // to a caller that may be gone
		return
	}
	if r.Header.Get("X-Amz-Invocation-Type") == "Event" {
		go l.invoke(context.WithoutCancel(r.Context()), name, pool, event)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	o := l.invoke(r.Context(), name, pool, event)
	if !o.OK() {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		o.Response = []byte(o.Error)
	}
	_, _ = w.Write(o.Response) // to a caller that may be gone
}

func (l *Lambda) invoke(ctx context.Context, name string, pool chan *Function, event []byte) Outcome {
	defer l.events.Done()
	var f *Function
	select {
	case f = <-pool:
	case <-ctx.Done():
		return Outcome{Error: ctx.Err().Error()}
	}
	defer func() { pool <- f }()
	o, err := f.Invoke(ctx, event)
	if err != nil {
		o.Error = err.Error()
	}
	if l.Each != nil {
		l.Each(name, event, o, err)
	}
	return o
}
