package lambdakit

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Call is a request to AWS on its way through a Proxy.
type Call struct {
	Number  int    // 1 for the first one since the last Inject
	Service string // s3, dynamodb, sqs, lambda, events, or as the signature names it
	// Op is the operation, as PutItem; of S3 and Lambda the method, as GET.
	Op    string
	Path  string
	Body  []byte // except for S3 objects
	Again bool   // a retry by the SDK
}

func (c Call) String() string { return fmt.Sprintf("%d %s %s %s", c.Number, c.Service, c.Op, c.Path) }

// Fault is what happens to a call.
type Fault struct {
	// Before: the call is not forwarded. After: it is, and its answer is lost.
	// Both false: the call goes through.
	Before, After bool
	// Kill, if not nil, is called when the call is lost, to kill the process;
	// nil: the connection is cut.
	Kill func()
	// Status and Answer replace the response of a call that is not forwarded
	// or, with After, of one that is.
	Status int
	Answer string
	Header http.Header
	// Cut, if not 0, ends the response's body after so many bytes, as Ends
	// says.
	Cut  int64
	Ends Ending
	// Delay is waited before anything else.
	Delay time.Duration
}

// Proxy stands between one function and AWS.
type Proxy struct {
	URL string // the function's AWS_ENDPOINT_URL

	server *http.Server

	mu     sync.Mutex
	calls  []Call                  // since the last Inject
	fault  func(c Call) Fault      // guarded by mu
	routes map[string]http.Handler // guarded by mu
}

// NewProxy serves a proxy of the endpoint. Close ends it.
func NewProxy(endpoint string) (*Proxy, error) {
	to, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("endpoint: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for a proxy: %w", err)
	}
	p := &Proxy{URL: "http://" + l.Addr().String()}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host },
		FlushInterval: -1,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(forward, w, r) }),
		ReadHeaderTimeout: time.Minute,
	}
	go func() { _ = p.server.Serve(l) }() // until Close
	return p, nil
}

// Close stops serving.
func (p *Proxy) Close() error { return p.server.Close() }

// Inject sets what happens to the calls from now on, which are numbered from 1.
// f may be called concurrently. nil lets all through.
func (p *Proxy) Inject(f func(Call) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.calls = f, nil
}

// Route sends the calls of a service to h instead of the endpoint.
func (p *Proxy) Route(service string, h http.Handler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.routes == nil {
		p.routes = map[string]http.Handler{}
	}
	p.routes[service] = h
}

func (p *Proxy) route(service string) http.Handler {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.routes[service]
}

// Calls are those since the last Inject.
func (p *Proxy) Calls() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Call(nil), p.calls...)
}

func (p *Proxy) note(r *http.Request) (Call, Fault) {
	c := describe(r)
	p.mu.Lock()
	c.Number = len(p.calls) + 1
	p.calls = append(p.calls, c)
	f := p.fault
	p.mu.Unlock()
	if f == nil {
		return c, Fault{}
	}
	return c, f(c)
}

func (p *Proxy) serve(forward http.Handler, w http.ResponseWriter, r *http.Request) {
	c, f := p.note(r)
	if h := p.route(c.Service); h != nil {
		forward = h
	}
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-r.Context().Done():
		}
	}
	lost := func() {
		if f.Kill != nil {
			f.Kill()
		}
		panic(http.ErrAbortHandler)
	}
	switch {
	case f.Status != 0:
		if f.After {
			sink(forward, r)
		}
		for name, values := range f.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, f.Answer) // whether it arrives is the test's to find
	case f.Before:
		lost()
	case f.After:
		sink(forward, r)
		lost()
	case f.Cut > 0:
		forward.ServeHTTP(&cut{ResponseWriter: w, left: f.Cut, ends: f.Ends, gone: r.Context().Done()}, r)
	default:
		forward.ServeHTTP(w, r)
	}
}

// sink forwards a call whose response is lost. The call is applied whether or
// not its sender still lives. If the endpoint's own response is lost on the way
// here, that makes no difference.
func sink(forward http.Handler, r *http.Request) {
	defer func() {
		if p := recover(); p != nil && p != any(http.ErrAbortHandler) {
			panic(p)
		}
	}()
	forward.ServeHTTP(discard{}, r.WithContext(context.WithoutCancel(r.Context())))
}

// discard takes an answer that is lost.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

// describe tells what a request asks for; its body, if small, is read and put
// back.
func describe(r *http.Request) Call {
	c := Call{Op: r.Method, Path: r.URL.RequestURI()}
	if _, scope, ok := strings.Cut(r.Header.Get("Authorization"), "Credential="); ok {
		if parts := strings.Split(scope, "/"); len(parts) > 3 {
			c.Service = parts[3]
		}
	}
	if attempt := r.Header.Get("Amz-Sdk-Request"); attempt != "" {
		c.Again = !strings.HasPrefix(attempt, "attempt=1;")
	}
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		c.Op = target[strings.LastIndexByte(target, '.')+1:]
	}
	if c.Service != "s3" && r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err == nil {
			c.Body = b
		}
		r.Body = io.NopCloser(strings.NewReader(string(b)))
	}
	return c
}
