package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/spate-go/spate/tests/lambdakit"
)

const pipeline = `pipeline: {name: bench}
source: {s3: {url: "${SOURCE_URL}"}}
feed: {sqs: {queue_url: "${FEED_QUEUE_URL}"}}
job: {table: "${JOB_TABLE}"}
framing: {ndjson: {}}
sink: {s3: {url: "${OUTPUT_URL}"}}
`

// bench is a stack and where its functions are built.
type bench struct {
	*lambdakit.Stack
	dir string
}

// deploy builds the function of that name for release and starts it.
func (b bench) deploy(ctx context.Context, name string, p *lambdakit.Proxy) (*lambdakit.Function, error) {
	dir, err := os.MkdirTemp(b.dir, name)
	if err != nil {
		return nil, err
	}
	binary := filepath.Join(b.dir, name)
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", "lambda.norpc", "-ldflags", "-s -w",
		"-o", binary, "github.com/spate-go/spate/functions/"+name)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", c, err, out)
	}
	return b.Deploy(dir, binary, pipeline, p, lambdakit.Options{})
}

// finish runs a job of one unit up to where that is done, and sends the unit so
// many times more. Nobody proves the job's end, so it goes on running.
func (b bench) finish(ctx context.Context, more int) error {
	key := "in/a.ndjson"
	_, err := b.S3.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.Name, Key: &key, Body: strings.NewReader("{}\n")})
	if err != nil {
		return err
	}
	p, err := lambdakit.NewProxy(b.Endpoint)
	if err != nil {
		return err
	}
	defer p.Close()
	p.Inject(func(c lambdakit.Call) (f lambdakit.Fault) {
		if c.Service == "lambda" {
			f.Status = http.StatusAccepted
		}
		return f
	})
	lister, err := b.deploy(ctx, "lister", p)
	if err != nil {
		return err
	}
	defer lister.Close()
	if _, err := well(lister.Invoke(ctx, []byte(`{"job":"bench"}`))); err != nil {
		return err
	}
	reader, err := b.deploy(ctx, "reader", p)
	if err != nil {
		return err
	}
	defer reader.Close()
	var unit types.Message
	if err := b.poll(ctx, reader, 1, func(m types.Message, _ lambdakit.Outcome) { unit = m }); err != nil {
		return err
	}
	for range more {
		if _, err := b.SQS.SendMessage(ctx, &sqs.SendMessageInput{
			QueueUrl: &b.Feed, MessageBody: unit.Body, MessageAttributes: unit.MessageAttributes,
		}); err != nil {
			return err
		}
	}
	return nil
}

// drain has the function handle n messages, and says how long it took for each.
func (b bench) drain(ctx context.Context, f *lambdakit.Function, n int) (took []time.Duration, err error) {
	err = b.poll(ctx, f, n, func(_ types.Message, o lambdakit.Outcome) { took = append(took, o.Took) })
	return took, err
}

// poll gives n messages to the function, all of which it has to handle well.
func (b bench) poll(ctx context.Context, f *lambdakit.Function, n int, each func(types.Message, lambdakit.Outcome)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Minute, errors.New("the feed ran dry"))
	defer cancel()
	var failed error
	m := &lambdakit.Mapping{Client: b.SQS, Queue: b.Feed, Each: func(ms []types.Message, o lambdakit.Outcome) {
		m := ms[0] // of a batch of one
		if _, err := well(o, nil); err != nil || strings.Contains(string(o.Response), "itemIdentifier") {
			failed = errors.Join(failed, err, fmt.Errorf("message %s failed:\n%s", *m.MessageId, f.Logs()))
		}
		each(m, o)
		if n--; n == 0 {
			cancel()
		}
	}}
	if err := m.Run(ctx, f); err != nil {
		return err
	}
	if n > 0 {
		return context.Cause(ctx)
	}
	return failed
}
