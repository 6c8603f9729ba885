// Package admin answers whoever watches a process from outside: with its metrics,
// whether it is alive, and whether it is ready.
//
// It knows nothing of jobs: functions tell it what is alive and what is ready. No
// request changes anything: whatever is not a GET or HEAD is refused.
//
// The law: it listens where the configuration says and nowhere else. An address
// without a host is this machine's own.
package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options are what there is to answer.
type Options struct {
	// Metrics writes the metrics; nil: there is no /metrics. It may be called
	// concurrently, as may the others.
	Metrics     func(w io.Writer) error
	ContentType string // of what Metrics writes
	// Alive and Ready return nil or why not; nil functions: always.
	Alive, Ready func(ctx context.Context) error
}

// Address returns the host:port that listen stands for. A bare port is on the
// loopback interface; any other interface has to be written out.
func Address(listen string) (string, error) {
	if !strings.Contains(listen, ":") {
		listen = ":" + listen
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", errors.New("is not of the form host:port, such as 127.0.0.1:9090")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("has the port %q, which is not a number from 0 to 65535", port)
	}
	return net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port), nil
}

// Listener holds an address that does not answer yet.
type Listener struct{ l net.Listener }

// Listen takes the address that listen stands for.
func Listen(ctx context.Context, listen string) (*Listener, error) {
	address, err := Address(listen)
	if err != nil {
		return nil, fmt.Errorf("%q %w", listen, err)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w: stop what uses it, or choose another port", err)
	}
	return &Listener{l}, nil
}

// Close gives the address back.
func (l *Listener) Close() error { return l.l.Close() }

// Server answers at its address until it is closed.
type Server struct {
	http http.Server
	url  string
	wg   sync.WaitGroup
	stop context.CancelFunc
	err  error // of stopping; read after wg
}

// Serve begins to answer at l, which then belongs to the server. It does not
// end with ctx.
func Serve(ctx context.Context, l *Listener, o Options) *Server {
	s := &Server{url: "http://" + l.l.Addr().String()}
	s.http = http.Server{
		Handler:           o.handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       5 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		// Nothing of it concerns the job, and standard error has its progress.
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	ctx = context.WithoutCancel(ctx)
	open, stop := context.WithCancel(ctx)
	s.stop = stop
	s.wg.Go(func() { _ = s.http.Serve(l.l) }) // ends when it is shut down
	s.wg.Go(func() {
		<-open.Done()
		s.err = s.shutdown(ctx)
	})
	return s
}

func (s *Server) shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if s.http.Shutdown(ctx) == nil {
		return nil
	}
	return s.http.Close()
}

// URL is where the server answers.
func (s *Server) URL() string { return s.url }

// Close stops answering. Answers under way have two seconds to end; then their
// connections are closed.
func (s *Server) Close() error {
	s.stop()
	s.wg.Wait()
	return s.err
}

func (o Options) handler() http.Handler {
	mux := http.NewServeMux()
	if o.Metrics != nil {
		mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", o.ContentType)
			_ = o.Metrics(w) // whoever asked has gone
		})
	}
	mux.HandleFunc("GET /healthz", answer("alive", o.Alive))
	mux.HandleFunc("GET /readyz", answer("ready", o.Ready))
	return mux
}

// answer answers yes with 200, or with 503 and why not.
func answer(yes string, check func(context.Context) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		text, code := yes, http.StatusOK
		if check != nil {
			if err := check(r.Context()); err != nil {
				text, code = err.Error(), http.StatusServiceUnavailable
			}
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text+"\n")
	}
}
