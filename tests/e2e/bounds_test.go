package e2e

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

const mib = 1 << 20

// INV-6: what bounds memory is the configuration.
func TestMemoryIsBoundedWhateverTheInput(t *testing.T) {
	for name, c := range map[string]struct {
		make func(w io.Writer) error
		in   int64
		peak int64 // bytes
	}{
		"a line of 1 GiB": {func(disk io.Writer) error {
			w, err := zstd.NewWriter(disk, zstd.WithEncoderLevel(zstd.SpeedFastest)) // the disk is slow
			if err != nil {
				return err
			}
			defer w.Close()
			if _, err := w.Write([]byte("{}\n")); err != nil {
				return err
			}
			if err := fill(w, 'x', 1<<30); err != nil {
				return err
			}
			_, err = w.Write([]byte("\n{}\n"))
			return err
		}, 3, 128 * mib},
		"4 GiB in 4 MiB of gzip": {func(w io.Writer) error {
			z := gzip.NewWriter(w)
			if err := fill(z, 0, 4<<30); err != nil {
				return err
			}
			return z.Close()
		}, 1, 128 * mib},
		"a long line, then eight million of a byte": {func(w io.Writer) error {
			if err := fill(w, 'x', 15<<20); err != nil {
				return err
			}
			line := bytes.Repeat([]byte("\n1"), mib)
			for range 8 {
				if _, err := w.Write(line); err != nil {
					return err
				}
			}
			return nil
		}, 1 + 8*mib, 320 * mib}, // pipeline.memory and 64 MiB are where the collector works harder, not a wall
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f, err := os.Create(filepath.Join(dir, "big"))
			if err != nil {
				t.Fatal(err)
			}
			w := bufio.NewWriterSize(f, mib)
			if err := c.make(w); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			res := run{Binary: plainBinary}.spate(t, "run", pipeline(t, dir, filepath.Join(t.TempDir(), "out"), ""))
			if res.Code != 0 || res.Report.Records.In != c.in {
				t.Errorf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
			}
			if res.Peak > c.peak {
				t.Errorf("peak memory %d MiB", res.Peak/mib)
			}
			t.Logf("peak %d MiB, %v of CPU", res.Peak/mib, res.CPU)
		})
	}
}

func fill(w io.Writer, c byte, n int64) error {
	block := make([]byte, mib)
	for i := range block {
		block[i] = c
	}
	for ; n > 0; n -= mib {
		if _, err := w.Write(block); err != nil {
			return err
		}
	}
	return nil
}
