// Clickhouseload measures whole loads of a ClickHouse engine: what spate run takes
// to read NDJSON and insert it, against what the engine takes for the very same
// INSERTs sent from memory.
//
//	make build && examples/clickhouse/engine run go run ./tests/bench/clickhouseload
//
// The inserts are those of a run through a proxy that keeps them, and are sent as
// they came: the same statements, settings and bodies, compressed alike, in chunks
// where they came in chunks, two at a time. Each round then loads once and sends
// once, each into a new table; the medians count.
//
// Sending from memory costs its sender next to nothing, while a load reads,
// decodes and encodes too. Where engine and spate share their processors that
// shows: a load cannot take less than the CPU seconds of both divided by the
// cores. The last column is that bound, as a ratio: of what the engine took for
// the round's INSERTs from memory and spate for the load. It is there where
// the engine's process is known (-engine).
//
// How a load does that has processors of its own, as on a machine of its own, is
// seen by pinning, where the bound says nothing. What is left then is the start,
// until the first unit's block is whole, which counts for less with more -rows:
//
//	taskset -c 0 examples/clickhouse/engine start
//	eval "$(examples/clickhouse/engine env)"
//	taskset -c 1 go run ./tests/bench/clickhouseload
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

type bench struct {
	binary, url string
	rows, runs  int
	memory      string
	set         string
	engine      string // file with the engine's process
	dir         string // of the source
	bytes       int64  // in it
}

func main() {
	b := bench{url: os.Getenv("CLICKHOUSE_URL")}
	formats := flag.String("formats", "rowbinary,native", "of the inserts")
	compressions := flag.String("compressions", "none,lz4,zstd,gzip", "of the inserts")
	flag.StringVar(&b.binary, "spate", "bin/spate", "the binary")
	flag.StringVar(&b.memory, "memory", "512MiB", "pipeline.memory")
	flag.StringVar(&b.set, "set", "", "path=value of the pipeline file, several with spaces between")
	flag.StringVar(&b.engine, "engine", ".cache/clickhouse/pid", "file that has the number of the engine's process")
	flag.IntVar(&b.rows, "rows", 2_000_000, "to load")
	flag.IntVar(&b.runs, "runs", 3, "rounds, of which the median counts")
	flag.Parse()
	if err := b.all(context.Background(), strings.Split(*formats, ","), strings.Split(*compressions, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "clickhouseload:", err)
		os.Exit(1)
	}
}

func (b *bench) all(ctx context.Context, formats, compressions []string) (err error) {
	if b.url == "" {
		return errors.New("no engine: set CLICKHOUSE_URL, as examples/clickhouse/engine run does")
	}
	if b.dir, err = os.MkdirTemp("", "clickhouseload-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if b.bytes, err = generate(b.dir, b.rows); err != nil {
		return err
	}
	fmt.Printf("%d rows of 10 columns, %d MB of NDJSON\n", b.rows, b.bytes/1e6)
	fmt.Println("                                          load                     from memory")
	fmt.Println("format     compression  inserts  body      wall  spate    engine     wall    engine   ratio  bound")
	for _, format := range formats {
		for _, compression := range compressions {
			if err := b.one(ctx, format, compression); err != nil {
				return fmt.Errorf("%s, %s: %w", format, compression, err)
			}
		}
	}
	return nil
}

// one measures a format and a compression.
func (b *bench) one(ctx context.Context, format, compression string) error {
	k := newKeeper(b.url)
	defer k.close()
	if _, _, err := b.load(ctx, k.server.URL, format, compression); err != nil {
		return err
	}
	var rounds []round
	for range b.runs {
		r, err := b.round(ctx, k, format, compression)
		if err != nil {
			return err
		}
		rounds = append(rounds, r)
	}
	of := func(f func(round) float64) float64 { return median(rounds, f) }
	fmt.Printf("%-9s  %-11s  %7d  %4d MB  %4.2f s  %4.2f s  %4.2f s   %4.2f s  %4.2f s   %5.2f  %5.2f\n",
		format, compression, len(k.inserts), k.bytes()/1e6,
		of(func(r round) float64 { return r.load.wall }), of(func(r round) float64 { return r.spate }), of(func(r round) float64 { return r.load.engine }),
		of(func(r round) float64 { return r.send.wall }), of(func(r round) float64 { return r.send.engine }),
		of(func(r round) float64 { return r.load.wall / r.send.wall }), of(round.bound))
	return nil
}

// round is what a load took and what the same inserts took from memory, in
// seconds.
type round struct {
	load, send span
	spate      float64 // CPU seconds of spate in the load
}

// bound is the ratio that a load cannot be below on these processors.
func (r round) bound() float64 {
	return max(1, (r.send.engine+r.spate)/float64(runtime.NumCPU())/r.send.wall)
}

func (b *bench) round(ctx context.Context, k *keeper, format, compression string) (r round, err error) {
	if r.load, r.spate, err = b.load(ctx, b.url, format, compression); err != nil {
		return r, err
	}
	r.send, err = b.send(ctx, k)
	return r, err
}

func median(rounds []round, of func(round) float64) float64 {
	var all []float64
	for _, r := range rounds {
		all = append(all, of(r))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// load is one run of spate into a new table.
func (b *bench) load(ctx context.Context, url, format, compression string) (took span, cpu float64, err error) {
	if err := remake(ctx, b.url); err != nil {
		return took, 0, err
	}
	file := filepath.Join(b.dir, "pipeline.yaml")
	text := fmt.Sprintf(`pipeline: {name: load, memory: %s}
source: {s3: {url: "file://%s/", include: ["*.ndjson"]}}
feed: {memory: {}}
framing: {ndjson: {}}
decode: {json: {on_error: fail}}
sink: {clickhouse: {url: %q, table: %s, format: %s, compression: %s}}
`, b.memory, b.dir, url, table, format, compression)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return took, 0, err
	}
	args := []string{"run", "--progress", "none", file}
	for _, s := range strings.Fields(b.set) {
		args = append(args, "--set", s)
	}
	cmd := exec.CommandContext(ctx, b.binary, args...)
	var out []byte
	took, err = b.timed(func() (err error) {
		out, err = cmd.CombinedOutput()
		return err
	})
	if err != nil {
		return took, 0, fmt.Errorf("%w\n%s", err, out)
	}
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	cpu = time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
	return took, cpu, b.whole(ctx)
}

// send sends what was kept into a new table, two at a time, as two threads would.
func (b *bench) send(ctx context.Context, k *keeper) (took span, err error) {
	if err := remake(ctx, b.url); err != nil {
		return took, err
	}
	if took, err = b.timed(func() error { return k.replay(ctx, 2) }); err != nil {
		return took, err
	}
	return took, b.whole(ctx)
}

// whole checks that the table has all rows.
func (b *bench) whole(ctx context.Context) error {
	got, err := ask(ctx, b.url, "SELECT count() FROM "+table)
	if err == nil && got != fmt.Sprint(b.rows) {
		err = fmt.Errorf("the table has %s rows, want %d", got, b.rows)
	}
	return err
}
