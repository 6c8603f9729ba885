package faults_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/tests/lambdakit"
)

// live is the continuous job of a trial: it is called after the pipeline.
const live = "faults-live"

const (
	large   = "in/a/large.ndjson" // is cut
	untold  = "in/a/untold.ndjson"
	garbage = "this is no notification"
)

// newAnnounced makes a trial with a continuous job in place of one that lists.
// All of its objects are announced: some together, one of them twice, one without
// its size; and there is a body that is none.
func newAnnounced(t *testing.T) *trial {
	t.Helper()
	tr := newTrial(t)
	tr.intake = tr.start("intake")
	tr.put(untold)
	if err := tr.rows.Put(t.Context(), large, 1300, 1000); err != nil {
		t.Fatal(err)
	}
	n := func(key string) lambdakit.Notice {
		n, err := tr.Notice(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	unsized := n(untold)
	unsized.Size, unsized.ETag = -1, ""
	err := tr.Announce(t.Context(),
		lambdakit.FromS3(n(key(0)), n(key(1)), n(key(2))),
		lambdakit.ThroughSNS(lambdakit.FromS3(n(key(3)), n(key(4)), n(key(0)))),
		lambdakit.FromEventBridge(n(key(5))),
		lambdakit.FromS3(n(key(6)), n(key(7)), n(key(8)), n(key(9))),
		lambdakit.FromS3(unsized),
		lambdakit.FromEventBridge(n(large)),
		garbage)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// window is an invocation of the intake in which messages failed, or it did.
type window struct{ failed, messages int }

// taking gives the intake wrong answers and what is in its queue, until the test
// ends. After the second window in which anything failed, they are right again. It
// returns the windows that failed, to be read when nothing waits.
func (tr *trial) taking(w *wrong) *[]window {
	tr.Helper()
	tr.intake.Proxy.Inject(w.fault)
	failed := new([]window)
	m := &lambdakit.Mapping{Client: tr.SQS, Queue: tr.Intake, Batch: 10, Hasten: true, Before: tr.received}
	m.Each = func(ms []types.Message, o lambdakit.Outcome) {
		if !o.OK() {
			tr.Errorf("the intake failed as a whole: %+v", o)
		}
		if n := strings.Count(string(o.Response), "itemIdentifier"); n > 0 {
			*failed = append(*failed, window{n, len(ms)})
		}
		if len(*failed) == 2 {
			w.mend()
		}
	}
	lambdakit.Poll(tr.T, []*function{tr.intake}, func(*function) *lambdakit.Mapping { return m })
	return failed
}

// arrives waits until nothing waits, and looks that every row is there once, that
// no unit was used up and that only what is garbage was refused.
func (tr *trial) arrives() {
	tr.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		waits, err := tr.Waits(tr.Context(), tr.ledger, live)
		if err != nil {
			tr.Fatal(err)
		}
		if waits == "" {
			break
		}
		if time.Now().After(end) {
			tr.Fatalf("there wait %s", waits)
		}
	}
	tr.exact()
	if n := tr.depth(tr.Dead); n > 0 {
		tr.Errorf("%d dead letters", n)
	}
	refusals, err := tr.Refusals(tr.Context())
	if err != nil || len(refusals) == 0 {
		tr.Errorf("the garbage is not among the dead letters: %v", err)
	}
	for _, r := range refusals {
		if r.Body != garbage || r.Reason != string(failure.UnparsableEvent) || r.Detail == "" {
			tr.Errorf("refused: %+v", r)
		}
	}
}

// What passes within the SDK's and the ledger's own retries fails no message.
func TestNotificationsBearWhatPasses(t *testing.T) {
	t.Parallel()
	table := func(c lambdakit.Call) bool { return c.Service == "dynamodb" }
	send := call("sqs", "SendMessageBatch", "SendMessage")
	look := func(c lambdakit.Call) bool { return c.Service == "s3" }
	for name, w := range map[string]*wrong{
		"a table that throttles":           newWrong(4, table, dynamoSays(400, "ProvisionedThroughputExceededException")),
		"a table that fails":               newWrong(4, table, dynamoSays(500, "InternalServerError")),
		"writes whose answers are lost":    newWrong(4, call("dynamodb", "TransactWriteItems"), lambdakit.Fault{After: true}),
		"a feed that throttles":            newWrong(4, send, sqsSays(400, "ThrottlingException")),
		"sends whose answers are lost":     newWrong(4, send, lambdakit.Fault{After: true}),
		"a store that is busy":             newWrong(4, look, s3Says(503, "SlowDown")),
		"a send of which none was taken":   failing(2, failedEntries(0, false)),
		"a send of which one is said lost": failing(2, failedEntries(1, true)),
	} {
		t.Run(name, func(t *testing.T) {
			tr := newAnnounced(t)
			failed := tr.taking(w)
			tr.poll()
			tr.arrives()
			w.was(t, 2)
			if len(*failed) > 0 {
				t.Errorf("messages failed in the windows %v", *failed)
			}
		})
	}
}

func failing(times int, answer func(lambdakit.Call) lambdakit.Fault) *wrong {
	w := newWrong(times, call("sqs", "SendMessageBatch"), lambdakit.Fault{})
	w.answer = answer
	return w
}

// What does not pass fails the messages that it concerns, which come again, and is
// said once a window, with what is to be mended. Nothing of it is lost.
func TestNotificationsThatFailComeAgain(t *testing.T) {
	t.Parallel()
	table := func(c lambdakit.Call) bool { return c.Service == "dynamodb" }
	head := func(c lambdakit.Call) bool { return c.Service == "s3" && c.Op == http.MethodHead }
	for name, c := range map[string]struct {
		w     *wrong
		alone bool // the message that is concerned fails alone
		names []string
	}{
		"a table that is not to be used":  {newWrong(always, table, dynamoSays(400, "AccessDeniedException")), false, []string{"dynamodb:GetItem", "table "}},
		"a table that is not written":     {newWrong(always, call("dynamodb", "TransactWriteItems"), dynamoSays(400, "AccessDeniedException")), false, []string{"dynamodb:"}},
		"a feed that takes nothing":       {newWrong(always, call("sqs", "SendMessageBatch"), sqsSays(403, "AccessDenied")), false, []string{"allow sqs:SendMessage on the queue"}},
		"an object that is not shown":     {newWrong(always, head, lambdakit.Fault{Status: 403}), false, []string{"s3:GetObject"}},
		"an object that is not answered":  {newWrong(always, head, lambdakit.Fault{Status: 503}), true, []string{untold}},
		"a beginning that is not read":    {newWrong(always, get(large), s3Says(403, "AccessDenied")), false, []string{"s3:GetObject"}},
		"a beginning that is not there":   {newWrong(always, get(large), s3Says(503, "SlowDown")), true, []string{large}},
		"dead letters that take nothing":  {newWrong(always, call("sqs", "SendMessage"), sqsSays(403, "AccessDenied")), true, []string{"SendMessage", "-intake-dead", "check what the role is allowed to do"}},
		"dead letters that do not answer": {newWrong(always, call("sqs", "SendMessage"), sqsSays(500, "InternalFailure")), true, []string{"refuse event"}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newAnnounced(t)
			failed := tr.taking(c.w)
			tr.poll()
			tr.arrives()
			if len(*failed) != 2 {
				t.Errorf("messages failed in the windows %v, want two windows", *failed)
			}
			if first := (*failed)[0]; c.alone && first.failed != 1 {
				t.Errorf("in the first window %d of %d messages failed, want the one that is concerned", first.failed, first.messages)
			}
			var said []string
			for line := range strings.Lines(tr.intake.Logs()) {
				if strings.Contains(line, `"level":"ERROR"`) {
					said = append(said, line)
				}
			}
			if len(said) != len(*failed) {
				t.Errorf("%d windows failed, and %d lines say so: %s", len(*failed), len(said), said)
			}
			for _, n := range c.names {
				if len(said) > 0 && !strings.Contains(said[0], n) {
					t.Errorf("it does not name %q: %s", n, said[0])
				}
			}
		})
	}
}
