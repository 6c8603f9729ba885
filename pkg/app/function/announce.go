package function

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/spate-go/spate/pkg/failure/awsfailure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
)

// Types of the events that a stack publishes, under eventSource.
const (
	eventSource = "spate"
	eventEnded  = "Spate Job Ended"
	eventHalted = "Spate Job Halted"
)

// HaltedDetail is what the event of a halt says.
type HaltedDetail struct {
	Job    string    `json:"job"`
	Run    int       `json:"run"`
	Reason string    `json:"reason"`
	Detail string    `json:"detail"`
	At     time.Time `json:"at"`
}

// halted tells that a job was halted.
func (s *services) halted(ctx context.Context, job string, run int, h ledger.Halt) error {
	return s.publish(ctx, eventHalted, HaltedDetail{job, run, string(h.Reason), h.Detail, h.At})
}

// ended tells that a run ended, which is repeated until it is done. The task comes
// first: an answer that is repeated finds nobody waiting, an event is told twice.
// Both say what the report does, with fewer names.
func (s *services) ended(ctx context.Context, r *report.Report) error {
	if r.Callback != "" {
		if err := s.answer(ctx, r); err != nil {
			return err
		}
	}
	return s.publish(ctx, eventEnded, r.Brief())
}

// publish puts an event on the bus. Without one it does nothing.
func (s *services) publish(ctx context.Context, kind string, detail any) error {
	bus := s.env.get(envBus)
	if bus == "" {
		return nil
	}
	text, err := json.Marshal(detail)
	if err != nil {
		return fmt.Errorf("publish %q: %w", kind, err)
	}
	out, err := eventbridge.NewFromConfig(s.config).PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []eventtypes.PutEventsRequestEntry{{
		EventBusName: &bus, Source: aws.String(eventSource), DetailType: &kind, Detail: aws.String(string(text)),
	}}})
	if err != nil {
		return awsfailure.Classify(ctx, err, "put event on bus "+bus, nil)
	}
	for _, e := range out.Entries {
		if e.ErrorCode != nil {
			return fmt.Errorf("put event on bus %s: %s: %s", bus, *e.ErrorCode, aws.ToString(e.ErrorMessage))
		}
	}
	return nil
}

// answer ends the Step Functions task that waits for the run. One that has ended
// already waits no more.
func (s *services) answer(ctx context.Context, r *report.Report) error {
	text, err := brief(r)
	if err != nil {
		return fmt.Errorf("answer the task of job %s: %w", r.Job, err)
	}
	client := sfn.NewFromConfig(s.config)
	if r.State == report.Completed {
		_, err = client.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &r.Callback, Output: &text})
	} else {
		_, err = client.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{
			TaskToken: &r.Callback, Error: aws.String("Spate.Job." + string(r.State)), Cause: &text,
		})
	}
	if gone(err) {
		return nil
	}
	return awsfailure.Classify(ctx, err, "answer the task that waits for job "+r.Job, nil)
}

// maxCause is what a failed task's cause has room for. A longer one is refused for
// ever, and with it the end of the job.
const maxCause = 32 << 10

// brief is what a task is answered: names only where there is room for them.
func brief(r *report.Report) (string, error) {
	b := r.Brief()
	text, err := json.Marshal(b)
	if err == nil && len(text) > maxCause { // what JSON escapes takes up to six times its bytes
		b.Omitted = report.Omitted{Dead: b.Units.Dead, Missing: b.Units.Missing}
		b.Dead, b.Missing = []report.Dead{}, []report.Missing{}
		text, err = json.Marshal(b)
	}
	return string(text), err
}

// gone reports whether nobody waits for the answer that err refuses.
func gone(err error) bool {
	_, timedOut := errors.AsType[*sfntypes.TaskTimedOut](err)
	_, absent := errors.AsType[*sfntypes.TaskDoesNotExist](err)
	_, invalid := errors.AsType[*sfntypes.InvalidToken](err)
	return timedOut || absent || invalid
}
