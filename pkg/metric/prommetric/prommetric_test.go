package prommetric_test

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/metric/prommetric"
)

func label(name, value string) metric.Label { return metric.Label{Name: name, Value: value} }

func text(t *testing.T, r *metric.Registry) string {
	t.Helper()
	var b bytes.Buffer
	if err := prommetric.Write(&b, r.Gather()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTheTextIsThatOfTheFormat(t *testing.T) {
	var r metric.Registry
	r.Counter("b_total", label("reason", "x")).Add(3)
	r.Counter("b_total", label("pipeline", "p"), label("reason", "y")).Add(4)
	r.Gauge("a").Set(-7)
	want := `# TYPE a gauge
a -7
# TYPE b_total counter
b_total{pipeline="p",reason="y"} 4
b_total{reason="x"} 3
`
	if d := cmp.Diff(want, text(t, &r)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestAHistogramIsItsBucketsItsSumAndItsCount(t *testing.T) {
	var r metric.Registry
	h := r.Histogram("h_seconds", label("sink", "s"))
	h.Observe(3 * time.Millisecond)
	h.Observe(90 * time.Second)
	got := text(t, &r)
	for _, want := range []string{
		"# TYPE h_seconds histogram\n",
		`h_seconds_bucket{sink="s",le="0.0025"} 0` + "\n",
		`h_seconds_bucket{sink="s",le="0.005"} 1` + "\n",
		`h_seconds_bucket{sink="s",le="60"} 1` + "\n",
		`h_seconds_bucket{sink="s",le="+Inf"} 2` + "\n",
		`h_seconds_sum{sink="s"} 90.003` + "\n",
		`h_seconds_count{sink="s"} 2` + "\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	if n := strings.Count(got, "# TYPE"); n != 1 {
		t.Errorf("%d types for one name", n)
	}
}

func TestAValueOfALabelComesBackAsItWas(t *testing.T) {
	for _, value := range []string{`plain`, `a "quoted" one`, `back\slash`, "two\nlines", `\n`, `}`, "", "ünï"} {
		var r metric.Registry
		r.Counter("n", label("v", value)).Add(1)
		m := regexp.MustCompile(`(?s)\An\{v=(".*")\} 1\n\z`).FindStringSubmatch(strings.TrimPrefix(text(t, &r), "# TYPE n counter\n"))
		if m == nil {
			t.Errorf("%q: %s", value, text(t, &r))
			continue
		}
		if got, err := strconv.Unquote(m[1]); err != nil || got != value {
			t.Errorf("%q comes back as %q, %v", value, got, err)
		}
	}
	var r metric.Registry
	r.Counter("n", label("v", "a\xffb")).Add(1)
	if got := text(t, &r); !strings.Contains(got, "a\uFFFDb") {
		t.Errorf("not UTF-8: %q", got)
	}
}

func TestTheProcessSaysHowItIs(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc here")
	}
	var b bytes.Buffer
	if err := prommetric.WriteProcess(&b); err != nil {
		t.Fatal(err)
	}
	value := func(name string) float64 {
		m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(b.String())
		if m == nil {
			t.Fatalf("no %s:\n%s", name, b.String())
		}
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for name, between := range map[string][2]float64{
		"process_resident_memory_bytes": {1 << 20, 4 << 30},
		"process_cpu_seconds_total":     {0, 600},
		"process_open_fds":              {3, 200},
		"process_max_fds":               {64, 1e10},
		"process_start_time_seconds":    {float64(time.Now().Add(-time.Hour).Unix()), float64(time.Now().Unix()) + 2},
		"go_goroutines":                 {1, 100},
	} {
		if v := value(name); v < between[0] || v > between[1] {
			t.Errorf("%s is %v", name, v)
		}
	}
}

func TestAWriterThatFailsIsReported(t *testing.T) {
	var r metric.Registry
	r.Counter("n")
	if err := prommetric.Write(broken{}, r.Gather()); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	if err := prommetric.WriteProcess(broken{}); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }
