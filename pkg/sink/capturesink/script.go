package capturesink

import (
	"github.com/spate-go/spate/pkg/failure"
)

// Outcome is what becomes of a call.
type Outcome int

// The outcomes.
const (
	OK        Outcome = iota // applied and acked
	Retryable                // not applied; a transient error
	Lost                     // applied, but the answer is a transient error
	Refused                  // not applied; these rows are refused
	Fatal                    // not applied; no call could succeed
	Down                     // not applied; the sink is down, retries and all
)

func (o Outcome) applies() bool { return o == OK || o == Lost }

func (o Outcome) err(c Call) error {
	where := placeOf(&c.Block)
	switch o {
	case Retryable:
		return failure.Errorf(failure.Transient, failure.RetriesExhausted, "%s %s: scripted to fail once more", c.Op, where)
	case Lost:
		return failure.Errorf(failure.Transient, failure.RetriesExhausted, "%s %s: scripted to lose its answer", c.Op, where)
	case Refused:
		return failure.Errorf(failure.Unit, failure.SinkRejected, "%s %s: scripted to be refused", c.Op, where)
	case Fatal:
		return failure.Errorf(failure.Job, failure.Denied, "%s %s: scripted to be denied", c.Op, where)
	case Down:
		return failure.Errorf(failure.Job, failure.SinkDown, "%s %s: scripted to be down", c.Op, where)
	case OK:
	}
	return nil
}

// Script decides call n, counted from 1 over writes and commits in the order of
// their starts. It may wait, and may be called concurrently.
type Script func(n int, c Call) Outcome

// Steps plays outcomes in order, one a call, and is OK from then on.
func Steps(outcomes ...Outcome) Script {
	return func(n int, _ Call) Outcome {
		if n > len(outcomes) {
			return OK
		}
		return outcomes[n-1]
	}
}

// Always gives every call the same outcome.
func Always(o Outcome) Script { return func(int, Call) Outcome { return o } }

// Once lets after calls pass, gives the next one o, and is OK again.
func Once(after int, o Outcome) Script {
	return func(n int, _ Call) Outcome {
		if n == after+1 {
			return o
		}
		return OK
	}
}

// After lets n calls pass and gives every later one o.
func After(n int, o Outcome) Script {
	return func(i int, _ Call) Outcome {
		if i > n {
			return o
		}
		return OK
	}
}
