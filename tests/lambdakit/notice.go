package lambdakit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Notice is what a notification tells of an object that was created. Bodies are
// written by hand from it: an endpoint may send each of them alone, in one shape
// and in order.
type Notice struct {
	Bucket, Key string
	Size        int64  // bytes; less than 0: left out
	ETag        string // with its quotes; "": left out
	At          time.Time
}

// Notice returns the notice of an object of the stack's bucket as it is now.
func (s *Stack) Notice(ctx context.Context, key string) (Notice, error) {
	o, err := s.S3.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.Name, Key: &key})
	if err != nil {
		return Notice{}, err
	}
	return Notice{Bucket: s.Name, Key: key, Size: *o.ContentLength, ETag: *o.ETag, At: time.Now().UTC()}, nil
}

// Announce sends bodies to the intake's queue, each as a message.
func (s *Stack) Announce(ctx context.Context, bodies ...string) error {
	for len(bodies) > 0 {
		var entries []types.SendMessageBatchRequestEntry
		n := min(10, len(bodies))
		for i, b := range bodies[:n] {
			id := strconv.Itoa(i)
			entries = append(entries, types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &b})
		}
		out, err := s.SQS.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &s.Intake, Entries: entries})
		if err == nil && len(out.Failed) > 0 {
			err = errors.New(*out.Failed[0].Code)
		}
		if err != nil {
			return fmt.Errorf("announce: %w", err)
		}
		bodies = bodies[n:]
	}
	return nil
}

// FromS3 is a message of S3's own, with a record for each notice. Keys are
// form-encoded and ETags have no quotes, as S3 writes them.
func FromS3(ns ...Notice) string {
	var records []map[string]any
	for _, n := range ns {
		o := map[string]any{"key": url.QueryEscape(n.Key), "sequencer": sequencer(n)}
		if n.Size >= 0 {
			o["size"] = n.Size
		}
		if n.ETag != "" {
			o["eTag"] = strings.Trim(n.ETag, `"`)
		}
		records = append(records, map[string]any{
			"eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "us-east-1", "eventTime": n.At.Format("2006-01-02T15:04:05.000Z"),
			"eventName": "ObjectCreated:Put",
			"s3":        map[string]any{"s3SchemaVersion": "1.0", "configurationId": "test", "bucket": map[string]any{"name": n.Bucket}, "object": o},
		})
	}
	return text(map[string]any{"Records": records})
}

// ThroughSNS is a message as a topic wraps it.
func ThroughSNS(body string) string {
	return text(map[string]any{
		"Type": "Notification", "MessageId": "m", "TopicArn": "arn:aws:sns:us-east-1:000000000000:test",
		"Subject": "Amazon S3 Notification", "Message": body,
	})
}

// FromEventBridge is an event of a bus, with the key as it is.
func FromEventBridge(n Notice) string {
	o := map[string]any{"key": n.Key, "sequencer": sequencer(n)}
	if n.Size >= 0 {
		o["size"] = n.Size
	}
	if n.ETag != "" {
		o["etag"] = strings.Trim(n.ETag, `"`)
	}
	return text(map[string]any{
		"version": "0", "id": "e", "detail-type": "Object Created", "source": "aws.s3", "account": "000000000000",
		"time": n.At.Format(time.RFC3339), "region": "us-east-1",
		"detail": map[string]any{"version": "0", "bucket": map[string]any{"name": n.Bucket}, "object": o, "reason": "PutObject"},
	})
}

// sequencer orders the notices of a key by when they were made.
func sequencer(n Notice) string { return fmt.Sprintf("%016X", n.At.UnixNano()) }

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of maps, texts and numbers
	}
	return string(b)
}
