package control

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// StartOptions say what a run reads, if that differs from what the lister's own
// pipeline file says. The zero value reads that file's source.
type StartOptions struct {
	Selection
	TaskToken string // of the Step Functions task that waits for the run; "": none
	// Token identifies this start: the same token is the same run. "": each call of
	// Start is a new one.
	Token string
}

// Started is the run that a start began, or had begun.
type Started struct {
	Job   string
	Run   int
	State ledger.State
	// Later is why the lister could not be called to list the run. The schedule
	// calls it within a minute.
	Later error
}

// Start starts the job's next run and has it listed; job "" is the one that the
// lister's pipeline file names. What the lister refuses, such as a job that is
// running, is a *FunctionError in the lister's own words.
func (c *Control) Start(ctx context.Context, job string, o StartOptions) (Started, error) {
	if c.opt.Functions == nil || c.opt.Lister == "" {
		return Started{}, starting(job, errors.New("the stack names no lister function"))
	}
	token := o.Token
	if token == "" {
		token = rand.Text()
	}
	payload, err := json.Marshal(ListRequest{
		Job: job, Selection: o.Selection, Token: token, TaskToken: o.TaskToken, Detach: true,
	})
	if err != nil {
		return Started{}, starting(job, err)
	}
	// An answer that was lost is asked for again with the token: the lister finds
	// the run that it names.
	var body []byte
	err = again(ctx, func() (err error) {
		body, err = c.opt.Functions.Call(ctx, c.opt.Lister, payload)
		return err
	})
	if err != nil {
		return Started{}, starting(job, err)
	}
	var a ListAnswer
	if err := json.Unmarshal(body, &a); err != nil || a.Job == "" || job != "" && a.Job != job || a.Run < 1 {
		return Started{}, starting(job, fmt.Errorf("function %s answers %.200q: it is not a lister of this version", c.opt.Lister, body))
	}
	s := Started{Job: a.Job, Run: a.Run, State: a.State}
	if s.State == ledger.Listing {
		s.Later = c.queue(ctx, c.opt.Lister, ListRequest{Job: s.Job, Run: s.Run})
	}
	return s, nil
}

// starting puts what failed before err, unless the lister's own words do.
func starting(job string, err error) error {
	do := strings.TrimSpace("start job " + job)
	if strings.HasPrefix(err.Error(), do) {
		return err
	}
	return fmt.Errorf("%s: %w", do, err)
}

// queue gives a function a request and does not wait for what it does with it.
func (c *Control) queue(ctx context.Context, function string, request any) error {
	payload, err := json.Marshal(request)
	if err != nil {
		return err
	}
	return again(ctx, func() error { return c.opt.Functions.Queue(ctx, function, payload) })
}

// again repeats a call of a function, a few times at most, until it is
// answered.
func again(ctx context.Context, call func() error) error {
	p := backoff.Policy{Base: time.Second, Max: 4 * time.Second, Retries: 4}
	return backoff.Retry(ctx, p, func(err error) bool {
		if e, ok := errors.AsType[*FunctionError](err); ok {
			return e.Crashed
		}
		return !failure.Is(err, failure.Job)
	}, call)
}
