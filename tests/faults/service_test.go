package faults_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/tests/lambdakit"
)

func TestASendThatIsNotTakenIsRepeatedInPlace(t *testing.T) {
	t.Parallel()
	send := call("sqs", "SendMessageBatch")
	for name, answer := range map[string]func(lambdakit.Call) lambdakit.Fault{
		"throttled":            fixed(sqsSays(400, "ThrottlingException")),
		"500":                  fixed(sqsSays(500, "InternalFailure")),
		"no answer":            fixed(lambdakit.Fault{Before: true}),
		"an answer lost":       fixed(lambdakit.Fault{After: true}),
		"none of it":           failedEntries(0, false),
		"said of one, wrongly": failedEntries(1, true),
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrial(t)
			w := newWrong(3, send, lambdakit.Fault{})
			w.answer = answer
			tr.listing(w)
			tr.listed("a")
			tr.poll()
			tr.schedule()
			tr.completes("a")
			tr.exact()
			tr.unburnt("a", 1)
			w.was(t, 3)
		})
	}
}

func fixed(f lambdakit.Fault) func(lambdakit.Call) lambdakit.Fault {
	return func(lambdakit.Call) lambdakit.Fault { return f }
}

// failedEntries answers that the first so many entries of a batch were taken, and
// the others were not. taken: all were.
func failedEntries(well int, taken bool) func(lambdakit.Call) lambdakit.Fault {
	return func(c lambdakit.Call) lambdakit.Fault {
		var in struct{ Entries []struct{ ID string } } // Id, in any case
		_ = json.Unmarshal(c.Body, &in)                // of the SDK's making
		sent, failed := []string{}, []string{}
		for i, e := range in.Entries {
			if i < well {
				sent = append(sent, fmt.Sprintf(`{"Id":%q,"MessageId":"m","MD5OfMessageBody":""}`, e.ID))
			} else {
				failed = append(failed, fmt.Sprintf(`{"Id":%q,"Code":"InternalError","SenderFault":false,"Message":"it is said so"}`, e.ID))
			}
		}
		f := jsonSays(200, fmt.Sprintf(`{"Successful":[%s],"Failed":[%s]}`, strings.Join(sent, ","), strings.Join(failed, ",")))
		f.After = taken
		return f
	}
}

// A reader that may not renew its message reads its unit all the same: fences
// hold.
func TestAMessageThatCannotBeRenewedIsHandled(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]lambdakit.Fault{
		"403":       sqsSays(403, "AccessDenied"),
		"throttled": sqsSays(400, "ThrottlingException"),
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrial(t)
			w := tr.reading(newWrong(always, call("sqs", "ChangeMessageVisibility"), f))
			tr.listed("a")
			tr.poll()
			tr.schedule()
			tr.completes("a")
			tr.exact()
			tr.unburnt("a", 1)
			w.was(t, 3)
		})
	}
}

// The trigger is a hint: without it the schedule ends the job.
func TestATriggerThatIsLostDelaysTheEnd(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]lambdakit.Fault{
		"403":       lambdaSays(403, "AccessDeniedException"),
		"throttled": lambdaSays(429, "TooManyRequestsException"),
		"404":       lambdaSays(404, "ResourceNotFoundException"),
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrial(t)
			tr.listing(newWrong(always, call("lambda", "POST"), f))
			w := tr.reading(newWrong(always, call("lambda", "POST"), f))
			tr.list("a") // whose own trigger is refused, too
			tr.poll()
			tr.emptied("a")
			w.was(t, 1)
			m := tr.until("a", "listed", func(m ledger.Meta) bool { return m.Listed })
			if m.State != ledger.Running {
				t.Errorf("the job is %s, and nobody could have ended it", m.State)
			}
			tr.schedule()
			tr.completes("a")
			tr.exact()
			tr.unburnt("a", 2)
		})
	}
}

// A job whose end could not be told is reported, and live until it was.
func TestAnEndThatCannotBeToldIsToldLater(t *testing.T) {
	tr := newTrial(t)
	w := tr.finalizing(newWrong(always, call("events", "PutEvents"), jsonSays(400, `{"__type":"AccessDeniedException","message":"it is said so"}`)))
	tr.listed("a")
	tr.poll()
	stop := tr.schedule()
	tr.completes("a") // with its report
	tr.exact()
	for range 2 {
		if o := tr.tick(); o.OK() {
			t.Error("a tick that could not tell of a job's end went well")
		}
	}
	w.was(t, 2)
	if live, err := tr.ledger.Live(t.Context()); err != nil || len(live) != 1 {
		t.Errorf("live: %v, %v", live, err)
	}
	w.mend()
	stop()
	if o := tr.tick(); !o.OK() {
		t.Errorf("tick: %+v", o)
	}
	if live, err := tr.ledger.Live(t.Context()); err != nil || len(live) != 0 {
		t.Errorf("live: %v, %v", live, err)
	}
}

// Nothing ends before its report is written.
func TestAReportThatCannotBeWrittenIsWrittenLater(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]lambdakit.Fault{
		"403":            s3Says(403, "AccessDenied"),
		"503":            s3Says(503, "SlowDown"),
		"an answer lost": {After: true},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrial(t)
			w := tr.finalizing(newWrong(always, put("reports/"), f))
			tr.listed("a")
			tr.poll()
			stop := tr.schedule()
			tr.until("a", "at its end", func(m ledger.Meta) bool { return m.State == ledger.Completed })
			if live, err := tr.ledger.Live(t.Context()); err != nil || len(live) != 1 {
				t.Errorf("live: %v, %v", live, err)
			}
			for end := time.Now().Add(patience); w.given.Load() == 0 && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			}
			w.was(t, 1)
			w.mend()
			tr.completes("a")
			tr.exact()
			stop()
			if o := tr.tick(); !o.OK() {
				t.Errorf("tick: %+v", o)
			}
			if live, err := tr.ledger.Live(t.Context()); err != nil || len(live) != 0 {
				t.Errorf("live: %v, %v", live, err)
			}
		})
	}
}
