package prommetric

import (
	"bufio"
	"io"
	"runtime"
)

// process holds the figures of a process that the usual dashboards ask for. A
// negative value is unknown on this system and left out.
type process struct {
	cpuSeconds, startSeconds           float64
	residentBytes, openFDs, maximumFDs float64
}

// WriteProcess writes the metrics of this process, process_* and
// go_goroutines, as far as the system tells them.
func WriteProcess(w io.Writer) error {
	p := stat()
	b := bufio.NewWriter(w)
	for _, m := range []struct {
		name, kind string
		value      float64
	}{
		{"go_goroutines", "gauge", float64(runtime.NumGoroutine())},
		{"process_cpu_seconds_total", "counter", p.cpuSeconds},
		{"process_max_fds", "gauge", p.maximumFDs},
		{"process_open_fds", "gauge", p.openFDs},
		{"process_resident_memory_bytes", "gauge", p.residentBytes},
		{"process_start_time_seconds", "gauge", p.startSeconds},
	} {
		if m.value >= 0 {
			header(b, m.name, m.kind)
			line(b, m.name, nil, number(m.value))
		}
	}
	return b.Flush()
}
