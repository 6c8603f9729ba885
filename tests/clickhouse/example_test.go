package clickhouse_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var holds = regexp.MustCompile(`(?m)^web_log holds (\d+) rows, \d+ bytes served$`)

func TestTheExampleLoadsItsBucketOnce(t *testing.T) {
	newEngine(t)
	cmd := exec.CommandContext(t.Context(), "../../examples/clickhouse/run", "2")
	cmd.Env = append(os.Environ(), "SPATE="+plainBinary)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := holds.FindAllStringSubmatch(string(out), -1)
	if len(found) != 2 || found[0][0] != found[1][0] || found[0][1] == "0" {
		t.Errorf("two runs leave other rows than one, or none:\n%s", out)
	}
}

func TestAChainInGoLoadsTheTableThatItsStructDescribes(t *testing.T) {
	e, dir := newEngine(t), t.TempDir()
	gen := run{Binary: plainBinary}.spate(t, "gen", filepath.Join(dir, "logs"), "--objects", "2", "--size", "1MiB", "--compression", "gzip")
	if gen.Code != 0 {
		t.Fatal(gen.Stderr)
	}
	typed := filepath.Join(dir, "typed")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", typed, "../../examples/clickhouse/typed").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	source, err := os.ReadFile("../../examples/clickhouse/typed/main.go")
	if err != nil {
		t.Fatal(err)
	}
	create := regexp.MustCompile(`(?s)//\tCREATE TABLE.*?\ntype`).FindString(string(source))
	create = strings.TrimSuffix(strings.NewReplacer("//\t", "", "//", "").Replace(create), "type")
	load := func(want int) result {
		t.Helper()
		r := run{Binary: typed, Env: []string{"LOGS=file://" + dir + "/logs/", "CLICKHOUSE_URL=" + e.url}}
		res := r.spate(t, "run", "--progress", "none", "../../examples/clickhouse/typed/pipeline.yaml", "--set", "sink.clickhouse.database="+e.database)
		if res.Code != want {
			t.Fatalf("exit code %d, want %d\n%s", res.Code, want, res.Stderr)
		}
		return res
	}
	e.exec(t, create)
	for range 2 {
		res := load(0)
		e.wants(t, "SELECT count(), uniqExact(at, service, bytes) > 1, min(status) >= 100, max(took) > 0 FROM requests", fmt.Sprintf("%d\t1\t1\t1", res.Report.Records.In))
	}
	e.exec(t, "ALTER TABLE requests MODIFY COLUMN bytes UInt32")
	if res := load(2); !strings.Contains(res.Stderr, "column bytes is UInt32, and rows have UInt64") {
		t.Errorf("a table of other columns: %s", res.Stderr)
	}
}
