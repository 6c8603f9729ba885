package clickhouse_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Random values in random columns: each record is a row with the values that the
// documentation says, by the reckoning of another program, or it is rejected.
func TestRandomRecordsAreRowsAsDocumentedOrRejected(t *testing.T) {
	first := rand.Uint32()
	for n := range uint32(8) {
		seed := strconv.FormatUint(uint64(first+n), 10)
		format := []string{"rowbinary", "native"}[n%2]
		compression := []string{"none", "lz4", "zstd", "gzip"}[n/2%4]
		t.Run(fmt.Sprintf("seed %s, %s, %s", seed, format, compression), func(t *testing.T) {
			e, dir := newEngine(t), t.TempDir()
			judged(t, "make", seed, format, dir)
			statement, err := os.ReadFile(filepath.Join(dir, "table.sql"))
			if err != nil {
				t.Fatal(err)
			}
			e.exec(t, string(statement))
			sink := ", dedup: off, max_rows: 50, format: " + format + ", compression: " + compression
			run{Binary: plainBinary}.completes(t, e.pipeline(t, filepath.Join(dir, "in"), "t", sink, decode+"rejects: {url: \"file://"+dir+"/rejects/\"}\n"))
			write(t, filepath.Join(dir, "rows"), e.exec(t, "SELECT *, toUInt8(0) FROM t ORDER BY i FORMAT RowBinary"))
			complaints, rows := judged(t, "judge", seed, format, dir)
			if complaints != "" {
				t.Error(complaints)
			}
			t.Logf("%s rows", rows)
		})
	}
}

// judged calls the program, and returns what it writes.
func judged(t *testing.T, what, seed, format, dir string) (stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "python3", "testdata/random.py", what, seed, format, dir)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	return string(out), strings.TrimSpace(said.String())
}
