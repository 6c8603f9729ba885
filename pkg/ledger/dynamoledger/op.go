package dynamoledger

import (
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
)

// op is what is done, and with what: with a job, of whose Ref only the name is
// set, or with a unit of it. Errors begin with it, and only they put it into
// words.
type op struct {
	verb string // without a job, all there is to say
	ledger.Ref
}

func onJob(verb, job string) op { return op{verb, ledger.Ref{Job: job}} }

func (do op) String() string {
	switch {
	case do.Job == "":
		return do.verb
	case do.ID == "":
		return do.verb + " job " + do.Job
	}
	return fmt.Sprintf("%s unit %s of job %s", do.verb, do.ID, do.Job)
}
