package main

import (
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/frame/frametest"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/sinktest"
)

// framed is records, each after its length.
func framed(records ...string) string {
	var b []byte
	for _, r := range records {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(r))), r...)
	}
	return string(b)
}

func TestFramer(t *testing.T) {
	frametest.Run(t, frametest.Harness{
		New: func(limit int) frame.Framer { return &lengthFramer{limit: limit} },
		Reference: func(input []byte, limit int) (o frametest.Outcome) {
			for len(input) > 0 {
				if len(input) < 4 || int64(len(input)-4) < int64(binary.BigEndian.Uint32(input)) {
					o.Faulty = true
					return o
				}
				size := int(binary.BigEndian.Uint32(input))
				if size > limit {
					o.Records = append(o.Records, nil)
				} else {
					o.Records = append(o.Records, input[4:4+size:4+size])
				}
				input = input[4+size:]
			}
			return o
		},
		Inputs:  []string{framed("", "one", strings.Repeat("x", 2000), "four"), framed("cut short")[:7], "\xff\xff\xff\xff.", "\x00"},
		Tokens:  []string{framed(""), framed("a"), framed("bc"), framed("twenty bytes at most"), "\x00", "\x00\x00\x00"},
		Resumes: true,
	})
}

// store is a server that keeps the rows of each token once.
type store struct {
	*httptest.Server
	mu   sync.Mutex
	seen map[string]bool // guarded by mu
	rows []byte          // guarded by mu
}

func serve(t *testing.T) *store {
	s := &store{seen: map[string]bool{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		if token := r.Header.Get("Idempotency-Key"); err == nil && !s.seen[token] {
			s.seen[token] = true
			s.rows = append(s.rows, body...)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *store) read() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rows)
}

func TestSink(t *testing.T) {
	sinktest.Run(t, sinktest.Harness{
		Dedup: true,
		New: func(t *testing.T) (sink.Sink, func() []byte) {
			s := serve(t)
			return &postSink{url: s.URL}, s.read
		},
		Broken: func(t *testing.T) sink.Sink {
			s := httptest.NewServer(nil)
			s.Close() // so that nothing listens there
			return &postSink{url: s.URL}
		},
	})
}

func TestAnswersThatAreErrors(t *testing.T) {
	for code, want := range map[int]failure.Scope{
		http.StatusForbidden: failure.Job, http.StatusUnprocessableEntity: failure.Unit,
		http.StatusTooManyRequests: failure.Transient, http.StatusServiceUnavailable: failure.Transient,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
		err := (&postSink{url: s.URL}).Write(t.Context(), &sink.Block{Token: "a", Rows: 1, Data: []byte("{}\n")})
		if scope, _ := failure.Of(err); err == nil || scope != want {
			t.Errorf("%d: %v", code, err)
		}
		s.Close()
	}
}

func TestBothInAJob(t *testing.T) {
	bucket, s := new(memobject.Bucket), serve(t)
	bucket.Put("a.bin", []byte(framed(`{"n":1}`, `{"n":2}`, `{"n":`)))
	c := app.Config{
		Pipeline: app.PipelineConfig{Name: "extending", Memory: 64 << 20},
		Source:   app.SourceConfig{S3: &app.S3Config{URL: "s3://bucket/"}},
		Feed:     &app.FeedConfig{Memory: &app.MemoryFeedConfig{}},
		Decode:   &app.DecodeConfig{JSON: &app.JSONConfig{}},
		Chain:    []app.StepConfig{{Filter: "n > 1"}},
	}
	t.Setenv("ROWS_URL", s.URL)
	p := pipeline()
	p.Source = bucket
	r, err := app.Run(t.Context(), c, p)
	if err != nil {
		t.Fatal(err)
	}
	if r.State != report.Completed || r.Records.In != 3 || r.Records.Filtered != 1 || r.Records.Rejected != 1 {
		t.Errorf("report %+v", r)
	}
	if got := string(s.read()); got != "{\"n\":2}\n" {
		t.Errorf("rows %q", got)
	}
}
