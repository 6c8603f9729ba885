package exprchain_test

import (
	"bytes"
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/chain/exprchain"
)

func BenchmarkPeer(b *testing.B) {
	raw, err := os.ReadFile("/tmp/s2/X5/piece.ndjson")
	if err != nil {
		b.Skip()
	}
	var lines []string
	for l := range bytes.Lines(raw) {
		if l[len(l)-1] == '\n' {
			lines = append(lines, string(l[:len(l)-1]))
		}
	}
	c, err := exprchain.Compile([]exprchain.Step{filter("http.status >= 500"), selects("ts", "service", "host", "http.path", "http.status")}, exprchain.Options{OnError: chain.Fail})
	if err != nil {
		b.Fatal(err)
	}
	w, in, out := c(), batch(lines...), &chain.Output{Sinks: make([]chain.Rows, 1)}
	runtime.LockOSThread()
	t := cpu()
	for b.Loop() {
		out.Sinks[0].Reset()
		if err := w.Process(in, out); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu()-t)/float64(b.N*len(lines)), "cpu-ns/record")
}

func cpu() int64 {
	var r syscall.Rusage
	_ = syscall.Getrusage(1, &r)
	return r.Utime.Nano() + r.Stime.Nano()
}
