package clickhouse_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// Ten million rows, and the generator's own count and sums of them.
func TestTenMillionRowsHaveTheGeneratorsSums(t *testing.T) {
	e := newEngine(t)
	const rows, objects = 10_000_000, 16
	dir := t.TempDir()
	var ids, values uint64
	seed := uint64(0x9e3779b97f4a7c15)
	for f := range objects {
		file, err := os.Create(filepath.Join(dir, fmt.Sprintf("part-%02d.ndjson", f)))
		if err != nil {
			t.Fatal(err)
		}
		w := bufio.NewWriterSize(file, 1<<20)
		var line []byte
		for i := f * rows / objects; i < (f+1)*rows/objects; i++ {
			seed = seed*6364136223846793005 + 1442695040888963407
			id, v := uint64(i), seed>>40
			ids, values = ids+id, values+v
			line = strconv.AppendUint(append(line[:0], `{"id":`...), id, 10)
			line = append(strconv.AppendUint(append(line, `,"v":`...), v, 10), '}', '\n')
			if _, err := w.Write(line); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	e.exec(t, "CREATE TABLE t (id UInt64, v UInt32) "+deduplicating)
	res := run{Binary: plainBinary}.completes(t, e.pipeline(t, dir, "t", "", decode), "--set", "source.s3.target=16MiB")
	t.Logf("%d rows in %v", rows, res.Took)
	e.wants(t, "SELECT count(), sum(id), sum(v), uniqExact(id) FROM t", fmt.Sprintf("%d\t%d\t%d\t%[1]d", rows, ids, values))
}
