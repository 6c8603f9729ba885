package clickhouse_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	files   = 4
	perFile = 16_000 // a unit each
	inParts = ", max_rows: 5000"
)

func source(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for f := range files {
		write(t, filepath.Join(dir, fmt.Sprintf("part-%d.ndjson", f)), records(f, perFile))
	}
	return dir
}

func TestRowsAreThereOnce(t *testing.T) {
	dir := source(t)
	for _, format := range []string{"rowbinary", "native", "json_each_row"} {
		t.Run("a second run inserts nothing, "+format, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t)
			e.table(t, "t", "", deduplicating)
			file := e.pipeline(t, dir, "t", inParts+", format: "+format, decode)
			for range 2 {
				res := run{}.completes(t, file)
				if got := res.Report.Records.Out; got != files*perFile {
					t.Errorf("%d records out", got)
				}
				e.once(t, "t", files*perFile)
			}
		})
	}
	t.Run("raw records pass", func(t *testing.T) {
		t.Parallel()
		e := newEngine(t)
		e.table(t, "t", "", deduplicating)
		file := e.pipeline(t, dir, "t", ", format: json_each_row", "")
		for range 2 {
			run{}.completes(t, file)
			e.once(t, "t", files*perFile)
		}
	})
	t.Run("views too", func(t *testing.T) {
		t.Parallel()
		e := newEngine(t)
		e.table(t, "t", "", deduplicating)
		e.table(t, "copy", "", deduplicating)
		e.exec(t, "CREATE MATERIALIZED VIEW v TO copy AS SELECT * FROM t")
		twice, p := e.before(t, func(n int64) fate { return []fate{lose, pass}[n%2] })
		run{}.completes(t, twice.pipeline(t, dir, "t", inParts, decode))
		if p.struck.Load() == 0 {
			t.Error("no answer was lost")
		}
		e.once(t, "t", files*perFile)
		e.once(t, "copy", files*perFile)
	})
}

// The binary is killed at its first insert, then at its second, and so on; before
// it happens or after.
func TestKillsLoseAndRepeatNothing(t *testing.T) {
	dir := source(t)
	for name, what := range map[string]fate{"before an insert": refuse, "after it": lose} {
		for nth := int64(1); nth <= 16; nth += 5 { // the last insert is number 16
			t.Run(fmt.Sprintf("%s, number %d", name, nth), func(t *testing.T) {
				t.Parallel()
				e := newEngine(t)
				e.table(t, "t", "", deduplicating)
				var victim atomic.Pointer[exec.Cmd]
				var kills atomic.Int64
				through, p := e.before(t, nil)
				p.decide = func(n int64) fate {
					if cmd := victim.Load(); cmd != nil && n == nth {
						if what == refuse {
							_ = cmd.Process.Kill()
						}
						kills.Add(1)
						return what
					}
					return pass
				}
				file := through.pipeline(t, dir, "t", inParts, decode)
				state := filepath.Join(t.TempDir(), "state")
				args := []string{"run", "--progress", "none", "--state", state, file}
				first := run{Begun: func(cmd *exec.Cmd) {
					victim.Store(cmd)
					if what == lose {
						go func() { // once the engine has it
							for kills.Load() == 0 {
								time.Sleep(time.Millisecond)
							}
							_ = cmd.Process.Kill()
						}()
					}
				}}.spate(t, args...)
				if first.Code != -1 || kills.Load() != 1 {
					t.Fatalf("it was not killed: exit code %d, %d kills\n%s", first.Code, kills.Load(), first.Stderr)
				}
				victim.Store(nil)
				if res := (run{}).spate(t, args...); res.Code != 0 {
					t.Fatalf("exit code %d\n%s%s", res.Code, res.Stdout, res.Stderr)
				}
				e.once(t, "t", files*perFile)
			})
		}
	}
}

func TestFaultsOfTheServerAreOutlived(t *testing.T) {
	dir := source(t)
	every := func(what fate) func(int64) fate {
		return func(n int64) fate {
			if n%3 == 1 {
				return what
			}
			return pass
		}
	}
	for _, c := range []struct {
		name   string
		sink   string
		decide func(int64) fate
	}{
		{"connections that break before", "", every(refuse)},
		{"answers that are lost", "", every(lose)},
		{"too many parts", "", every(busy)},
		{"a balancer without servers", "", every(down)},
		{"an answer after the client gave up", ", timeouts: {insert: 1s}", every(late)},
		{"one that is away for a while", "", func(n int64) fate {
			if n <= 5 {
				return refuse
			}
			return pass
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t)
			e.table(t, "t", "", deduplicating)
			through, p := e.before(t, c.decide)
			run{}.completes(t, through.pipeline(t, dir, "t", inParts+c.sink, decode))
			if p.struck.Load() == 0 {
				t.Error("no fault struck")
			}
			e.once(t, "t", files*perFile)
		})
	}
}

func TestASchemaThatChangesHaltsTheJobOnce(t *testing.T) {
	dir := source(t)
	for name, alter := range map[string]string{
		"a column that is dropped": "ALTER TABLE t DROP COLUMN name",
		"a column of another type": "ALTER TABLE t MODIFY COLUMN name Nullable(String)",
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t)
			e.table(t, "t", "", deduplicating)
			through, p := e.before(t, nil)
			p.decide = func(n int64) fate {
				if n == 2 {
					if _, err := e.ask(t.Context(), alter); err != nil {
						t.Error(err)
					}
				}
				return pass
			}
			res := run{}.spate(t, "run", "--progress", "none", through.pipeline(t, dir, "t", inParts, decode))
			if res.Code != 1 || res.Report == nil || !strings.Contains(res.Report.Reason, "schema") {
				t.Fatalf("exit code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
			}
			if !strings.Contains(res.Report.Reason, "column name is ") || strings.Count(res.Stderr, "job load halted") != 1 {
				t.Errorf("the column is not named, or not once:\n%s", res.Stderr)
			}
		})
	}
}
