package exprchain_test

import (
	"testing"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/chain/exprchain"
)

// edits are chains whose steps need no virtual machine.
func edits() map[string][]exprchain.Step {
	return map[string][]exprchain.Step{
		"drop":    {drop("message", "http.referer")},
		"rename":  {rename("ts", "time", "http.path", "path")},
		"set":     {set("kind", "'access'", "code", "http.status")},
		"flatten": {flatten(exprchain.Flatten{})},
		"time":    {{Parse: &exprchain.Parse{Field: "ts", As: "timestamp"}}},
		"explode": {explode("tags")},
		"all": {
			filter("http.status >= 500"), drop("message"), rename("ts", "time"), set("kind", "'access'"),
			flatten(exprchain.Flatten{Fields: []string{"http", "geo"}}), explode("tags"),
		},
	}
}

func TestEditingAllocatesLittle(t *testing.T) {
	for name, s := range edits() {
		w, in, out := compile(t, chain.Fail, s...)(), batch(accessLog), &chain.Output{Sinks: make([]chain.Rows, 1)}
		limit := 0.0
		if name == "time" {
			limit = 6 // of the library that reads it
		}
		if n := testing.AllocsPerRun(100, func() {
			out.Sinks[0].Reset()
			if err := w.Process(in, out); err != nil || len(out.Sinks[0].Ends) == 0 {
				t.Fatal(err)
			}
		}); n > limit {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkEdit(b *testing.B) {
	all := edits()
	all["vm"] = []exprchain.Step{set("total", "latency_ms * retries")}
	all["regex"] = []exprchain.Step{{Parse: &exprchain.Parse{Field: "host", As: "regex", Pattern: `^(?P<name>\w+)-(?P<n>\d+)\.`}}}
	for name, s := range all {
		b.Run(name, func(b *testing.B) {
			c, err := exprchain.Compile(s, exprchain.Options{OnError: chain.Fail})
			if err != nil {
				b.Fatal(err)
			}
			w, in, out := c(), batch(accessLog), &chain.Output{Sinks: make([]chain.Rows, 1)}
			b.ReportAllocs()
			for b.Loop() {
				out.Sinks[0].Reset()
				if err := w.Process(in, out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
