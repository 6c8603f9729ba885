package control

import (
	"time"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// Selection says what one job reads, in place of what the pipeline file says of
// its source: a stack runs many jobs with one file. Empty fields are as in the
// file.
type Selection struct {
	URL     string   `json:"url,omitempty"`
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	// StartAfter is the key that the listing begins after.
	StartAfter string `json:"start_after,omitempty"`
	// Before leaves out what was last modified at that time or later: that is
	// for a continuous job.
	Before time.Time `json:"before,omitzero"`
}

// ListRequest is the lister's event. With a run it continues listing that run;
// without one it starts the job. A start that has a token may leave out the
// job, which then is the one that the pipeline file names.
type ListRequest struct {
	Job string `json:"job"`
	Run int    `json:"run,omitempty"`

	Selection
	// Token identifies a start: one that is repeated with it is the same start.
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

// FinalizeRequest is the finalizer's event: a job whose end may be proved. In
// any other event, such as the schedule's, Job is empty: then all live jobs are
// looked at.
type FinalizeRequest struct {
	Job string `json:"job"`
}

// IntakeRequest is the intake's event when it is not a batch of notifications.
// An empty one asks which job the intake writes to.
type IntakeRequest struct {
	// Open begins that job with Cutoff, unless it is running; Token is that of
	// ledger.Start.
	Open   bool      `json:"open,omitempty"`
	Token  string    `json:"token,omitempty"`
	Cutoff time.Time `json:"cutoff,omitzero"`
	// Objects are to be read as if a notification had named them.
	Objects []Named `json:"objects,omitempty"`
}

// Named is an object that somebody names. What is left out is looked up in the
// bucket.
type Named struct {
	Key     string `json:"key"`
	Size    *int64 `json:"size,omitempty"`
	ETag    string `json:"etag,omitempty"`
	Version string `json:"version,omitempty"`
}

// IntakeAnswer is what became of an IntakeRequest.
type IntakeAnswer struct {
	Job string `json:"job"`
	// Run is 0 where the job has never been opened; then all below is empty.
	Run    int          `json:"run,omitempty"`
	State  ledger.State `json:"state,omitempty"`
	Cutoff time.Time    `json:"cutoff,omitzero"`
	// Bucket and Prefix are where the intake takes notifications from.
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix"`
	// Refused is why nothing is taken in: the stack's reports would be read again.
	Refused string  `json:"refused,omitempty"`
	Taken   []Taken `json:"taken,omitempty"` // one for each of the request's objects
}

// Taken is what became of a named object.
type Taken struct {
	Key  string  `json:"key"`
	Unit unit.ID `json:"unit,omitempty"` // the one that it went into
	// Ignored is why it is not read, a reason of events: repeated, excluded and
	// the like.
	Ignored string `json:"ignored,omitempty"`
	// Error is why it could not be taken.
	Error string `json:"error,omitempty"`
}
