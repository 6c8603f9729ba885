package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"
)

// A log event has 17 fields, nested ones included, and about 480 bytes: text
// with escapes and accents, numbers of both kinds, an array, an object that is
// often null. Real logs have long runs that compress and ids that do not.
var (
	services  = []string{"basket", "billing", "catalogue", "delivery", "gateway", "login", "mailer", "pricing", "stock", "suggest"}
	levels    = []string{"info", "info", "info", "info", "info", "debug", "warn", "error"}
	methods   = []string{"GET", "GET", "GET", "GET", "POST", "PUT", "DELETE"}
	routes    = []string{"/v1/basket/%d/lines", "/v1/products/%d", "/v1/search?page=%d", "/v2/customers/%d/address", "/v2/orders/%d", "/v2/payments/%d/capture"}
	statuses  = []int{200, 200, 200, 200, 200, 201, 204, 304, 400, 404, 429, 500, 503}
	agents    = []string{"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:131.0) Gecko/20100101 Firefox/131.0", "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_6) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.6 Safari/605.1.15", "curl/8.9.1", "shop-android/7.2.0 (Pixel 8)", "health-probe/1.0"}
	messages  = []string{"request served", "upstream answered late, served from the replica", `could not parse \"quantity\": want a number`, "voucher accepted", "session renewed for a customer in Zürich", "rate limit reached, asked the caller to wait", `wrote C:\\exports\\daily.csv`, "payment captured after one retry"}
	zones     = []string{"eu-west-1a", "eu-west-1b", "us-east-1c", "ap-south-1a"}
	errorKind = []string{"timeout", "conflict", "unavailable"}
)

// fill writes whole events up to size bytes, at least one.
func fill(w io.Writer, seed uint64, size int64) (dataset, error) {
	r := rand.New(rand.NewPCG(seed, 480))
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(seed) * time.Hour)
	var d dataset
	var b []byte
	for {
		at = at.Add(time.Duration(r.IntN(50)) * time.Millisecond)
		b = appendEvent(b[:0], r, at, d.Records)
		if d.Records > 0 && d.Bytes+int64(len(b)) > size {
			return d, nil
		}
		if _, err := w.Write(b); err != nil {
			return d, err
		}
		d.Records++
		d.Bytes += int64(len(b))
	}
}

func appendEvent(b []byte, r *rand.Rand, at time.Time, seq int64) []byte {
	b = append(b, `{"ts":"`...)
	b = at.AppendFormat(b, `2006-01-02T15:04:05.000Z"`)
	b = appendText(b, "level", pick(r, levels))
	b = appendText(b, "service", pick(r, services))
	b = appendText(b, "host", fmt.Sprintf("node-%03d.%s.internal", r.IntN(240), pick(r, zones)))
	b = appendText(b, "trace_id", fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64()))
	b = append(b, `,"seq":`...)
	b = strconv.AppendInt(b, seq, 10)
	b = append(b, `,"user_id":`...)
	b = strconv.AppendInt(b, r.Int64N(3_000_000), 10)
	b = appendText(b, "message", pick(r, messages))
	b = append(b, `,"http":{"method":"`...)
	b = append(b, pick(r, methods)...)
	b = append(b, '"')
	b = appendText(b, "path", fmt.Sprintf(pick(r, routes), r.IntN(200_000)))
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(pick(r, statuses)), 10)
	b = append(b, `,"bytes":`...)
	b = strconv.AppendInt(b, int64(r.IntN(120_000)), 10)
	b = append(b, `,"duration_ms":`...)
	b = strconv.AppendFloat(b, r.ExpFloat64()*40, 'f', 3, 64)
	b = appendText(b, "user_agent", pick(r, agents))
	b = append(b, `},"tags":["`...)
	b = append(b, pick(r, zones)...)
	b = append(b, `","build-`...)
	b = strconv.AppendInt(b, int64(r.IntN(9)), 10)
	b = append(b, `"],"error":`...)
	if r.IntN(4) > 0 {
		return append(b, "null}\n"...)
	}
	b = append(b, `{"kind":"`...)
	b = append(b, pick(r, errorKind)...)
	b = append(b, `","stack":"shop/store.(*Client).Do\n\tstore/client.go:118\nshop/api.(*Server).handle\n\tapi/server.go:64"}}`...)
	return append(b, '\n')
}

// appendText appends a member after the first. v is JSON text already.
func appendText(b []byte, name, v string) []byte {
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":"`...)
	b = append(b, v...)
	return append(b, '"')
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }
