package clickhouse_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRowsThatTheServerRefusesAreFoundAndTheOthersInsertedOnce(t *testing.T) {
	dir := source(t)
	const every = 4999
	refused := 0
	for i := range files * perFile {
		if i%every == 7 {
			refused++
		}
	}
	constraint := fmt.Sprintf(", CONSTRAINT fit CHECK id %% %d != 7", every)
	for _, format := range []string{"rowbinary", "native", "json_each_row"} {
		t.Run("skip, "+format, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t)
			e.table(t, "t", constraint, deduplicating)
			rejects := filepath.Join(t.TempDir(), "rejects")
			file := e.pipeline(t, dir, "t", ", format: "+format, decode+fmt.Sprintf("rejects: {url: \"file://%s/\"}\n", rejects))
			res := run{}.completes(t, file)
			want := files*perFile - refused
			if r := res.Report.Records; r.Rejected != int64(refused) || r.Out != int64(want) {
				t.Errorf("report: %+v, want %d rejected", r, refused)
			}
			e.wants(t, "SELECT count(), uniqExact(id), countIf(id % 4999 = 7) FROM t", fmt.Sprintf("%d\t%[1]d\t0", want))
			found, err := filepath.Glob(rejects + "/*")
			if err != nil || len(found) == 0 {
				t.Fatal("no rejects were written", err)
			}
			var lines []string
			for _, f := range found {
				text, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, strings.Split(strings.TrimSpace(string(text)), "\n")...)
			}
			if len(lines) != refused || !strings.Contains(lines[0], "fit") || !strings.Contains(lines[0], "part-") {
				t.Errorf("%d lines of rejects, want %d that name the constraint and the object; the first:\n%s", len(lines), refused, lines[0])
			}
		})
	}
	t.Run("fail: the unit is dead, its reason says the constraint", func(t *testing.T) {
		e := newEngine(t)
		e.table(t, "t", constraint, deduplicating)
		file := e.pipeline(t, dir, "t", ", rejected: fail", strings.Replace(decode, "\n", "\n", 1))
		res := run{}.spate(t, "run", "--progress", "none", file, "--set", "feed.memory.attempt_cap=2")
		if res.Code != 1 || res.Report == nil || res.Report.Units.Dead == 0 {
			t.Fatalf("exit code %d: %+v\n%s", res.Code, res.Report, res.Stderr)
		}
		if d := res.Report.Dead[0]; d.Reason != "sink_rejected" || !strings.Contains(d.Detail, "fit") {
			t.Errorf("dead for %s: %s", d.Reason, d.Detail)
		}
	})
}
