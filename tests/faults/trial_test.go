package faults_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
	"github.com/spate-go/spate/pkg/unit"
	"github.com/spate-go/spate/tests/lambdakit"
)

// pipeline moves lines as they are. Units are small, so that a few objects make
// several, and what is given up is sent again after a few seconds.
const pipeline = `pipeline: {name: faults, threads: 1}
source:
  s3: {url: "${SOURCE_URL}", target: 1MiB}
feed:
  sqs: {queue_url: "${FEED_QUEUE_URL:-}", visibility: 10s}
job: {table: "${JOB_TABLE:-}", settling_window: 6s}
framing: {ndjson: {max_record: 1MiB}}
sink: {s3: {url: "${OUTPUT_URL}"}}
`

// readers is how many units are read at once.
const readers = 2

// trial is a stack whose functions can be given wrong answers.
type trial struct {
	*testing.T
	*lambdakit.Stack
	timeout time.Duration // of a reader's invocation
	ledger  *dynamoledger.Ledger
	rows    *lambdakit.Rows
	lambda  *lambdakit.Lambda

	lister, finalizer *function
	readers           []*function
	intake            *function // of a continuous job's trial

	mu       sync.Mutex
	receives map[string]int // how often a message was handed to a reader, by its id; guarded by mu
}

// function is the kit's, with its way to AWS.
type function = lambdakit.Deployed

// newTrial makes a stack with objects under in/a/, of which four make a unit.
func newTrial(t *testing.T) *trial {
	t.Helper()
	return newHurriedTrial(t, time.Minute)
}

// newHurriedTrial is newTrial with readers that have so much time per
// invocation.
func newHurriedTrial(t *testing.T, timeout time.Duration) *trial {
	t.Helper()
	t.Parallel()
	s, err := lambdakit.NewStack(t.Context(), lambdakit.Endpoint(t), lambdakit.StackOptions{MaxReceives: 3, Visibility: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	tr := &trial{
		T: t, Stack: s, timeout: timeout, rows: lambdakit.NewRows(s), lambda: new(lambdakit.Lambda), receives: map[string]int{},
		ledger: dynamoledger.New(s.Dynamo, s.Name, dynamoledger.Options{}),
	}
	for i := range 10 {
		tr.put(key(i))
	}
	t.Cleanup(tr.lambda.Close)
	tr.lister, tr.finalizer = tr.start("lister"), tr.start("finalizer")
	for range readers {
		tr.readers = append(tr.readers, tr.start("reader"))
	}
	tr.lambda.Register(s.Name+"-lister", tr.lister.Function)
	tr.lambda.Register(s.Name+"-finalizer", tr.finalizer.Function)
	return tr
}

// key is that of an object of job a.
func key(i int) string { return fmt.Sprintf("in/a/%02d.ndjson", i) }

func (tr *trial) put(key string) {
	tr.Helper()
	if err := tr.rows.Put(tr.Context(), key, 300, 1000); err != nil {
		tr.Fatal(err)
	}
}

func (tr *trial) start(kind string) *function {
	tr.Helper()
	timeout := 3 * time.Minute // for functions whose time no test is about
	if kind == "reader" {
		timeout = tr.timeout
	}
	o := lambdakit.Options{Timeout: timeout, Env: map[string]string{"EVENT_BUS": "default"}}
	return tr.DeployProxied(tr.T, filepath.Join(bin, kind), pipeline, tr.lambda, o)
}

// reading injects wrong responses into readers.
func (tr *trial) reading(w *wrong) *wrong {
	for _, f := range tr.readers {
		f.Proxy.Inject(w.fault)
	}
	return w
}

func (tr *trial) listing(w *wrong) *wrong {
	tr.lister.Proxy.Inject(w.fault)
	return w
}

func (tr *trial) finalizing(w *wrong) *wrong {
	tr.finalizer.Proxy.Inject(w.fault)
	return w
}

// list starts the job and lists what is under in/JOB/, as far as it gets.
func (tr *trial) list(job string) lambdakit.Outcome {
	tr.Helper()
	o, err := tr.lister.Invoke(tr.Context(), fmt.Appendf(nil, `{"job":%q,"url":"s3://%s/in/%s/"}`, job, tr.Name, job))
	if err != nil {
		tr.Fatal(err)
	}
	return o
}

// listed is list, which is to succeed.
func (tr *trial) listed(job string) {
	tr.Helper()
	if o := tr.list(job); !o.OK() {
		tr.Fatalf("lister: %+v\n%s", o, tr.lister.Logs())
	}
}

// poll delivers the feed to the readers, until the test ends or stop is called,
// which waits.
func (tr *trial) poll() (stop func()) {
	return lambdakit.Poll(tr.T, tr.readers, func(*function) *lambdakit.Mapping {
		return &lambdakit.Mapping{Client: tr.SQS, Queue: tr.Feed, Before: tr.received, Hasten: true}
	})
}

func (tr *trial) received(ms []types.Message) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for _, m := range ms {
		tr.receives[aws.ToString(m.MessageId)]++ // a queue also counts what was lost on its way here
	}
}

// schedule invokes the finalizer as the schedule does, only more often, until the
// test ends or stop is called.
func (tr *trial) schedule() (stop func()) {
	return lambdakit.Background(tr.T, func(ctx context.Context) {
		for ctx.Err() == nil {
			tr.tick()
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	})
}

func (tr *trial) tick() lambdakit.Outcome {
	o, err := tr.finalizer.Invoke(context.WithoutCancel(tr.Context()), []byte("{}"))
	if err != nil {
		tr.Error(err)
	}
	return o
}

// patience bounds every wait.
const patience = 3 * time.Minute

// until waits for the job to be in a state.
func (tr *trial) until(job, what string, is func(ledger.Meta) bool) ledger.Meta {
	tr.Helper()
	end := time.Now().Add(patience)
	for {
		m, err := tr.ledger.Meta(tr.Context(), job)
		if err != nil {
			tr.Fatal(err)
		}
		if is(m) {
			return m
		}
		if time.Now().After(end) {
			tr.Fatalf("job %s is not %s: it is %s, halt %+v, %d units planned", job, what, m.State, m.Halt, m.Planned)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// open are the job's units that are not done.
func (tr *trial) open(job string) (ids []unit.ID) {
	tr.Helper()
	err := tr.ledger.Unfinished(tr.Context(), job, 1, func(i ledger.Item) error {
		ids = append(ids, i.ID)
		return nil
	})
	if err != nil {
		tr.Fatal(err)
	}
	return ids
}

// log is what all functions wrote.
func (tr *trial) log() string {
	var all strings.Builder
	for _, f := range append([]*function{tr.lister, tr.finalizer, tr.intake}, tr.readers...) {
		if f != nil {
			all.WriteString(f.Logs())
		}
	}
	return all.String()
}
