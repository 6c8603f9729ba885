// Package spatetest is for tests of pipelines written in Go.
//
//   - [Chain] runs a chain over records and returns its rows: what most tests
//     want.
//   - [Start] runs a chain and a sink as a job does, over objects that the test
//     pushes while it runs. Feed, ledger, reader and pipe are those of a job in
//     one process.
//   - [Capture] is a sink that keeps its rows and holds its caller to the
//     contract; package capturesink, whose sink it is, has its scripts.
//   - [Feed] delivers as a bad day does: twice, at the same time, without the ack.
//   - [Faults] fails the n-th call of an operation, applied or not.
//
// A whole pipeline file is run by app.Run, with Pipeline.Source and
// Pipeline.Sink in place of what it names: a memobject.Bucket and a Capture.
//
// It is not a mock library: nothing here expects calls. A test scripts what the
// world does, and checks the outcome.
package spatetest

import (
	"testing"

	"github.com/spate-go/spate/pkg/sink/capturesink"
)

// Capture returns a sink that keeps its rows in memory. A call that breaks the
// contract of a sink fails the test, whether or not the test looks for it.
func Capture(t testing.TB, o capturesink.Options) *capturesink.Sink {
	if o.Violation == nil {
		o.Violation = t.Errorf
	}
	return capturesink.New(o)
}
