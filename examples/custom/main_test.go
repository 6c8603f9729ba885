package main

import (
	"testing"

	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/sink/capturesink"
	"github.com/spate-go/spate/pkg/spatetest"
)

func TestOnlyServerErrorsComeOut(t *testing.T) {
	got := spatetest.Chain(t, failures(),
		`{"ts":"2026-11-28T08:00:06.797Z","path":"/basket/7?full","status":503,"duration_ms":12.5}`,
		`{"ts":"2026-11-28T08:00:07.001Z","path":"/basket/7","status":200,"duration_ms":1}`,
		`{"ts":"2026-11-28T08:01`,
	)
	if want := "2026-11-28T08:00:00Z\t/basket\t12\n"; got.Text() != want {
		t.Errorf("rows %q, want %q", got.Text(), want)
	}
	if c := got.Counts; c.Filtered != 1 || c.Rejected != 1 || got.Undecoded != 1 {
		t.Errorf("counts %+v, of the rejected %d did not decode", c, got.Undecoded)
	}
}

func TestThePipelineFile(t *testing.T) {
	env := func(string) (string, bool) { return "/anywhere", true }
	c, err := app.Load("pipeline.yaml", nil, env)
	if err != nil {
		t.Fatal(err)
	}
	bucket := new(memobject.Bucket)
	bucket.Put("hour=08/a.ndjson", []byte(`{"ts":"2026-11-28T08:00:06Z","path":"/","status":500,"duration_ms":3}`+"\n"))
	bucket.Put("hour=08/README", []byte("not a log\n"))
	rows := spatetest.Capture(t, capturesink.Options{})

	r, err := app.Run(t.Context(), c, app.Pipeline{Chain: failures(), Source: bucket, Sink: rows})
	if err != nil {
		t.Fatal(err)
	}
	if r.State != report.Completed || r.Records.Out != 1 || r.Objects.Skipped.Excluded != 1 {
		t.Errorf("report %+v", r)
	}
	if n := rows.Counts()["2026-11-28T08:00:00Z\t/\t3"]; n != 1 {
		t.Errorf("rows %q", rows.Rows())
	}
}
