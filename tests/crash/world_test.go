package crash_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
	"github.com/spate-go/spate/pkg/unit"
	"github.com/spate-go/spate/tests/lambdakit"
)

// world is a stack, what was put into its source, and what its functions run.
type world struct {
	*lambdakit.Stack
	lambda   *lambdakit.Lambda
	ledger   *dynamoledger.Ledger
	rows     *lambdakit.Rows
	pipeline string

	mu     sync.Mutex
	handed map[string]int // how often units were handed to readers, by job and id; guarded by mu
}

// pipeline moves lines as they are; job holds further keys of that section.
func pipeline(target, job string) string {
	return fmt.Sprintf(`pipeline: {name: crash, threads: 1}
source:
  s3: {url: "${SOURCE_URL}", target: %s}
feed:
  sqs: {queue_url: "${FEED_QUEUE_URL:-}", visibility: 5s}
job: {table: "${JOB_TABLE:-}"%s}
framing: {ndjson: {max_record: 1MiB}}
sink: {s3: {url: "${OUTPUT_URL}"}}
`, target, job)
}

func newWorld(t *testing.T, o lambdakit.StackOptions, pipeline string) *world {
	t.Helper()
	s, err := lambdakit.NewStack(t.Context(), lambdakit.Endpoint(t), o)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		Stack: s, lambda: new(lambdakit.Lambda), pipeline: pipeline, rows: lambdakit.NewRows(s), handed: map[string]int{},
		ledger: dynamoledger.New(s.Dynamo, s.Name, dynamoledger.Options{}),
	}
	t.Cleanup(w.lambda.Close)
	return w
}

// function is the kit's, with its way to AWS.
type function = lambdakit.Deployed

func (w *world) start(t *testing.T, binary string, o lambdakit.Options) *function {
	t.Helper()
	return w.DeployProxied(t, filepath.Join(bin, binary), w.pipeline, w.lambda, o)
}

// serve starts n functions that are invoked by the name that the stack gives to
// functions of that kind.
func (w *world) serve(t *testing.T, kind string, n int) []*function {
	t.Helper()
	var fs []*function
	var registered []*lambdakit.Function
	for range n {
		f := w.start(t, kind, lambdakit.Options{})
		fs, registered = append(fs, f), append(registered, f.Function)
	}
	w.lambda.Register(w.Name+"-"+kind, registered...)
	return fs
}

// delivery is a message on its way to a reader.
type delivery struct {
	types.Message
	job  string
	unit unit.ID
	nth  int // of the unit to a reader; a queue also counts what was lost on its way here
}

func deliveryOf(m types.Message) delivery {
	named := func(name string) string { return aws.ToString(m.MessageAttributes[name].StringValue) }
	return delivery{Message: m, job: named("spate-job"), unit: unit.ID(named("spate-unit"))}
}

func (w *world) hand(m types.Message) delivery {
	d := deliveryOf(m)
	w.mu.Lock()
	defer w.mu.Unlock()
	key := d.job + "/" + string(d.unit)
	w.handed[key]++
	d.nth = w.handed[key]
	return d
}

// hooks are called around each invocation of a reader.
type hooks struct {
	hasten bool // failed messages are due at once, without their backoff
	before func(f *function, d delivery)
	after  func(f *function, d delivery, o lambdakit.Outcome)
}

// poll delivers the feed to readers, until the test ends or stop is called,
// which waits.
func (w *world) poll(t *testing.T, h hooks, readers ...*function) (stop func()) {
	t.Helper()
	return lambdakit.Poll(t, readers, func(f *function) *lambdakit.Mapping {
		m := &lambdakit.Mapping{Client: w.SQS, Queue: w.Feed, Hasten: h.hasten}
		var d delivery // a mapping has one at a time
		m.Before = func(ms []types.Message) {
			if d = w.hand(ms[0]); h.before != nil {
				h.before(f, d)
			}
		}
		if h.after != nil {
			m.Each = func(_ []types.Message, o lambdakit.Outcome) { h.after(f, d, o) }
		}
		return m
	})
}

// until waits until no job is live, and ticks meanwhile, as the schedule does.
// A tick may fail, for example at a slow endpoint: the next one makes up for
// it.
func (w *world) until(t *testing.T, schedule *function, every time.Duration) {
	t.Helper()
	tick, end := time.Now().Add(every), time.Now().Add(5*time.Minute)
	for ; ; time.Sleep(200 * time.Millisecond) {
		live, err := w.ledger.Live(t.Context())
		switch {
		case err != nil:
			t.Fatal(err)
		case len(live) == 0:
			return
		case time.Now().After(end):
			t.Fatalf("%d jobs did not end: %v", len(live), live)
		case time.Now().After(tick):
			if o, err := schedule.Invoke(t.Context(), []byte("{}")); err != nil || !o.OK() {
				t.Logf("a tick failed: %v, %+v", err, o)
			}
			tick = time.Now().Add(every)
		}
	}
}

func (w *world) meta(t *testing.T, job string) ledger.Meta {
	t.Helper()
	m, err := w.ledger.Meta(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// drain receives what is in the feed, and returns the ids of the units.
func (w *world) drain(t *testing.T) []unit.ID { return w.empty(t, w.Feed) }

// letters does the same for the dead-letter queue.
func (w *world) letters(t *testing.T) []unit.ID { return w.empty(t, w.Dead) }

func (w *world) empty(t *testing.T, queue string) (ids []unit.ID) {
	t.Helper()
	for {
		out, err := w.SQS.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: &queue, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Messages) == 0 {
			return ids
		}
		for _, m := range out.Messages {
			ids = append(ids, deliveryOf(m).unit)
		}
	}
}
