// Typed is a pipeline of its own that writes to ClickHouse: records become
// structs, these become rows without an allocation, and the pipeline file says
// where the table is. Its columns have to be those of the struct.
//
//	LOGS=file:///data/logs/ CLICKHOUSE_URL=http://127.0.0.1:8123 \
//	  go run ./examples/clickhouse/typed run examples/clickhouse/typed/pipeline.yaml
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/clickhouse"
	"github.com/spate-go/spate/pkg/decode"
	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// event is what the chain reads of a record.
type event struct {
	TS      time.Time `json:"ts"`
	Service string    `json:"service"`
	HTTP    struct {
		Method string  `json:"method"`
		Status uint16  `json:"status"`
		Bytes  uint64  `json:"bytes"`
		Millis float64 `json:"duration_ms"`
	} `json:"http"`
}

// request is a row of
//
//	CREATE TABLE requests (at DateTime64(3, 'UTC'), service LowCardinality(String),
//	  method LowCardinality(String), status UInt16, bytes UInt64, took Float64)
//	ENGINE = MergeTree ORDER BY (service, at)
//	SETTINGS non_replicated_deduplication_window = 10000
type request struct {
	At      time.Time `ch:"at,type=DateTime64(3, 'UTC')"`
	Service string    `ch:"service,type=LowCardinality(String)"`
	Method  string    `ch:"method,type=LowCardinality(String)"`
	Status  uint16    `ch:"status"`
	Bytes   uint64    `ch:"bytes"`
	Took    float64   `ch:"took"` // seconds
}

func main() {
	rows, err := clickhouse.NewEncoder[request]()
	if err != nil {
		fmt.Fprintln(os.Stderr, "typed:", err)
		os.Exit(2)
	}
	app.Main(app.Pipeline{Chain: requests(rows), Columns: rows.Columns()})
}

func requests(rows *clickhouse.Encoder[request]) chain.Constructor {
	// A row is bytes before the next record is decoded, and nothing else is kept of
	// an event: its strings may be views.
	borrow := jsondecode.Options{Borrow: true}
	events := chain.Decode(func() decode.Decoder[event] { return jsondecode.Typed[event](borrow) }, chain.Skip)
	return chain.Encode(chain.Map(events, row), chain.Skip, rows.Append)
}

func row(_ *chain.Context, in *event, out *request) error {
	*out = request{in.TS, in.Service, in.HTTP.Method, in.HTTP.Status, in.HTTP.Bytes, in.HTTP.Millis / 1000}
	return nil
}
