package stdoutsink_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/sinktest"
	"github.com/spate-go/spate/pkg/sink/stdoutsink"
)

// closed returns a pipe that nobody reads.
func closed(t *testing.T) *os.File {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	r.Close()
	return w
}

func TestStdout(t *testing.T) {
	sinktest.Run(t, sinktest.Harness{
		Dedup: true,
		New: func(*testing.T) (sink.Sink, func() []byte) {
			var out bytes.Buffer
			return stdoutsink.New(&out), out.Bytes
		},
		Broken: func(t *testing.T) sink.Sink { return stdoutsink.New(closed(t)) },
	})
	t.Run("a closed pipe is named", func(t *testing.T) {
		err := stdoutsink.New(closed(t)).Write(t.Context(), &sink.Block{Token: "a", Data: []byte("a\n")})
		if !failure.Is(err, failure.Job) || !strings.Contains(err.Error(), "standard output was closed") {
			t.Fatal(err)
		}
	})
}
