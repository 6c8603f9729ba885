package faults_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
	"github.com/spate-go/spate/tests/lambdakit"
)

func TestAWriteThatFailsForAWhileIsRepeatedInPlace(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]lambdakit.Fault{
		"500":                       s3Says(500, "InternalError"),
		"503 SlowDown":              s3Says(503, "SlowDown"),
		"no answer":                 {Before: true},
		"an answer that is lost":    {After: true},
		"a write that is not known": {Status: 500, Answer: "<Error><Code>InternalError</Code></Error>", After: true},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrial(t)
			w := tr.reading(newWrong(8, put("out/"), f)) // more than the SDK itself repeats
			tr.listed("a")
			tr.poll()
			tr.schedule()
			tr.completes("a")
			tr.exact()
			tr.unburnt("a", 1)
			w.was(t, 8)
		})
	}
}

func TestAWriteThatIsRefusedHaltsTheJob(t *testing.T) {
	tr := newTrial(t)
	w := tr.reading(newWrong(always, put("out/"), s3Says(403, "AccessDenied")))
	tr.listed("a")
	tr.poll()
	tr.schedule()
	tr.halts("a", failure.Denied, "allow s3:PutObject on arn:aws:s3:::"+tr.Name+"/out/")
	tr.unburnt("a", 2)
	w.mend()
	tr.command("job", "resume", "a")
	tr.completes("a")
	tr.exact()
	tr.unburnt("a", 2)
}

// A sink that is down for longer than its writes are repeated, nearly all of the
// reader's time, halts the job; then one unit a tick goes out to probe, in turn, and the first that
// fares well ends the halt. What other jobs write arrives meanwhile.
func TestASinkThatIsDownIsProbedUntilItAnswers(t *testing.T) {
	tr := newHurriedTrial(t, 30*time.Second)
	tr.listed("a")
	units := tr.open("a")
	w := tr.reading(newWrong(always, func(c lambdakit.Call) bool {
		for _, id := range units {
			if put("out/")(c) && strings.Contains(c.Path, string(id)) {
				return true
			}
		}
		return false
	}, s3Says(503, "ServiceUnavailable")))
	stop := tr.poll()
	tr.halts("a", failure.SinkDown, "503", "out/")
	tr.unburnt("a", 2)
	tr.put("in/b/00.ndjson")
	tr.listed("b")
	tr.completes("b")
	stop()

	var probed []unit.ID
	for range 2 * len(units) {
		if o := tr.tick(); !o.OK() {
			t.Fatalf("tick: %+v", o)
		}
		probed = append(probed, tr.probes()...)
	}
	for i, id := range probed[:len(probed)/2] {
		if probed[len(units)+i] != id || strings.Count(strings.Join(texts(probed), " "), string(id)) != 2 {
			t.Errorf("probes were %v, want each of %v in turn", probed, units)
			break
		}
	}

	w.mend()
	tr.poll()
	tr.tick()
	m := tr.until("a", "on its way again", func(m ledger.Meta) bool { return m.Halt == nil })
	if m.Ask == m.Swept {
		t.Error("the halt ended, and no send of the open units is asked for")
	}
	tr.schedule()
	tr.completes("a")
	tr.exact()
	tr.unburnt("a", 2)
}

// probes takes what is in the feed, which must be probes.
func (tr *trial) probes() (ids []unit.ID) {
	tr.Helper()
	out, err := tr.SQS.ReceiveMessage(tr.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: &tr.Feed, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
	})
	if err != nil {
		tr.Fatal(err)
	}
	for _, m := range out.Messages {
		named := func(name string) string { return aws.ToString(m.MessageAttributes[name].StringValue) }
		if named("spate-probe") == "" || named("spate-job") != "a" {
			tr.Errorf("%v is no probe of the job", m.MessageAttributes)
		}
		ids = append(ids, unit.ID(named("spate-unit")))
		if _, err := tr.SQS.DeleteMessage(tr.Context(), &sqs.DeleteMessageInput{QueueUrl: &tr.Feed, ReceiptHandle: m.ReceiptHandle}); err != nil {
			tr.Fatal(err)
		}
	}
	if len(ids) != 1 {
		tr.Errorf("a tick sent %d probes", len(ids))
	}
	return ids
}

func texts(ids []unit.ID) (s []string) {
	for _, id := range ids {
		s = append(s, string(id))
	}
	return s
}
