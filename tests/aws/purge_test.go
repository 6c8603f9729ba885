package aws_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/report"
)

// lose starts a job of 8 units and empties the queue when half of them are done.
func (s *stack) lose(t *testing.T, job string) (source []object) {
	t.Helper()
	source = []object{ranges(t, job+"/0.ndjson", 8)}
	s.put(t, source...)
	resume := s.pause(t)
	s.start(t, job)
	s.until(t, job, "listed", func(st status) bool { return st.Listed })
	for _, m := range s.receive(t, s.outputs["FeedQueueUrl"], 4) {
		if group := m.Attributes["MessageGroupId"]; group != job {
			t.Errorf("a message of job %s is in group %q", job, group)
		}
	}
	resume()
	s.until(t, job, "half done", func(st status) bool { return st.Units.Done == 4 && st.Feed.Ready == 0 && st.Feed.InFlight == 4 })
	if _, err := s.sqs.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: aws.String(s.outputs["FeedQueueUrl"])}); err != nil {
		t.Fatal(err)
	}
	return source
}

func ended(st status) bool { return st.State != "listing" && st.State != "running" }

func TestWhatAPurgedQueueHeldIsSentAgain(t *testing.T) {
	s := onStack(t)
	const job = "purged"
	source := s.lose(t, job)
	s.settled(t, job, "ended", ended)
	s.complete(t, job, 1, source)
	if st := s.status(t, job); st.Resends != 1 || st.Units.Done != 8 {
		t.Errorf("status %+v", st)
	}
	n := len(s.lines(t, job, 1))
	for end := time.Now().Add(time.Minute); n < 8 && time.Now().Before(end); n = len(s.lines(t, job, 1)) {
		time.Sleep(200 * time.Millisecond) // a log group is a little behind
	}
	if n != 8 {
		t.Errorf("%d invocations for 8 units", n)
	}
}

func TestWithoutReSendsAPurgedQueueFailsItsJobByName(t *testing.T) {
	s := onStack(t)
	const job = "not-sent-again"
	t.Cleanup(s.configure(t, "finalizer", "RESENDS", "0"))
	source := s.lose(t, job)
	s.settled(t, job, "ended", ended)
	r := s.watch(t, 1, job)
	if r.State != report.Failed || r.Units.Missing != 4 || r.Units.Done != 4 || len(r.Missing) != 4 {
		t.Errorf("report %+v", r)
	}
	items := s.items(t, job)
	for _, m := range r.Missing {
		if i := items[string(m.Unit)]; m.Key != source[0].key || m.Reason != failure.Missing || i.state != "open" {
			t.Errorf("missing %+v, in the ledger %+v", m, i)
		}
	}

	t.Run("and a redrive completes it", func(t *testing.T) {
		if said := s.want(t, 0, "redrive", job).stdout; !strings.Contains(said, "run 1") {
			t.Errorf("%q", said)
		}
		s.settled(t, job, "ended", ended)
		s.complete(t, job, 1, source)
		s.want(t, 1, "redrive", job) // a completed run is final
		if kept := s.reports(t, job, 1); strings.Join(kept, " ") != "_SUCCESS report-0.json report-1.json" {
			t.Errorf("%q", kept)
		}
	})
}
