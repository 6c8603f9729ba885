// Clickhouseload measures whole loads of a ClickHouse engine: what spate run takes
// to read NDJSON and insert it, against what the engine takes for the very same
// INSERTs sent from memory.
//
//	make build && examples/clickhouse/engine run go run ./tests/bench/clickhouseload
//
// The inserts are those of a run through a proxy that keeps them. Each round then
// loads once and sends once, each into a new table; the median of each counts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	fmt.Println("format     compression  inserts      body     load  (spate's CPU)    from memory  ratio")
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
	var loads, cpus, sends []time.Duration
	for range b.runs {
		took, cpu, err := b.load(ctx, b.url, format, compression)
		if err != nil {
			return err
		}
		sent, err := b.send(ctx, k)
		if err != nil {
			return err
		}
		loads, cpus, sends = append(loads, took), append(cpus, cpu), append(sends, sent)
	}
	load, cpu, sent := median(loads), median(cpus), median(sends)
	fmt.Printf("%-9s  %-11s  %7d  %5d MB  %6.2f s  (%6.2f s)     %6.2f s      %.2f\n", format, compression, len(k.inserts),
		k.bytes()/1e6, load.Seconds(), cpu.Seconds(), sent.Seconds(), float64(load)/float64(sent))
	return nil
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// load is one run of spate into a new table.
func (b *bench) load(ctx context.Context, url, format, compression string) (took, cpu time.Duration, err error) {
	if err := remake(ctx, b.url); err != nil {
		return 0, 0, err
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
		return 0, 0, err
	}
	args := []string{"run", "--progress", "none", file}
	for _, s := range strings.Fields(b.set) {
		args = append(args, "--set", s)
	}
	cmd := exec.CommandContext(ctx, b.binary, args...)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	took = time.Since(began)
	if err != nil {
		return 0, 0, fmt.Errorf("%w\n%s", err, out)
	}
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	cpu = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	return took, cpu, b.whole(ctx)
}

// send sends what was kept into a new table, two at a time, as two threads would.
func (b *bench) send(ctx context.Context, k *keeper) (time.Duration, error) {
	if err := remake(ctx, b.url); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := k.replay(ctx, 2); err != nil {
		return 0, err
	}
	return time.Since(began), b.whole(ctx)
}

// whole checks that the table has all rows.
func (b *bench) whole(ctx context.Context) error {
	got, err := ask(ctx, b.url, "SELECT count() FROM "+table)
	if err == nil && got != fmt.Sprint(b.rows) {
		err = fmt.Errorf("the table has %s rows, want %d", got, b.rows)
	}
	return err
}
