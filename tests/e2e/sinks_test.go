package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/report"
)

// INV-1: of several sinks, a job is as good as its worst.
func TestAJobIsAsGoodAsItsWorstSink(t *testing.T) {
	for _, full := range []string{"first", "last"} {
		t.Run("the "+full+" is full", func(t *testing.T) {
			dir := t.TempDir()
			data := records("a", 1000)
			write(t, filepath.Join(dir, "src", "a"), data)
			paths := map[string]string{"first": filepath.Join(dir, "first"), "last": filepath.Join(dir, "last")}
			job := func() string {
				p := filepath.Join(t.TempDir(), "p.yaml")
				write(t, p, fmt.Appendf(nil, `pipeline: {name: x}
source: {s3: {url: "file://%s/src"}}
feed: {memory: {attempt_cap: 2}}
decode: {json: {}}
chain: [{route: [{to: first, when: "n < 500"}, {to: last}]}]
sinks: {first: {file: {path: %q}}, last: {file: {path: %q}}}
`, dir, paths["first"], paths["last"]))
				return p
			}
			good := paths[full]
			paths[full] = "/dev/full"
			res := run{}.spate(t, "run", job(), "--state", filepath.Join(dir, "state"))
			if res.Code != 1 || res.Report == nil || res.Report.State == report.Completed || res.Report.Units.Done != 0 || !strings.Contains(res.Stderr, "no space left") {
				t.Fatalf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
			}

			paths[full] = good
			res = run{}.spate(t, "run", job(), "--state", filepath.Join(dir, "state"))
			if res.Code != 0 || res.Report.Units.Done != 1 || res.Report.Records.Out != 1000 {
				t.Fatalf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
			}
			got := rows(t, paths["first"])
			for row, n := range rows(t, paths["last"]) {
				got[row] += n
			}
			for row := range strings.Lines(string(data)) {
				if got[row] != 1 {
					t.Fatalf("row %.60q is there %d times", row, got[row])
				}
			}
		})
	}
}
