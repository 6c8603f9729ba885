package sink_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

var unitIDs = []unit.ID{"s3-_rD2rPZklAFVV4pYEYaWxg", "s3-xje_MfL-wSNqMCft5ellCg"}

// writer fails its first write after n bytes.
type writer struct {
	bytes.Buffer
	n   int
	err error
}

func (w *writer) Write(p []byte) (int, error) {
	if w.err == nil && w.n == 0 {
		return w.Buffer.Write(p)
	}
	n, err := w.n, w.err
	w.n, w.err = 0, nil
	w.Buffer.Write(p[:n])
	return n, err
}

func TestStream(t *testing.T) {
	b := &sink.Block{Token: "a", Data: []byte("1\n2\n")}
	for _, c := range []struct {
		name   string
		n      int
		err    error
		scope  failure.Scope
		reason failure.Reason
		text   string
	}{
		{"a reader that went away is a fault of the job", 2, syscall.EPIPE, failure.Job, failure.Config, "out was closed"},
		{"so is a closed in-process pipe", 0, io.ErrClosedPipe, failure.Job, failure.Config, "out was closed"},
		{"a block cut short is final", 3, errors.New("broken"), failure.Job, failure.Config, "broken after 3 of 4 bytes"},
		{"a writer that lies is caught", 3, nil, failure.Job, failure.Config, "short write"},
		{"nothing written may be tried again", 0, errors.New("busy"), failure.Transient, failure.RetriesExhausted, "write out: busy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &writer{n: c.n, err: c.err}
			s := sink.NewStream("out", w)
			err := s.Write(t.Context(), b)
			if scope, reason := failure.Of(err); err == nil || scope != c.scope || reason != c.reason {
				t.Fatalf("%v is %v, %v", err, scope, reason)
			}
			if !strings.Contains(err.Error(), c.text) {
				t.Errorf("%q does not say %q", err, c.text)
			}
			again := s.Write(t.Context(), b)
			if c.scope == failure.Transient {
				if again != nil || w.String() != "1\n2\n" {
					t.Fatalf("tried again: %v, %q", again, w.String())
				}
				return
			}
			if again == nil || w.Len() != c.n {
				t.Fatalf("tried again: %v, %q", again, w.String())
			}
		})
	}
	t.Run("waiting for a stalled writer ends with the context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, w := io.Pipe()
			s := sink.NewStream("out", w)
			done := make(chan error, 1)
			go func() { done <- s.Write(t.Context(), b) }()
			synctest.Wait()
			ctx, cancel := context.WithCancel(t.Context())
			waiting := make(chan error, 1)
			go func() { waiting <- s.Write(ctx, &sink.Block{Token: "b"}) }()
			synctest.Wait()
			cancel()
			if err := <-waiting; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			r.Close()
			if err := <-done; !failure.Is(err, failure.Job) {
				t.Errorf("got %v", err)
			}
		})
	})
}
