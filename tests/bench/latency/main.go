// Latency measures how long after it was put an object's row is in the sink: a
// stack of template.yaml on the endpoint, whose bucket tells the intake, whose
// reader writes to S3. It puts small objects at a rate and looks for their rows
// ten times a second, so what it finds is up to a tenth of a second too long.
//
//	localstack/endpoint run go run ./tests/bench/latency -rate 20 -window 0
//
// It ends with the invocations that a thousand objects took. With a window the
// intake's queue is polled here, since the endpoint's mapping knows none.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spate-go/spate/tests/lambdakit"
)

// options are those of the command line.
type options struct {
	rate     float64       // objects a second
	duration time.Duration // of putting them
	window   int           // seconds that the intake gathers
}

func main() {
	var o options
	flag.Float64Var(&o.rate, "rate", 20, "objects `a second`")
	flag.DurationVar(&o.duration, "for", 30*time.Second, "for how long they are put")
	flag.IntVar(&o.window, "window", 0, "BatchingWindow of the stack, in `seconds`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "latency:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, o options) error {
	b, err := deploy(ctx, o)
	if err != nil {
		return err
	}
	defer b.delete()
	stop, err := b.polled(ctx, time.Duration(o.window)*time.Second)
	if err != nil {
		return err
	}
	defer stop()
	if _, err := b.took(ctx, 1, 2*time.Second); err != nil { // what starts up, starts up
		return err
	}
	before, err := b.invocations(ctx)
	if err != nil {
		return err
	}
	took, err := b.took(ctx, o.rate, o.duration)
	if err != nil {
		return err
	}
	after, err := b.invocations(ctx)
	if err != nil {
		return err
	}
	slices.Sort(took)
	at := func(q float64) time.Duration {
		return took[min(int(q*float64(len(took))), len(took)-1)].Round(time.Millisecond)
	}
	fmt.Printf("%g/s for %v, window %d s: %d objects, median %v, 99 of 100 within %v, the longest %v\n",
		o.rate, o.duration, o.window, len(took), at(0.5), at(0.99), at(1))
	thousand := 1000 / float64(len(took))
	fmt.Printf("a thousand objects: %.0f invocations of the intake, %.0f of the reader\n",
		float64(after.intake-before.intake)*thousand, float64(after.reader-before.reader)*thousand)
	return nil
}

// bench is a stack and the bucket that tells it.
type bench struct {
	name, source, output string // stack, bucket, bucket/prefix of the rows
	queue                string // URL of the intake's
	config               aws.Config
	s3                   *s3.Client
	puts                 int
}

func deploy(ctx context.Context, o options) (*bench, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	name := "latency-" + strings.ToLower(rand.Text()[:8])
	b := &bench{name: name, source: name + "-in", config: cfg, s3: s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })}
	if _, err := b.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &b.source}); err != nil {
		return nil, err
	}
	pipeline, err := os.CreateTemp("", "latency-*.yaml")
	if err != nil {
		return nil, err
	}
	defer os.Remove(pipeline.Name())
	_, err = pipeline.WriteString(`pipeline: {name: latency}
source: {s3: {url: "${SOURCE_URL}"}}
feed: {sqs: {queue_url: "${FEED_QUEUE_URL:-}"}}
framing: {ndjson: {}}
sink: {s3: {url: "${OUTPUT_URL}"}}
`)
	if err := errors.Join(err, pipeline.Close()); err != nil {
		return nil, err
	}
	if _, err := run(ctx, "PIPELINE="+pipeline.Name(), "localstack/stack", "deploy", name, "SourceBucket="+b.source,
		fmt.Sprintf("BatchingWindow=%d", o.window), "ReaderTimeout=60", "MaximumConcurrency=16"); err != nil {
		return nil, err
	}
	out, err := run(ctx, "", "localstack/stack", "outputs", name)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), "="); key {
		case "OutputUrl":
			b.output = strings.TrimPrefix(value, "s3://")
		case "IntakeQueueUrl":
			b.queue = value
		}
	}
	dir, err := os.MkdirTemp("", "latency")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	spate := filepath.Join(dir, "spate")
	if _, err := run(ctx, "CGO_ENABLED=0", "go", "build", "-o", spate, "./cmd/spate"); err != nil {
		return nil, err
	}
	_, err = run(ctx, "", spate, "bucket", "connect", "--stack", name, "--notice", "0s")
	return b, err
}

// polled has the intake's queue polled with a window, until stop is called.
func (b *bench) polled(ctx context.Context, window time.Duration) (stop func(), err error) {
	if window == 0 {
		return func() {}, nil
	}
	g, err := b.gather(ctx, b.queue, window)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := g.run(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "latency:", err)
		}
	}()
	return func() { cancel(); <-ended }, nil
}

func (b *bench) delete() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := run(ctx, "", "localstack/stack", "delete", b.name); err != nil {
		fmt.Fprintln(os.Stderr, "latency:", err)
	}
}

// run runs a command and returns what it prints.
func run(ctx context.Context, env string, command ...string) (string, error) {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Env = append(os.Environ(), env)
	out, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", c, err, out)
	}
	return string(out), nil
}

// logDelay is how long after an invocation its lines are there.
const logDelay = 5 * time.Second

// counts are invocations.
type counts struct{ intake, reader int }

func (b *bench) invocations(ctx context.Context) (n counts, err error) {
	time.Sleep(logDelay)
	for function, f := range map[string]struct {
		line string
		n    *int
	}{"intake": {"events taken in", &n.intake}, "reader": {"outcome", &n.reader}} {
		lines, err := lambdakit.LogLines(ctx, b.config, os.Getenv("AWS_ENDPOINT_URL"), "/aws/lambda/"+b.name+"-"+function)
		if err != nil {
			return n, err
		}
		for _, l := range lines {
			if strings.Contains(l, f.line) {
				*f.n++
			}
		}
	}
	return n, nil
}
