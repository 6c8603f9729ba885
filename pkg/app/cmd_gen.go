package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/spate-go/spate/pkg/sample"
)

// genFlags are the flags of spate gen.
type genFlags struct {
	format, compression string
	objects             int
	size                sizeFlag
	seed                uint32
	overwrite           bool
}

func genCommand(std stdio) *cobra.Command {
	f := genFlags{size: 1 << 20}
	c := &cobra.Command{
		Use:   "gen DIR",
		Short: "Write synthetic objects, to try a pipeline on",
		Long: `Gen fills a directory with the made-up logs of a web shop: timestamps, paths,
status codes, nested members, text with quotes and accents. The same seed gives the
same objects. Each appears whole, under its name, or not at all.

Exit codes: 0 all is written; 1 something could not be; 2 the command line is wrong,
or files are in the way; 130 interrupted.`,
		Example: "  spate gen /tmp/logs --objects 100 --size 4MiB --compression gzip\n  spate gen /tmp/arrays --format json-array --seed 7",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return fmt.Errorf("%s takes one argument, a directory, got %d: see %[1]s --help", c.CommandPath(), len(args))
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(c *cobra.Command, args []string) error {
			return gen(c.Context(), args[0], f, std)
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.format, "format", string(sample.NDJSON), "`FORMAT`: ndjson, csv or json-array")
	fs.StringVar(&f.compression, "compression", string(sample.None), "`CODEC`: none, gzip or zstd")
	fs.IntVar(&f.objects, "objects", 10, "write `N` objects")
	fs.Var(&f.size, "size", "`SIZE` of each before compression, at most, such as 64MiB")
	fs.Uint32Var(&f.seed, "seed", 1, "`N` from which everything follows")
	fs.BoolVar(&f.overwrite, "overwrite", false, "replace files of the same names")
	completeFlag(c, "format", string(sample.NDJSON), string(sample.CSV), string(sample.JSONArray))
	completeFlag(c, "compression", string(sample.None), string(sample.Gzip), string(sample.Zstd))
	return c
}

// gen is spate gen.
func gen(ctx context.Context, dir string, f genFlags, std stdio) error {
	if f.objects < 1 {
		return fmt.Errorf("--objects: %d is less than 1", f.objects)
	}
	if f.size < 1 {
		return fmt.Errorf("--size: %s is less than 1", &f.size)
	}
	if err := f.object(0).Check(); err != nil {
		return err
	}
	for i := range f.objects {
		path := filepath.Join(dir, f.name(i))
		if _, err := os.Lstat(path); err == nil && !f.overwrite {
			return fmt.Errorf("%s exists already: pass --overwrite to replace it, or choose another directory", path)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var all sample.Totals
	var stored int64
	for i := range f.objects {
		t, n, err := place(ctx, filepath.Join(dir, f.name(i)), f.object(i))
		switch {
		case err != nil && ctx.Err() != nil:
			return &exitError{fmt.Errorf("gen was interrupted: %d of %d objects are written", i, f.objects), exitInterrupted}
		case err != nil:
			return &exitError{fmt.Errorf("write object: %w", err), exitIncomplete}
		}
		all.Records, all.Bytes, stored = all.Records+t.Records, all.Bytes+t.Bytes, stored+n
	}
	_, err := fmt.Fprintf(std.stdout, "%s objects in %s: %s records, %s, %s on disk\n", humanize.Comma(int64(f.objects)), dir,
		humanize.Comma(all.Records), humanize.IBytes(uint64(all.Bytes)), humanize.IBytes(uint64(stored)))
	return err
}

// name is the name of object i. Names have as many digits as the last one
// needs, so that they sort in order of their numbers.
func (f *genFlags) name(i int) string {
	return fmt.Sprintf("part-%0*d%s", max(5, len(fmt.Sprint(f.objects-1))), i, f.object(i).Extension())
}

// object describes object i: an hour of its own in the same shop.
func (f *genFlags) object(i int) sample.Object {
	return sample.Object{
		Format: sample.Format(f.format), Compression: sample.Compression(f.compression),
		Seed: uint64(f.seed)<<32 | uint64(i),
		From: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Hour),
		Size: int64(f.size),
	}
}

// place writes o to path, which is there whole or not at all, and returns its
// size.
func place(ctx context.Context, path string, o sample.Object) (t sample.Totals, size int64, err error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".gen-*")
	if err != nil {
		return t, 0, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // what is left of it is hidden
		}
	}()
	w := &counting{ctx: ctx, w: file}
	t, err = o.Write(w)
	err = errors.Join(err, file.Chmod(0o644), file.Close())
	if err != nil {
		return t, 0, err
	}
	return t, w.n, os.Rename(file.Name(), path)
}

// counting counts what is written through it, and fails once its context has
// ended.
type counting struct {
	ctx context.Context // of the command
	w   io.Writer
	n   int64
}

func (c *counting) Write(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
