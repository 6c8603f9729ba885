// Clickhouse measures what rows for a table cost: it reads the benchmark's
// records from a directory or an S3 prefix, makes a RowBinary row of ten columns
// of each, and throws the rows away.
//
//	go run ./tests/bench/clickhouse -mode config -url file:///data/plain/
//	go run ./tests/bench/clickhouse -mode typed -url s3://bench/plain/ -endpoint http://127.0.0.1:8334
//
// config is a pipeline file's way: ten members of each record are looked up and
// made columns of. typed decodes each record into a struct that has a field for
// each column, and encodes that. Both check the whole record. It prints the
// mode, seconds, CPU seconds, peak MiB, records and bytes of rows; -cpuprofile
// writes a profile.
//
// It is a whole job, and no measure of the server: nothing is sent.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime/pprof"
	"syscall"
	"time"

	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/chain"
)

func main() {
	var o options
	flag.StringVar(&o.mode, "mode", "config", "config or typed")
	flag.StringVar(&o.url, "url", "", "where the records are: file:///dir/ or s3://bucket/prefix/")
	flag.StringVar(&o.endpoint, "endpoint", "", "of an S3 server that is not Amazon's")
	flag.IntVar(&o.threads, "threads", 0, "decoding goroutines; 0: the cores")
	flag.StringVar(&o.profile, "cpuprofile", "", "file for a profile")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "clickhouse:", err)
		os.Exit(1)
	}
}

type options struct {
	mode, url, endpoint, profile string
	threads                      int
}

func run(o options) (err error) {
	var c chain.Constructor
	switch o.mode {
	case "config":
		c, err = fromConfig()
	case "typed":
		c, err = typed()
	default:
		err = fmt.Errorf("no mode %q: want config or typed", o.mode)
	}
	if err != nil {
		return err
	}
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	return measure(o, c)
}

func measure(o options, c chain.Constructor) error {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	pathStyle := true
	began := time.Now()
	r, err := app.Run(context.Background(), app.Config{
		Pipeline: app.PipelineConfig{Name: "bench", Threads: o.threads},
		Source:   app.SourceConfig{S3: &app.S3Config{URL: o.url, Endpoint: o.endpoint, PathStyle: &pathStyle}},
		Feed:     &app.FeedConfig{Memory: &app.MemoryFeedConfig{}},
		Framing:  &app.FramingConfig{NDJSON: &app.RecordConfig{}},
		Sink:     &app.SinkConfig{Blackhole: &app.NoConfig{}},
	}, app.Pipeline{Chain: c})
	if err != nil {
		return err
	}
	if r.State != "completed" {
		return fmt.Errorf("the job is %s: %s", r.State, r.Reason)
	}
	wall := time.Since(began)
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return err
	}
	cpu := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	fmt.Printf("%s\t%.2f s\t%.2f CPU s\t%d MiB\t%d records\t%d bytes of rows\n",
		o.mode, wall.Seconds(), cpu.Seconds(), u.Maxrss>>10, r.Records.Out, r.Sinks["default"].Bytes)
	return nil
}
