package main

import (
	"fmt"
	"slices"
	"strings"
)

// result is the counted runs of one case and mode, pair by pair.
type result struct {
	ours, baseline []usage
}

// The figures of a run.
func wall(s usage) float64 { return s.wall.Seconds() }
func cpu(s usage) float64  { return s.cpu.Seconds() }
func peak(s usage) float64 { return float64(s.peak) / (1 << 20) }

// heading explains the columns.
func heading(paired bool) string {
	h := fmt.Sprintf("%-6s %-6s %8s %8s %8s %8s", "case", "mode", "wall s", "CPU s", "peak MiB", "MiB/s")
	if paired {
		h += fmt.Sprintf("   %8s %8s %8s   %s", "wall s", "CPU s", "peak MiB", "baseline / ours: wall, CPU, peak")
	}
	return h + "\n"
}

// row prints medians, and the medians of the pairs' ratios: above 1 the
// baseline takes more.
func (r result) row(name, mode string, d dataset) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-6s %-6s %8.2f %8.2f %8.0f %8.0f", name, mode,
		medianOf(r.ours, wall), medianOf(r.ours, cpu), medianOf(r.ours, peak),
		float64(d.Bytes)/(1<<20)/medianOf(r.ours, wall))
	if len(r.baseline) > 0 {
		fmt.Fprintf(&b, "   %8.2f %8.2f %8.0f   %.2f %.2f %.2f",
			medianOf(r.baseline, wall), medianOf(r.baseline, cpu), medianOf(r.baseline, peak),
			r.ratio(wall), r.ratio(cpu), r.ratio(peak))
	}
	return b.String() + "\n"
}

// ratio is the median of the pairs' ratios of a figure.
func (r result) ratio(figure func(usage) float64) float64 {
	ratios := make([]float64, len(r.ours))
	for i := range r.ours {
		ratios[i] = figure(r.baseline[i]) / figure(r.ours[i])
	}
	return median(ratios)
}

func medianOf(samples []usage, figure func(usage) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = figure(s)
	}
	return median(values)
}

func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	if n%2 == 1 {
		return values[n/2]
	}
	return (values[n/2-1] + values[n/2]) / 2
}
