package aws_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/spate-go/spate/pkg/report"
)

func TestACleanJobEndsByItself(t *testing.T) {
	s := onStack(t)
	const job = "clean"
	source := []object{ranges(t, job+"/big.ndjson", 8)}
	for i := range 100 {
		source = append(source, ndjson(t, fmt.Sprintf("%s/%03d.ndjson.gz", job, i), 20))
	}
	s.put(t, source...)
	told := s.listen(t, job)

	r := into[report.Report](t, s.want(t, 0, "start", job, "--url", "s3://"+s.source+"/"+job+"/", "--watch", "--progress", "none", "-o", "json"))
	if r.Job != job || r.Run != 1 || r.State != report.Completed || r.Units.Done != r.Units.Planned || r.Units.Planned < 9 ||
		r.Objects.Listed != 101 || r.Objects.Done != 101 || r.Records != records(source) || r.Cost == nil || len(r.Dead)+len(r.Missing) > 0 {
		t.Errorf("report %+v", r)
	}
	exactly(t, s.delivered(t, job), source...)

	t.Run("its report lies in the bucket with the marker", func(t *testing.T) {
		kept := s.reports(t, job, 1)
		if !slices.Equal(kept, []string{"_SUCCESS", "report-0.json"}) {
			t.Errorf("%q", kept)
		}
	})
	t.Run("it is no longer live", func(t *testing.T) {
		for _, j := range into[[]status](t, s.want(t, 0, "list", "-o", "json")) {
			if j.Job == job {
				t.Errorf("%+v", j)
			}
		}
	})
	lines := s.lines(t, job, 1)
	t.Run("a unit is one line of about 1 KB", func(t *testing.T) {
		oncePerUnit(t, lines, r.Units.Planned)
	})
	t.Run("the bus is told within 2 s of the last unit's end", func(t *testing.T) {
		e := told(t)
		if e.Kind != "Spate Job Ended" || e.Detail.State != report.Completed || e.Detail.Run != 1 {
			t.Errorf("event %+v", e)
		}
		last := slices.MaxFunc(lines, func(a, b line) int { return a.at.Compare(b.at) })
		took := e.at.Sub(last.at)
		// A machine that is busy is given the time that it takes for ten calls.
		began := time.Now()
		for range 3 {
			s.tick(t)
		}
		allowed := max(2*time.Second, 10*time.Since(began)/3)
		t.Logf("report and event %v after the last unit's end; allowed %v", took.Round(time.Millisecond), allowed.Round(time.Millisecond))
		if took > allowed {
			t.Errorf("%v after the last unit's end, want at most %v", took, allowed)
		}
	})
}

func oncePerUnit(t *testing.T, lines []line, planned int) {
	t.Helper()
	units, longest := map[string]int{}, 0
	for _, l := range lines {
		if l.field("outcome") != "done" {
			t.Errorf("%s", l.text)
		}
		units[l.field("unit")]++
		longest = max(longest, len(l.text))
	}
	if len(lines) != planned || len(units) != planned {
		t.Errorf("%d lines of %d units, %d are planned", len(lines), len(units), planned)
	}
	if longest > 1<<10 {
		t.Errorf("a line has %d bytes", longest)
	}
	t.Logf("%d units, %d invocations, the longest line has %d bytes", planned, len(lines), longest)
}

// reports are the names of what is kept of a run.
func (s *stack) reports(t *testing.T, job string, run int) (names []string) {
	t.Helper()
	bucket, prefix := s.place("ReportUrl")
	prefix += job + "/run-" + strconv.Itoa(run) + "/"
	found, err := s.s3.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix})
	if err != nil && !errors.As(err, new(*types.NoSuchBucket)) {
		t.Fatal(err)
	}
	for _, o := range found.Contents {
		names = append(names, aws.ToString(o.Key)[len(prefix):])
	}
	return names
}

// event is one of the bus.
type event struct {
	Kind   string `json:"detail-type"`
	Detail struct {
		Job   string
		Run   int
		State report.State
	}
	at time.Time // it was handed on
}

// listen has the bus's events about a job put into a queue. What it returns waits
// for the next one.
func (s *stack) listen(t *testing.T, job string) func(*testing.T) event {
	t.Helper()
	name := s.name + "-" + job
	queue, err := s.sqs.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		t.Fatal(err)
	}
	is, err := s.sqs.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: queue.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameQueueArn},
	})
	if err != nil {
		t.Fatal(err)
	}
	bus := s.outputs["EventBus"]
	_, err = s.events.PutRule(t.Context(), &eventbridge.PutRuleInput{
		Name: &name, EventBusName: &bus, EventPattern: aws.String(fmt.Sprintf(`{"source":["spate"],"detail":{"job":[%q]}}`, job)),
	})
	if err == nil {
		_, err = s.events.PutTargets(t.Context(), &eventbridge.PutTargetsInput{
			Rule: &name, EventBusName: &bus, Targets: []eventtypes.Target{{Id: aws.String("queue"), Arn: aws.String(is.Attributes["QueueArn"])}},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T) event {
		t.Helper()
		m := s.receive(t, *queue.QueueUrl, 1)[0]
		var e event
		if err := json.Unmarshal([]byte(*m.Body), &e); err != nil {
			t.Fatal(err)
		}
		sent, err := strconv.ParseInt(m.Attributes["SentTimestamp"], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		e.at = time.UnixMilli(sent)
		return e
	}
}

// receive takes n messages of a queue, and holds them for longer than any test.
func (s *stack) receive(t *testing.T, queue string, n int) (messages []sqstypes.Message) {
	t.Helper()
	for end := time.Now().Add(time.Minute); len(messages) < n; {
		got, err := s.sqs.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: &queue, MaxNumberOfMessages: int32(min(n-len(messages), 10)), WaitTimeSeconds: 1, VisibilityTimeout: 3600,
			MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{sqstypes.MessageSystemAttributeNameAll},
		})
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, got.Messages...)
		if time.Now().After(end) {
			t.Fatalf("%d messages in %s, want %d", len(messages), queue, n)
		}
	}
	return messages
}
