// Custom is a pipeline of its own: what the pipeline file cannot say is written
// in Go, all else stays in the file, and the command line is that of spate.
//
//	go run . run pipeline.yaml
//
// Called bootstrap, beside its pipeline.yaml, it is the reader of a stack.
package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/app/function"
	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/decode"
	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// request is what the chain reads of an access log's record.
type request struct {
	TS         time.Time `json:"ts"`
	Path       string    `json:"path"`
	Status     int       `json:"status"`
	DurationMS float64   `json:"duration_ms"`
}

// failed is what it makes of it.
type failed struct {
	minute  time.Time
	section string // the path's first element
	took    time.Duration
}

func main() { function.Main(app.Pipeline{Chain: failures()}) }

func failures() chain.Constructor {
	requests := chain.Decode(func() decode.Decoder[request] { return jsondecode.Typed[request](jsondecode.Options{}) }, chain.Skip)
	errors := chain.Filter(requests, func(_ *chain.Context, r *request) (bool, error) { return r.Status >= 500, nil })
	return chain.Encode(chain.Map(errors, summarize), chain.Skip, encode)
}

func summarize(_ *chain.Context, in *request, out *failed) error {
	out.minute = in.TS.Truncate(time.Minute)
	path, _, _ := strings.Cut(strings.TrimPrefix(in.Path, "/"), "?")
	first, _, _ := strings.Cut(path, "/")
	out.section = "/" + first
	out.took = time.Duration(in.DurationMS * float64(time.Millisecond))
	return nil
}

// encode appends a row of tab-separated values.
func encode(dst []byte, f *failed) ([]byte, error) {
	dst = f.minute.AppendFormat(dst, time.RFC3339)
	dst = append(append(dst, '\t'), f.section...)
	dst = strconv.AppendInt(append(dst, '\t'), f.took.Milliseconds(), 10)
	return append(dst, '\n'), nil
}
