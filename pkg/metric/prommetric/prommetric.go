// Package prommetric writes metrics in the Prometheus text format, version
// 0.0.4: those of a registry, and the usual ones of the process.
//
// It is not a registry and serves nothing. It is a package of its own so that a
// program that exports elsewhere does not link it. It is our own because the
// official client is a registry, as package metric is already: of its six
// modules only the writing of lines would be used.
package prommetric

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/metric"
)

// ContentType is the media type of what Write writes.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Write writes samples, ordered by name as [metric.Registry.Gather] gives them:
// the format wants the series of one name together.
func Write(w io.Writer, samples []metric.Sample) error {
	b := bufio.NewWriter(w)
	name := ""
	for _, s := range samples {
		if s.Name != name {
			name = s.Name
			header(b, name, kinds[s.Kind])
		}
		if s.Durations != nil {
			histogram(b, s)
			continue
		}
		line(b, name, s.Labels, strconv.FormatInt(s.Value, 10))
	}
	return b.Flush()
}

var kinds = []string{metric.KindCounter: "counter", metric.KindGauge: "gauge", metric.KindHistogram: "histogram"}

func header(b *bufio.Writer, name, kind string) {
	_, _ = b.WriteString("# TYPE " + name + " " + kind + "\n") // Flush has the error
}

func histogram(b *bufio.Writer, s metric.Sample) {
	labels := append(s.Labels[:len(s.Labels):len(s.Labels)], metric.Label{Name: "le"})
	le := &labels[len(labels)-1].Value
	for i, n := range s.Durations.Counts {
		*le = seconds(metric.Bound(i))
		line(b, s.Name+"_bucket", labels, strconv.FormatInt(n, 10))
	}
	*le = "+Inf"
	line(b, s.Name+"_bucket", labels, strconv.FormatInt(s.Durations.Count, 10))
	line(b, s.Name+"_sum", s.Labels, seconds(s.Durations.Sum))
	line(b, s.Name+"_count", s.Labels, strconv.FormatInt(s.Durations.Count, 10))
}

func line(b *bufio.Writer, name string, labels []metric.Label, value string) {
	_, _ = b.WriteString(name)
	for i, l := range labels {
		_, _ = b.WriteString(string("{,"[min(i, 1)]) + l.Name + `="` + escape(l.Value) + `"`)
	}
	if len(labels) > 0 {
		_ = b.WriteByte('}')
	}
	_, _ = b.WriteString(" " + value + "\n")
}

var escaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func escape(value string) string {
	return escaper.Replace(strings.ToValidUTF8(value, "\uFFFD"))
}

func seconds(d time.Duration) string { return number(d.Seconds()) }

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
