package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

func TestAStartAsksTheListerAndHasItList(t *testing.T) {
	s := newStack(&faults{})
	got, err := s.control().Start(t.Context(), "logs", control.StartOptions{
		Selection: control.Selection{URL: "s3://b/p/", Include: []string{"*.gz"}, Exclude: []string{"x*"}, StartAfter: "k"},
		TaskToken: "task", Token: "t",
	})
	if err != nil || got != (control.Started{Job: "logs", Run: 1, State: ledger.Listing}) {
		t.Errorf("%+v, %v", got, err)
	}
	want := []string{
		`call lister {"job":"logs","url":"s3://b/p/","include":["*.gz"],"exclude":["x*"],"start_after":"k","token":"t","task_token":"task","detach":true}`,
		`queue lister {"job":"logs","run":1}`,
	}
	if d := cmp.Diff(want, s.calls); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestAStartThatAnythingFailsIsOneRun(t *testing.T) {
	sweep(t, func(t *testing.T, f *faults) {
		s := newStack(f)
		got, err := s.control().Start(t.Context(), "logs", control.StartOptions{})
		if err != nil || got.Run != 1 || got.Later != nil || s.meta(t, "logs").Run != 1 {
			t.Errorf("%+v, %v, run %d", got, err, s.meta(t, "logs").Run)
		}
		if last := s.calls[len(s.calls)-1]; last != `queue lister {"job":"logs","run":1}` {
			t.Errorf("last it made %s", last)
		}
	})
}

func TestEachStartHasATokenOfItsOwn(t *testing.T) {
	s := newStack(&faults{})
	c := s.control()
	if _, err := c.Start(t.Context(), "logs", control.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	// The second is refused, for the first is listed, and no listing is asked for.
	_, err := c.Start(t.Context(), "logs", control.StartOptions{})
	if _, ok := errors.AsType[*control.FunctionError](err); !ok || !strings.Contains(err.Error(), "job is active") {
		t.Errorf("got %v", err)
	}
	if len(s.calls) != 3 || token(t, s.calls[0]) == "" || token(t, s.calls[0]) == token(t, s.calls[2]) {
		t.Errorf("calls %q", s.calls)
	}
}

// token is that of a call of the lister.
func token(t *testing.T, call string) string {
	t.Helper()
	var r struct{ Token string }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(call, "call lister ")), &r); err != nil {
		t.Fatal(err)
	}
	return r.Token
}

func TestTheSameTokenIsTheSameRun(t *testing.T) {
	s := newStack(&faults{})
	c := s.control()
	for range 3 {
		got, err := c.Start(t.Context(), "logs", control.StartOptions{Token: "t"})
		if err != nil || got.Run != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

func TestWhatTheListerAnswersDecides(t *testing.T) {
	for name, c := range map[string]struct {
		refuse error
		answer string
		calls  int // at least one more where it is asked again
		want   string
	}{
		"a refusal is final, in its own words": {refuse: &control.FunctionError{Type: "errorString", Message: "start job logs: run 3 is listing"}, calls: 1, want: "start job logs: run 3 is listing"},
		"a crash is asked again":               {refuse: &control.FunctionError{Function: "lister", Message: "exit status 2", Crashed: true}, calls: 5, want: "function lister crashed: exit status 2: its log says more"},
		"a lack of permission is final":        {refuse: failure.New(failure.Job, failure.Denied, errors.New("allow lambda:InvokeFunction")), calls: 1, want: "allow lambda:InvokeFunction"},
		"a lost answer is asked again":         {refuse: errAway, calls: 5, want: "connection reset"},
		"an answer of another kind":            {answer: `{"statusCode":200}`, calls: 1, want: "it is not a lister of this version"},
		"no answer":                            {answer: `null`, calls: 1, want: "it is not a lister of this version"},
		"an answer without a run":              {answer: `{"job":"logs","state":"listing"}`, calls: 1, want: "it is not a lister of this version"},
		"an answer for another job":            {answer: `{"job":"x","run":1,"state":"listing"}`, calls: 1, want: "it is not a lister of this version"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(&faults{})
				s.refuse, s.answer = c.refuse, c.answer
				_, err := s.control().Start(t.Context(), "logs", control.StartOptions{})
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v", err)
				}
				if len(s.calls) != c.calls {
					t.Errorf("%d calls: %v", len(s.calls), s.calls)
				}
				for _, again := range s.calls {
					if again != s.calls[0] {
						t.Errorf("it asked for %s and then for %s", s.calls[0], again)
					}
				}
			})
		})
	}
}

// deaf takes a call, and no event.
type deaf struct{ *stack }

func (deaf) Queue(context.Context, string, []byte) error {
	return failure.New(failure.Job, failure.Denied, errors.New("allow it"))
}

func TestAListingThatCannotBeAskedForIsLeftToTheSchedule(t *testing.T) {
	s := newStack(&faults{})
	c := control.New(s.Shared, control.Options{Functions: deaf{s}, Lister: "lister"})
	got, err := c.Start(t.Context(), "logs", control.StartOptions{})
	if err != nil || got.Run != 1 || got.Later == nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestARunThatIsPastItsListingIsNotListed(t *testing.T) {
	s := newStack(&faults{})
	s.answer = `{"job":"logs","run":4,"state":"running"}`
	got, err := s.control().Start(t.Context(), "logs", control.StartOptions{Token: "t"})
	if err != nil || got.Run != 4 || len(s.calls) != 1 {
		t.Errorf("%+v, %v, calls %v", got, err, s.calls)
	}
}

func TestAStackWithoutALister(t *testing.T) {
	_, err := control.New(newStack(&faults{}).Shared, control.Options{}).Start(t.Context(), "logs", control.StartOptions{})
	if err == nil || err.Error() != "start job logs: the stack names no lister function" {
		t.Errorf("got %v", err)
	}
}

func TestAnInterruptedStartEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(&faults{})
		s.refuse = errAway
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.control().Start(ctx, "logs", control.StartOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
