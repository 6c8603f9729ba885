// Package function makes the functions of a stack out of a pipeline: lister,
// intake, reader and finalizer. Each is configured by the pipeline file that lies beside
// its binary and by its environment, opens only what it needs before its first
// event, and hands every event to a protocol of a package of its own.
//
// It decides nothing about a job. Its law: what can be known to be wrong is said
// while the function starts, so that it shows on its first event and not in the
// middle of a job; and no state crosses events but clients, and caches of what
// cannot change.
package function

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/spate-go/spate/pkg/app"
)

// Main is app.Main, and where Lambda runs the program, Reader: a pipeline written
// in Go is one program for both. It exits.
func Main(p app.Pipeline) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		Reader(p)
	}
	app.Main(p)
}

// Lister serves the function that lists. It does not return.
func Lister(p app.Pipeline) { serve(p, newLister) }

// Intake serves the function that takes in what buckets announce. It does not
// return.
func Intake(p app.Pipeline) { serve(p, newIntake) }

// Reader serves the function that reads units. It does not return.
func Reader(p app.Pipeline) { serve(p, newReader) }

// Finalizer serves the function that ends jobs. It does not return.
func Finalizer(p app.Pipeline) { serve(p, newFinalizer) }

// setup is what every function is made from.
type setup struct {
	env      environment
	config   app.Config
	pipeline app.Pipeline
	log      *slog.Logger
}

func serve[H any](p app.Pipeline, open func(context.Context, setup) (H, error)) {
	log := slog.New(lambdacontext.NewLogHandler())
	// What libraries log by default goes the same way.
	slog.SetDefault(log)
	handle, err := open(context.Background(), setup{env: os.LookupEnv, pipeline: p, log: log})
	if err != nil {
		// The platform starts a function again for each event. Each attempt says
		// this to the log, and to whoever sent the event.
		log.Error("function cannot start", "error", err)
		if err := cannotStart(context.Background(), err); err != nil {
			log.Warn("the platform does not take the cause", "error", err)
		}
		os.Exit(1)
	}
	lambda.Start(handle)
}

// cannotStart tells the platform why, which the library that serves events does
// not do.
func cannotStart(ctx context.Context, why error) error {
	body, err := json.Marshal(messages.InvokeResponse_Error{Message: "function cannot start: " + why.Error(), Type: "CannotStart"})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second) // it is on the same host
	defer cancel()
	to := "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/init/error"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// load reads the pipeline file into s.
func (s *setup) load() error {
	path, err := s.env.pipeline()
	if err != nil {
		return err
	}
	s.config, err = app.Load(path, nil, s.env)
	return err
}
