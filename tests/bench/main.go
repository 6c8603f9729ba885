// Bench measures whole jobs: it generates data, serves it from an S3 server on
// this machine and runs the command line on it, as a user would, several times.
// With a baseline command the two take turns, and what counts is the ratio of
// each pair: a machine's speed drifts, the ratio much less.
//
// It is not a profile of a part: parts have benchmarks beside their code. A run
// whose report does not hold every record of the data set is an error, so a
// number here is always that of a complete job.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// options are the command line.
type options struct {
	cases, modes string
	runs         int
	scale        float64
	cache        string
	server       string
	endpoint     string
	baseline     string
	timeout      time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.cases, "cases", "plain gz zst small", "data sets to read")
	flag.StringVar(&o.modes, "modes", "", "what to do with a record: names of tests/bench/*.yaml; empty: all")
	flag.IntVar(&o.runs, "runs", 5, "counted runs of each command; one more goes before them")
	flag.Float64Var(&o.scale, "scale", 1, "size of the data: 1 is a GiB a set")
	flag.StringVar(&o.cache, "cache", ".cache/bench", "where the data is kept")
	flag.StringVar(&o.server, "server", "", "program of the S3 server")
	flag.StringVar(&o.endpoint, "endpoint", "", "an S3 endpoint that runs already, with the data in its bucket bench")
	flag.StringVar(&o.baseline, "baseline", "", "another command, with {case}, {mode} and {endpoint}")
	flag.DurationVar(&o.timeout, "timeout", 10*time.Minute, "bound on one run")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	dir, err := filepath.Abs(filepath.Join(o.cache, fmt.Sprintf("x%g", o.scale)))
	if err != nil {
		return err
	}
	sets, err := generate(dir, o.scale)
	if err != nil {
		return fmt.Errorf("generate data: %w", err)
	}
	if o.endpoint == "" {
		s, err := serve(ctx, o.server, dir)
		if err != nil {
			return err
		}
		defer s.stop()
		o.endpoint = s.url
	}
	env := append(os.Environ(),
		"AWS_ACCESS_KEY_ID="+accessKey, "AWS_SECRET_ACCESS_KEY="+secretKey,
		"AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true", "BENCH_ENDPOINT="+o.endpoint)

	fmt.Print(heading(o.baseline != ""))
	modes := strings.Fields(o.modes)
	if len(modes) == 0 {
		if modes, err = allModes(); err != nil {
			return err
		}
	}
	for _, mode := range modes {
		program, err := build(ctx, mode, o.cache)
		if err != nil {
			return err
		}
		for _, name := range strings.Fields(o.cases) {
			set, ok := sets[name]
			if !ok {
				return fmt.Errorf("no data set %s: have %s", name, strings.Join(caseNames, ", "))
			}
			p := pair{
				ours:    ours(program, mode, name, set, dir, env),
				runs:    o.runs,
				timeout: o.timeout,
			}
			if o.baseline != "" {
				p.baseline = baseline(o.baseline, mode, name, o.endpoint, env)
			}
			r, err := p.measure(ctx)
			if err != nil {
				return fmt.Errorf("%s %s: %w", name, mode, err)
			}
			fmt.Print(r.row(name, mode, set))
		}
	}
	return nil
}
