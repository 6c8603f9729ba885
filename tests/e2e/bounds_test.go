package e2e

import (
	"bufio"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
)

const mib = 1 << 20

// INV-6: what bounds memory is the configuration.
func TestMemoryIsBoundedWhateverTheInput(t *testing.T) {
	for name, c := range map[string]struct {
		make func(w io.Writer) error
		in   int64
	}{
		"a line of 1 GiB": {func(w io.Writer) error {
			if _, err := w.Write([]byte("{}\n")); err != nil {
				return err
			}
			if err := fill(w, 'x', 1<<30); err != nil {
				return err
			}
			_, err := w.Write([]byte("\n{}\n"))
			return err
		}, 3},
		"4 GiB in 4 MiB of gzip": {func(w io.Writer) error {
			z := gzip.NewWriter(w)
			if err := fill(z, 0, 4<<30); err != nil {
				return err
			}
			return z.Close()
		}, 1},
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
			res := run{binary: plainBinary}.spate(t, "run", pipeline(t, dir, filepath.Join(t.TempDir(), "out"), ""))
			if res.code != 0 || res.report.Records.Rejected != 1 || res.report.Records.In != c.in {
				t.Errorf("code %d, report %+v\n%s", res.code, res.report, res.stderr)
			}
			if res.peak > 128*mib {
				t.Errorf("peak memory %d MiB", res.peak/mib)
			}
			t.Logf("peak %d MiB, %v of CPU", res.peak/mib, res.cpu)
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
