// Extending is spate with a framer and a sink of its own: framer.go and sink.go,
// each as short as the contract allows. Decode, chain and all else are the
// pipeline file's.
//
//	ROWS_URL=http://127.0.0.1:8080/ go run ./examples/extending run pipeline.yaml
package main

import (
	"os"

	"github.com/spate-go/spate/pkg/app"
)

func main() { app.Main(pipeline()) }

func pipeline() app.Pipeline {
	return app.Pipeline{
		Framer: newLengthFramer,
		Sink:   &postSink{url: os.Getenv("ROWS_URL")},
	}
}
