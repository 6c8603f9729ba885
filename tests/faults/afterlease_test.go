package faults_test

import (
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/tests/lambdakit"
)

// A lister that ended badly leaves its lease to lapse, a minute after it was last
// renewed. So these tests are the longest, and stand in the first file to begin
// first.

func TestAListingThatIsRefusedHaltsTheJob(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		f      lambdakit.Fault
		reason failure.Reason
		names  []string
	}{
		"401":              {s3Says(401, "Unauthorized"), failure.Denied, []string{"allow s3:ListBucket on arn:aws:s3:::"}},
		"403 AccessDenied": {s3Says(403, "AccessDenied"), failure.Denied, []string{"allow s3:ListBucket on arn:aws:s3:::"}},
		"404 NoSuchBucket": {s3Says(404, "NoSuchBucket"), failure.Config, []string{"check the bucket's name"}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrial(t)
			w := tr.listing(newWrong(always, list, c.f))
			tr.listed("a")
			tr.poll()
			tr.schedule()
			tr.halts("a", c.reason, append(c.names, tr.Name)...)
			asked := w.given.Load()
			w.mend()
			tr.put("in/b/00.ndjson")
			tr.listed("b")
			tr.completes("b")
			if n := w.given.Load(); n != asked || asked != 1 {
				t.Errorf("%d listings were refused, want 1", n)
			}
			tr.resume("a", c.reason)
			tr.completes("a")
			tr.exact()
			tr.unburnt("a", 1)
		})
	}
}

// The lister gives up after half a minute, and the schedule starts the next one
// when its lease has ended.
func TestAListingThatWasGivenUpGoesOnByTheSchedule(t *testing.T) {
	tr := newTrial(t)
	w := tr.listing(newWrong(9, list, s3Says(503, "SlowDown"))) // all that one lister asks
	if o := tr.list("a"); o.OK() {
		t.Errorf("the listing went well: %s", o.Response)
	}
	w.was(t, 9)
	if m := tr.until("a", "listing", func(m ledger.Meta) bool { return m.State == ledger.Listing }); m.Halt != nil {
		t.Errorf("halted: %+v", m.Halt)
	}
	tr.poll()
	tr.schedule()
	tr.completes("a")
	tr.exact()
}

func TestAListersWriteThatIsRefusedHaltsTheJob(t *testing.T) {
	tr := newTrial(t)
	transact := call("dynamodb", "TransactWriteItems")
	w := tr.listing(newWrong(always, func(c lambdakit.Call) bool { // of a page: a start has no job to halt
		return transact(c) && strings.Contains(string(c.Body), "#plan#")
	}, dynamoSays(400, "AccessDeniedException")))
	tr.listed("a")
	tr.poll()
	tr.schedule()
	tr.halts("a", failure.Denied, "dynamodb:TransactWriteItems", "table "+tr.Name)
	w.was(t, 1)
	w.mend()
	tr.resume("a", failure.Denied)
	tr.completes("a")
	tr.exact()
	tr.unburnt("a", 1)
}

func TestASendThatIsRefusedHaltsTheJob(t *testing.T) {
	tr := newTrial(t)
	w := tr.listing(newWrong(always, call("sqs", "SendMessageBatch"), sqsSays(403, "AccessDenied")))
	tr.listed("a")
	tr.poll()
	tr.schedule()
	tr.halts("a", failure.Denied, "allow sqs:SendMessage on the queue", tr.Feed)
	w.was(t, 1)
	w.mend()
	tr.resume("a", failure.Denied)
	tr.completes("a")
	tr.exact()
	tr.unburnt("a", 1)
}
