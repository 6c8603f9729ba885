package app_test

import (
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/reader"
)

// onStack is a pipeline file for a stack, with the section in place of its sink.
func onStack(section string) string {
	return `
pipeline: {name: p}
source: {s3: {url: "s3://bucket/in/"}}
feed: {sqs: {}}
` + section
}

func TestAFunctionRefusesSinksThatEndWithIt(t *testing.T) {
	for section, want := range map[string]string{
		`sink: {file: {path: out.ndjson}}`: "sink: a function's files end with it",
		`sink: {file: {path: out/}}`:       "sink: a function's files end with it",
		`sink: {stdout: {}}`:               "sink: a function's output is its log",
		"sinks: {a: {blackhole: {}}, b: {stdout: {}}}\nchain: [{route: [{to: a, when: \"true\"}, {to: b}]}]": "sinks.b: a function's output is its log",
		"sink: {blackhole: {}}\nrejects: {url: \"file:///tmp/r/\"}":                                          "rejects.url: a function's files end with it",
		`sink: {blackhole: {}}`: "",
	} {
		t.Run(section, func(t *testing.T) {
			c, err := load(t, onStack(section))
			if err != nil {
				t.Fatal(err)
			}
			r, err := app.OpenReading(t.Context(), c, app.Pipeline{Source: new(memobject.Bucket)}, memledger.NewShared(), reader.Options{})
			if err == nil {
				defer r.Close()
			}
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}
