package live_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spate-go/spate/pkg/intake"
	"github.com/spate-go/spate/pkg/unit"
)

// notification is what one tells of a put.
type notification struct {
	unit.Object
	at     time.Time // by the clock of whoever writes it
	serial int       // of the put: what is sequenced is a key's
}

// fromS3 is a message of S3's own: keys are encoded as forms are, ETags have no
// quotes.
func fromS3(ns ...notification) string {
	var records []any
	for _, n := range ns {
		o := map[string]any{"key": url.QueryEscape(n.Key), "size": n.Size, "eTag": strings.Trim(n.ETag, `"`), "sequencer": fmt.Sprintf("%010X", n.serial)}
		if n.Version != "" {
			o["versionId"] = n.Version
		}
		records = append(records, map[string]any{
			"eventVersion": "2.6", "eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "eventTime": n.at.Format(time.RFC3339Nano),
			"s3": map[string]any{"bucket": map[string]any{"name": bucketName}, "object": o},
		})
	}
	return text(map[string]any{"Records": records})
}

// throughSNS is a message that a topic wraps.
func throughSNS(body string) string {
	return text(map[string]any{"Type": "Notification", "MessageId": "m", "TopicArn": "arn:aws:sns:us-east-1:000000000000:tides", "Message": body})
}

// fromEventBridge is an event of a bus, with the key as it is.
func fromEventBridge(n notification) string {
	o := map[string]any{"key": n.Key, "size": n.Size, "etag": strings.Trim(n.ETag, `"`), "sequencer": fmt.Sprintf("%010X", n.serial)}
	if n.Version != "" {
		o["version-id"] = n.Version
	}
	return text(map[string]any{
		"version": "0", "detail-type": "Object Created", "source": "aws.s3", "time": n.at.Format(time.RFC3339Nano),
		"detail": map[string]any{"bucket": map[string]any{"name": bucketName}, "object": o},
	})
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of maps, texts and numbers
	}
	return string(b)
}

// queue is the intake's. It delivers what is due in no order.
type queue struct {
	mu       sync.Mutex
	rng      *rand.Rand // guarded by mu, as all below
	messages []*message
	flying   int
	serial   int

	repeats float64 // of messages that are delivered again though they were acked
	resent  int
}

type message struct {
	intake.Message
	due time.Time
}

// visibility is for how long a message that failed is hidden.
const visibility = 2 * time.Minute

func (q *queue) send(body string, after time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.serial++
	q.messages = append(q.messages, &message{intake.Message{ID: fmt.Sprintf("m%d", q.serial), Body: []byte(body)}, time.Now().Add(after)})
}

func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.messages) + q.flying
}

// poll hands windows of messages to an intake until ctx ends.
func (q *queue) poll(ctx context.Context, in *intake.Intake) {
	for ctx.Err() == nil {
		q.wait(ctx)
		ms := q.receive()
		if len(ms) == 0 {
			continue
		}
		batch := make([]intake.Message, len(ms))
		for i, m := range ms {
			batch[i] = m.Message
		}
		q.settle(ms, in.Handle(ctx, batch))
	}
}

// wait is for a window.
func (q *queue) wait(ctx context.Context) {
	q.mu.Lock()
	d := time.Duration(q.rng.Int64N(int64(2 * time.Second)))
	q.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// receive takes some of what is due.
func (q *queue) receive() (ms []*message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.rng.Shuffle(len(q.messages), func(i, j int) { q.messages[i], q.messages[j] = q.messages[j], q.messages[i] })
	most := 1 + q.rng.IntN(100)
	now := time.Now()
	q.messages = slices.DeleteFunc(q.messages, func(m *message) bool {
		if len(ms) == most || m.due.After(now) {
			return false
		}
		m.Receives++
		ms = append(ms, m)
		return true
	})
	q.flying += len(ms)
	return ms
}

func (q *queue) settle(ms []*message, failed []intake.Failed) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flying -= len(ms)
	for _, m := range ms {
		comes := slices.ContainsFunc(failed, func(f intake.Failed) bool { return f.ID == m.ID })
		if !comes && q.rng.Float64() < q.repeats {
			comes = true
			q.resent++
		}
		if comes {
			m.due = time.Now().Add(visibility)
			q.messages = append(q.messages, m)
		}
	}
}
