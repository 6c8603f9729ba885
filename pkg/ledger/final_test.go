package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

func TestFinal(t *testing.T) {
	away := errors.New("away")
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"no error":               {nil, false},
		"a fault of no kind":     {away, false},
		"a fault that may pass":  {failure.New(failure.Transient, failure.RetriesExhausted, away), false},
		"a fault of a unit":      {failure.New(failure.Unit, failure.RetriesExhausted, away), false},
		"a fault of the job":     {failure.New(failure.Job, failure.Denied, away), true},
		"an unknown job":         {ledger.ErrNoJob, true},
		"an unknown unit":        {ledger.ErrNoUnit, true},
		"an unclaimed object":    {ledger.ErrNoClaim, true},
		"a job that is active":   {fmt.Errorf("start: %w", ledger.ErrActive), true},
		"another start of work":  {ledger.ErrFenced, true},
		"a job that moved on":    {errors.Join(away, ledger.ErrState), true},
		"the end of the context": {context.Canceled, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ledger.Final(c.err); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
