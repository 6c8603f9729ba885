package metric_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// constants returns the metric names of names.go, in its order.
func constants(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "names.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			if s, err := strconv.Unquote(lit.Value); err == nil && strings.HasPrefix(s, "spate_") {
				names = append(names, s)
			}
		}
		return true
	})
	if len(names) == 0 {
		t.Fatal("names.go names nothing")
	}
	return names
}

var row = regexp.MustCompile("(?m)^\\| `(spate_[a-z0-9_]+)` \\| (counter|gauge|histogram) \\| ([^|]+) \\| (?:(?:`[a-z_]+` )*|)\\| ([A-Z][^|]+) \\|$")

func TestThePageAndTheConstantsNameTheSameMetrics(t *testing.T) {
	page, err := os.ReadFile("../../docs/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		if kinds[m[1]] != "" {
			t.Errorf("the page lists %s twice", m[1])
		}
		kinds[m[1]] = m[2]
	}
	if mentioned := strings.Count(string(page), "\n| `spate_"); mentioned != len(kinds) {
		t.Errorf("%d rows of the page name a metric, %d are of the right form", mentioned, len(kinds))
	}
	names := constants(t)
	for _, name := range names {
		kind, ok := kinds[name]
		if !ok {
			t.Errorf("the page does not list %s", name)
		}
		if total := strings.HasSuffix(name, "_total"); ok && total != (kind == "counter") {
			t.Errorf("%s is a %s: counters, and only they, end in _total", name, kind)
		}
		if seconds := strings.HasSuffix(name, "_seconds"); ok && seconds != (kind == "histogram") {
			t.Errorf("%s is a %s: histograms, and only they, are of seconds", name, kind)
		}
		delete(kinds, name)
	}
	for name := range kinds {
		t.Errorf("the page lists %s, which no constant names", name)
	}
	if slices.Sort(names); len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Error("two constants hold one name")
	}
}

func TestEveryNameOfTheContractHasAConstant(t *testing.T) {
	names := constants(t)
	for _, want := range strings.Fields(`
		spate_s3_source_objects_listed_total spate_s3_source_objects_completed_total
		spate_s3_source_objects_skipped_total spate_s3_source_objects_failed_total
		spate_s3_source_objects_overwritten_total
		spate_s3_source_bytes_read_total spate_s3_source_bytes_decoded_total
		spate_s3_source_get_retries_total spate_s3_source_codec_mismatches_total
		spate_feed_units_received_total spate_feed_units_acknowledged_total
		spate_feed_units_failed_total spate_feed_units_published_total spate_feed_dead_letter_units
		spate_source_records_total spate_source_bytes_total spate_deser_records_dropped_total
		spate_operator_records_in_total spate_operator_records_out_total spate_operator_records_dropped_total
		spate_sink_records_total spate_sink_bytes_total spate_sink_retries_total
		spate_sink_errors_total spate_sink_flushes_total spate_job_halted spate_e2e_latency_seconds`) {
		if !slices.Contains(names, want) {
			t.Errorf("%s has no constant", want)
		}
	}
}
