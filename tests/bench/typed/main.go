// Typed is the benchmark's pipeline in Go: every field of every record into a
// struct, three of them into a row. It stands for the pipelines that users
// build.
package main

import (
	"strconv"

	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/decode"
	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// event has every field of the benchmark's records.
type event struct {
	TS      string   `json:"ts"`
	Level   string   `json:"level"`
	Service string   `json:"service"`
	Host    string   `json:"host"`
	TraceID string   `json:"trace_id"`
	Seq     int64    `json:"seq"`
	UserID  int64    `json:"user_id"`
	Message string   `json:"message"`
	HTTP    request  `json:"http"`
	Tags    []string `json:"tags"`
	Error   *fault   `json:"error"`
}

type request struct {
	Method     string  `json:"method"`
	Path       string  `json:"path"`
	Status     int     `json:"status"`
	Bytes      int64   `json:"bytes"`
	DurationMS float64 `json:"duration_ms"`
	UserAgent  string  `json:"user_agent"`
}

type fault struct {
	Kind  string `json:"kind"`
	Stack string `json:"stack"`
}

func main() {
	events := chain.Decode(func() decode.Decoder[event] {
		return jsondecode.Typed[event](jsondecode.Options{})
	}, chain.Fail)
	app.Main(app.Pipeline{Chain: chain.Encode(events, chain.Fail, row)})
}

func row(dst []byte, e *event) ([]byte, error) {
	dst = append(dst, e.TS...)
	dst = append(dst, ' ')
	dst = strconv.AppendInt(dst, int64(e.HTTP.Status), 10)
	dst = append(dst, ' ')
	dst = strconv.AppendInt(dst, e.HTTP.Bytes, 10)
	return append(dst, '\n'), nil
}
