package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

// postSink sends each block as the body of a POST. Its token travels along, so
// that a server that remembers tokens stores a block once.
type postSink struct {
	url    string
	client http.Client
}

var _ sink.Sink = (*postSink)(nil)

func (s *postSink) Write(ctx context.Context, b *sink.Block) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(b.Data))
	if err != nil {
		return failure.Errorf(failure.Job, failure.Config, "post block: %w: fix the URL", err)
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	req.Header.Set("Idempotency-Key", b.Token)
	res, err := s.client.Do(req)
	if err != nil {
		return failure.New(failure.Transient, failure.RetriesExhausted, fmt.Errorf("post block: %w", err))
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, res.Body) // so that the connection is used again
	switch code := res.StatusCode; {
	case code < 300:
		return nil
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return failure.Errorf(failure.Job, failure.Denied, "post block to %s: %s: check who may write there", s.url, res.Status)
	case code == http.StatusBadRequest, code == http.StatusUnprocessableEntity:
		return failure.Errorf(failure.Unit, failure.SinkRejected, "post block to %s: %s", s.url, res.Status)
	default:
		return failure.Errorf(failure.Transient, failure.RetriesExhausted, "post block to %s: %s", s.url, res.Status)
	}
}

func (s *postSink) Commit(ctx context.Context, _ unit.ID, _ int) error { return ctx.Err() }
func (s *postSink) Limits() sink.Limits                                { return sink.Limits{Rows: 1000, Bytes: 1 << 20} }
func (s *postSink) Close() error                                       { s.client.CloseIdleConnections(); return nil }
