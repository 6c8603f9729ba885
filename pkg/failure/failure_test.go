package failure_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
)

func TestTheOutermostMarkDecides(t *testing.T) {
	cause := errors.New("cause")
	inner := failure.New(failure.Transient, failure.NotFound, cause)
	for name, c := range map[string]struct {
		err    error
		marked bool
		scope  failure.Scope
		reason failure.Reason
	}{
		"unmarked is a unit failure":    {cause, false, failure.Unit, failure.RetriesExhausted},
		"no error has no mark":          {nil, false, failure.Unit, failure.RetriesExhausted},
		"a mark":                        {inner, true, failure.Transient, failure.NotFound},
		"a mark under a wrap":           {fmt.Errorf("read: %w", inner), true, failure.Transient, failure.NotFound},
		"a mark among joined errors":    {errors.Join(cause, inner), true, failure.Transient, failure.NotFound},
		"a wider mark over another one": {failure.Errorf(failure.Job, failure.Denied, "stop: %w", inner), true, failure.Job, failure.Denied},
		"nil, marked, is still nil":     {failure.New(failure.Job, failure.Denied, nil), false, failure.Unit, failure.RetriesExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			scope, reason := failure.Of(c.err)
			if scope != c.scope || reason != c.reason || failure.Marked(c.err) != c.marked {
				t.Errorf("scope %d, %s, marked %v", scope, reason, failure.Marked(c.err))
			}
			for s := failure.Transient; s <= failure.Job; s++ {
				if got := failure.Is(c.err, s); got != (c.marked && s == c.scope) {
					t.Errorf("is %d: %v", s, got)
				}
			}
		})
	}
	if err := failure.Errorf(failure.Job, failure.Denied, "stop: %w", inner); !errors.Is(err, cause) || err.Error() != "stop: cause" {
		t.Errorf("a mark hides its cause: %v", err)
	}
}
