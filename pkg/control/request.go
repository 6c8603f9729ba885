package control

import "github.com/spate-go/spate/pkg/ledger"

// Selection is what one of a stack's jobs is about, in place of what the pipeline
// file says of its source: a stack runs many jobs by one file. What is empty is
// as in the file.
type Selection struct {
	URL     string   `json:"url,omitempty"`
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	// StartAfter is the key that the listing begins after.
	StartAfter string `json:"start_after,omitempty"`
}

// ListRequest is the lister's event. With a run it goes on listing that run;
// without one it starts the job.
type ListRequest struct {
	Job string `json:"job"`
	Run int    `json:"run,omitempty"`

	Selection
	// Token makes a start that is repeated the same start.
	Token string `json:"token,omitempty"`
	// TaskToken is that of a Step Functions task that waits for the job's end.
	TaskToken string `json:"task_token,omitempty"`
	// Detach starts the job and leaves the listing to a request with its run, or
	// to the schedule.
	Detach bool `json:"detach,omitempty"`
}

// ListAnswer is what became of a ListRequest.
type ListAnswer struct {
	Job   string       `json:"job"`
	Run   int          `json:"run"`
	State ledger.State `json:"state"`
}

// FinalizeRequest is the finalizer's event: a job whose end may be proved. Of any
// other event, such as the schedule's, Job is empty: then all live jobs are looked
// at.
type FinalizeRequest struct {
	Job string `json:"job"`
}
