package ledger

import (
	"errors"

	"github.com/spate-go/spate/pkg/failure"
)

// Final reports whether err, of a call to a ledger or to a feed, is an answer
// rather than a fault: the same call would be answered alike. Everything else
// may be called again, for those calls may be repeated.
func Final(err error) bool {
	for _, answer := range []error{ErrNoJob, ErrNoUnit, ErrActive, ErrFenced, ErrState} {
		if errors.Is(err, answer) {
			return true
		}
	}
	return failure.Is(err, failure.Job)
}
