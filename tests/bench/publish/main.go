// Publish measures how fast the lister publishes: the real one, on its ledger
// and feed in AWS, against a bare loop that makes the very calls of the SDK that
// the lister made. The two take turns, and what counts is the ratio of each
// pair: a machine's speed drifts, the ratio much less.
//
// It lists no S3: the bucket is made up, so that nothing else is measured. Its
// law is that of the other benchmark: a run that does not leave every unit in
// the table and in the queue is an error, so a number here is always that of a
// complete listing.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"slices"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/spate-go/spate/pkg/awsconfig"
	"github.com/spate-go/spate/tests/lambdakit"
)

func main() {
	objects := flag.Int("objects", 64_000, "objects of 1 MiB in the bucket, 64 to a unit")
	runs := flag.Int("runs", 5, "counted runs of each; one more goes before them")
	profile := flag.String("profile", "", "write a CPU profile of the lister's runs to this file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := bench{endpoint: os.Getenv("AWS_ENDPOINT_URL"), objects: *objects, runs: *runs}
	cfg, err := awsconfig.Load(ctx, "", nil)
	if b.config = cfg; err == nil {
		err = b.profiled(*profile, func() error { return b.run(ctx) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "publish:", err)
		stop()
		os.Exit(1)
	}
}

// bench is one measurement.
type bench struct {
	endpoint      string
	config        aws.Config
	objects, runs int
}

// usage is what one run took.
type usage struct{ wall, cpu time.Duration }

func (b bench) run(ctx context.Context) error {
	if b.endpoint == "" {
		return fmt.Errorf("AWS_ENDPOINT_URL is not set: run it by localstack/endpoint run")
	}
	fmt.Printf("%-6s %10s %10s %10s %12s\n", "", "units", "wall s", "units/s", "CPU s/1000")
	var walls, cpus []float64
	var units int
	var listers, bares []usage
	for i := range b.runs + 1 {
		ours, calls, err := b.lister(ctx)
		if err != nil {
			return fmt.Errorf("lister: %w", err)
		}
		bare, err := b.bare(ctx, calls)
		if err != nil {
			return fmt.Errorf("bare loop: %w", err)
		}
		if i == 0 { // connections and code are warm for both now
			continue
		}
		units = calls.units()
		listers, bares = append(listers, ours), append(bares, bare)
		walls = append(walls, bare.wall.Seconds()/ours.wall.Seconds())
		cpus = append(cpus, bare.cpu.Seconds()/ours.cpu.Seconds())
	}
	row("lister", units, listers)
	row("bare", units, bares)
	fmt.Printf("the lister publishes at %.0f %% of the bare loop's speed, of whose CPU it takes %.2f times as much (medians of %d pairs)\n",
		100*median(walls), 1/median(cpus), b.runs)
	return nil
}

func row(name string, units int, all []usage) {
	var walls, cpus []float64
	for _, u := range all {
		walls, cpus = append(walls, u.wall.Seconds()), append(cpus, u.cpu.Seconds())
	}
	n := float64(units)
	fmt.Printf("%-6s %10d %10.2f %10.0f %12.3f\n", name, units, median(walls), n/median(walls), median(cpus)/n*1000)
}

func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	if len(v) == 0 {
		return 0
	}
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// measure times work, from a heap that is clean.
func measure(work func() error) (u usage, err error) {
	runtime.GC()
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		return u, err
	}
	began := time.Now()
	err = work()
	u.wall = time.Since(began)
	if e := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err == nil {
		err = e
	}
	u.cpu = spent(after) - spent(before)
	return u, err
}

func spent(r syscall.Rusage) time.Duration {
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// stack makes a table and a queue that are new, and clients as the lister has
// them.
func (b bench) stack(ctx context.Context) (*lambdakit.Stack, error) {
	s, err := lambdakit.NewStack(ctx, b.endpoint, lambdakit.StackOptions{})
	if err != nil {
		return nil, err
	}
	s.Dynamo, s.SQS = dynamodb.NewFromConfig(b.config), sqs.NewFromConfig(b.config)
	return s, nil
}

func (b bench) profiled(path string, work func() error) error {
	if path == "" {
		return work()
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}()
	return work()
}
