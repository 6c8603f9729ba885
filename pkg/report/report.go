// Package report is a job's verdict in a form that people and scripts read, and
// the place where it is written. It gathers nothing itself: whoever makes a
// report asks the ledger.
//
// The law: counts are complete, lists are bounded. However many units a job did
// not read, its report names no more than fit, and says how many it leaves out.
//
// Field names are a contract: see CHANGELOG.md before changing one.
package report

import (
	"encoding/base64"
	"time"
	"unicode/utf8"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/unit"
)

// State of a reported job: a job's state, or why it has none yet.
type State string

// The states.
const (
	Running     State = "running" // of a continuous job, which has no end by itself
	Completed   State = "completed"
	Failed      State = "failed"
	Cancelled   State = "cancelled"
	Interrupted State = "interrupted" // stopped before its end; nothing is wrong with it
	Halted      State = "halted"      // a fault of identity or configuration stopped it
)

// Report says what a job did and, exactly, what it did not do.
type Report struct {
	Job string `json:"job"`
	Run int    `json:"run"`
	// Generation tells the verdicts of one run apart: it rises when a unit that
	// was given up is taken up again.
	Generation int   `json:"generation,omitempty"`
	State      State `json:"state"`
	// Continuous: the job has no plan and no listing, only what events
	// announced. Figures of done units are of those that the ledger still
	// keeps; Objects.Done is of the whole run, as far as its counters know.
	Continuous bool      `json:"continuous,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	Started    time.Time `json:"started_at"`
	Ended      time.Time `json:"ended_at"`
	Units      Units     `json:"units"`
	Objects    Objects   `json:"objects"`
	Records    Records   `json:"records"`
	Sinks      Sinks     `json:"sinks"`
	Bytes      Bytes     `json:"bytes"`
	// Dead are the units given up, Missing those that the job ended without: the
	// first of them, where there are too many to name.
	Dead      []Dead    `json:"dead"`
	Missing   []Missing `json:"missing"`
	Omitted   Omitted   `json:"omitted,omitzero"`
	Pipelines []string  `json:"pipelines"`      // digests of chain and sinks that worked on it
	Cost      *Cost     `json:"cost,omitempty"` // nil where it ran on no functions

	// Callback is the token of the Step Functions task that waits for the job's
	// end, for whoever announces it. It is a secret, and in no report.
	Callback string `json:"-"`
}

// Omitted counts units that Dead and Missing leave out.
type Omitted struct {
	Dead    int `json:"dead"`
	Missing int `json:"missing"`
}

// Cost is what the job took on Lambda, the units that are not done included:
// memory and time as they were measured, requests and dollars reckoned.
type Cost struct {
	GBSeconds float64 `json:"lambda_gb_seconds"`
	Requests  int64   `json:"requests"` // of all services
	Dollars   float64 `json:"dollars"`
}

// Units counts units.
type Units struct {
	Planned int `json:"planned"`
	Done    int `json:"done"`
	Dead    int `json:"dead"`
	Missing int `json:"missing"`
	// Unlisted counts the units that earlier runs of the job read, wholly or in
	// part, and that this run's listing no longer contains: their objects are
	// gone, or share a unit with others now. Rows of the latter are in the sink
	// once for each of the two units. It is 0 unless the listing has ended.
	Unlisted int `json:"unlisted"`
}

// Objects counts objects.
type Objects struct {
	Listed int64 `json:"listed"` // all that the listing showed
	Done   int64 `json:"done"`
	Failed int64 `json:"failed"`
	// Overwritten counts those that events announced and that a newer version
	// replaced before they were read to their end. Each range of a cut one
	// counts.
	Overwritten int64   `json:"overwritten,omitempty"`
	Skipped     Skipped `json:"skipped"`
}

// Skipped counts listed objects that hold no work.
type Skipped struct {
	Empty     int64 `json:"empty"`
	Directory int64 `json:"directory"`
	Archived  int64 `json:"archived"`
	Excluded  int64 `json:"excluded"`
}

// Records counts records of done units: in + expanded = out + filtered +
// rejected, however often a unit was delivered.
type Records struct {
	In       int64 `json:"in"`
	Out      int64 `json:"out"`
	Filtered int64 `json:"filtered"`
	Rejected int64 `json:"rejected"`
	Expanded int64 `json:"expanded"`
}

// Sinks are the sinks' counts by name.
type Sinks map[string]Sink

// Sink counts what one sink acked.
type Sink struct {
	Records int64 `json:"records"`
	Blocks  int64 `json:"blocks"`
	Bytes   int64 `json:"bytes"`
}

// Bytes counts bytes of done units.
type Bytes struct {
	Read    int64 `json:"read"`    // from the store
	Decoded int64 `json:"decoded"` // after decompression
}

// Dead is a unit given up.
type Dead struct {
	Unit     unit.ID        `json:"unit"`
	Objects  []Object       `json:"objects"` // the bad ones only
	Reason   failure.Reason `json:"reason"`
	Detail   string         `json:"detail"`
	Attempts int            `json:"attempts"`
	// Record is the index of the first record that is not in the sinks, where
	// one is to blame.
	Record *int64 `json:"record,omitempty"`
}

// Object names an object at its version and, where that is known of it alone,
// what is bad about it.
type Object struct {
	Key string `json:"key"`
	// KeyBase64 is the key where it is not UTF-8 and JSON cannot say it.
	KeyBase64 string         `json:"key_base64,omitempty"`
	ETag      string         `json:"etag,omitempty"`
	Version   string         `json:"version,omitempty"`
	Reason    failure.Reason `json:"reason,omitempty"`
	Detail    string         `json:"detail,omitempty"`
	Record    *int64         `json:"record,omitempty"` // as in Dead
}

// NewObject names o.
func NewObject(o unit.Object) Object {
	named := Object{Key: o.Key, ETag: o.ETag, Version: o.Version}
	if !utf8.ValidString(o.Key) {
		named.KeyBase64 = base64.StdEncoding.EncodeToString([]byte(o.Key))
	}
	return named
}

// Missing is a unit that is neither done nor dead.
type Missing struct {
	Unit   unit.ID        `json:"unit"`
	Key    string         `json:"key"` // of its first object
	Reason failure.Reason `json:"reason"`
}
