package frame_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/record"
)

func BenchmarkPeer(b *testing.B) {
	raw, err := os.ReadFile("/tmp/s2/X5/piece.json")
	if err != nil {
		b.Skip()
	}
	for _, c := range []struct {
		n string
		f frame.Framer
	}{{"array", frame.JSONArray(1 << 20)}, {"auto", frame.Auto(1 << 20)}, {"ndjson", frame.NDJSON(1 << 20)}} {
		b.Run(c.n, func(b *testing.B) {
			buf := raw
			if c.n == "ndjson" {
				buf, _ = os.ReadFile("/tmp/s2/X5/piece.ndjson")
			}
			b.SetBytes(int64(len(buf)))
			var dst []record.Frame
			runtime.LockOSThread()
			t := cpu()
			for b.Loop() {
				c.f.Reset(0)
				dst, _, _ = c.f.Split(dst[:0], buf, false)
			}
			b.ReportMetric(float64(cpu()-t)/float64(b.N*len(dst)), "cpu-ns/record")
		})
	}
}

func cpu() int64 {
	var r syscall.Rusage
	_ = syscall.Getrusage(1, &r)
	return r.Utime.Nano() + r.Stime.Nano()
}
