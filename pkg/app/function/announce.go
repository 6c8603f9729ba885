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

// ended tells that a run ended. The event says what the report does, with fewer
// names.
func (s *services) ended(ctx context.Context, r *report.Report) error {
	if err := s.publish(ctx, eventEnded, r.Brief()); err != nil {
		return err
	}
	if r.Callback == "" {
		return nil
	}
	return s.answer(ctx, r)
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
	text, err := json.Marshal(r.Brief())
	if err != nil {
		return fmt.Errorf("answer the task of job %s: %w", r.Job, err)
	}
	client := sfn.NewFromConfig(s.config)
	if r.State == report.Completed {
		_, err = client.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &r.Callback, Output: aws.String(string(text))})
	} else {
		// A cause has room for 32 KiB, which a brief report fits.
		_, err = client.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{
			TaskToken: &r.Callback, Error: aws.String("Spate.Job." + string(r.State)), Cause: aws.String(string(text)),
		})
	}
	if gone(err) {
		return nil
	}
	return awsfailure.Classify(ctx, err, "answer the task that waits for job "+r.Job, nil)
}

// gone reports whether nobody waits for the answer that err refuses.
func gone(err error) bool {
	_, timedOut := errors.AsType[*sfntypes.TaskTimedOut](err)
	_, absent := errors.AsType[*sfntypes.TaskDoesNotExist](err)
	_, invalid := errors.AsType[*sfntypes.InvalidToken](err)
	return timedOut || absent || invalid
}
