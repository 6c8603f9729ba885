package main

import (
	"time"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/chain/exprchain"
	"github.com/spate-go/spate/pkg/clickhouse"
	"github.com/spate-go/spate/pkg/decode"
	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// event is a record as far as the table has columns for it.
type event struct {
	TS      time.Time `json:"ts" ch:"ts,type=DateTime64(3)"`
	Level   string    `json:"level" ch:"level,type=LowCardinality(String)"`
	Service string    `json:"service" ch:"service,type=LowCardinality(String)"`
	Host    string    `json:"host"`
	Seq     uint64    `json:"seq"`
	UserID  uint32    `json:"user_id"`
	Message string    `json:"message"`
	HTTP    request   `json:"http" ch:",inline"`
	Tags    []string  `json:"tags"`
}

type request struct {
	Status     uint16  `json:"status"`
	DurationMS float64 `json:"duration_ms"`
}

func typed() (chain.Constructor, error) {
	e, err := clickhouse.NewEncoder[event]()
	if err != nil {
		return nil, err
	}
	events := chain.Decode(func() decode.Decoder[event] {
		return jsondecode.Typed[event](jsondecode.Options{Borrow: true}) // rows keep nothing of a record
	}, chain.Fail)
	return chain.Encode(events, chain.Fail, e.Append), nil
}

// members are the columns' paths in a record.
type members struct {
	*clickhouse.RowEncoder
	paths []string
}

func (m members) Columns() []string { return m.paths }

func fromConfig() (chain.Constructor, error) {
	m := members{paths: []string{"ts", "level", "service", "host", "seq", "user_id", "message", "http.status", "http.duration_ms", "tags"}}
	e, err := clickhouse.NewEncoder[event]()
	if err != nil {
		return nil, err
	}
	m.RowEncoder, err = clickhouse.NewRowEncoder(e.Columns(), clickhouse.RowOptions{})
	if err != nil {
		return nil, err
	}
	return exprchain.Compile(nil, exprchain.Options{OnError: chain.Fail, Encoders: []exprchain.Encoder{m}})
}
