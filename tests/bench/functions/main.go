// Functions measures what a reader's function costs beside its work: the time
// from the start of its process until it asks for its first event, and that for
// which it handles a unit that is done already. The binary is a release build, its
// Runtime API is here, and table and queue are on the endpoint.
//
//	localstack/endpoint run go run ./tests/bench/functions
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spate-go/spate/tests/lambdakit"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	runs := flag.Int("runs", 50, "measurements of each figure")
	flag.Parse()
	if err := measure(ctx, os.Stdout, os.Getenv("AWS_ENDPOINT_URL"), *runs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, out io.Writer, endpoint string, runs int) error {
	if endpoint == "" {
		return errors.New("AWS_ENDPOINT_URL is not set: run it by localstack/endpoint run")
	}
	dir, err := os.MkdirTemp("", "spate-functions-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	stack, err := lambdakit.NewStack(ctx, endpoint, lambdakit.StackOptions{})
	if err != nil {
		return err
	}
	b := bench{stack, dir}
	if err := b.finish(ctx, runs); err != nil {
		return err
	}
	reader, err := b.deploy(ctx, "reader", nil)
	if err != nil {
		return err
	}
	defer reader.Close()
	boots, err := boot(ctx, reader, runs)
	if err != nil {
		return err
	}
	handled, err := b.drain(ctx, reader, runs)
	if err != nil {
		return err
	}
	if n := strings.Count(reader.Logs(), `"outcome":"skipped"`); n != runs {
		return fmt.Errorf("%d of %d units were done already:\n%s", n, runs, reader.Logs())
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "init          %s\nalready done  %s\nload          %s", spread(boots), spread(handled), load)
	return err
}

// boot starts the function so many times.
func boot(ctx context.Context, f *lambdakit.Function, runs int) ([]time.Duration, error) {
	var all []time.Duration
	for range runs {
		f.Kill()
		o, err := well(f.Invoke(ctx, []byte(`{"Records":[]}`)))
		if err != nil {
			return nil, err
		}
		all = append(all, o.Boot)
	}
	return all, nil
}

// well takes an outcome that is not as wished for an error.
func well(o lambdakit.Outcome, err error) (lambdakit.Outcome, error) {
	if err == nil && !o.OK() {
		err = fmt.Errorf("an invocation failed: %+v", o)
	}
	return o, err
}

func spread(d []time.Duration) string {
	slices.Sort(d)
	at := func(percent int) time.Duration { return d[(len(d)-1)*percent/100].Round(10 * time.Microsecond) }
	return fmt.Sprintf("median %v, least %v, nine of ten within %v, of %d", at(50), at(0), at(90), len(d))
}
