// Package stdoutsink writes rows to standard output, whole blocks at a time.
//
// It is not a log: nothing else may write to the same output. A program that
// wants a closed pipe reported as an error must ignore SIGPIPE, which otherwise
// ends it at the first write.
package stdoutsink

import (
	"io"

	"github.com/spate-go/spate/pkg/sink"
)

// New returns a sink over w, which Close leaves open.
func New(w io.Writer) *sink.Stream { return sink.NewStream("standard output", w) }
