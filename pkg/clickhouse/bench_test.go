package clickhouse_test

import (
	"testing"

	"github.com/spate-go/spate/pkg/clickhouse"
)

// access is ten columns, as logs have them, and the values of a row.
func access(b *testing.B) (clickhouse.Columns, [][]byte) {
	cols := table(b, "ts", "DateTime64(3)", "level", "LowCardinality(String)", "service", "LowCardinality(String)", "host", "String",
		"seq", "UInt64", "user_id", "UInt32", "message", "String", "status", "UInt16", "duration_ms", "Float64", "tags", "Array(String)")
	var values [][]byte
	for _, v := range []string{`"2026-07-01T01:00:00.002Z"`, `"INFO"`, `"checkout"`, `"ip-10-4-77.ec2.internal"`, "1", "1561164",
		`"cache miss, falling back to the primary store"`, "400", "47.082", `["eu-central-1","canary-3"]`} {
		values = append(values, []byte(v))
	}
	return cols, values
}

func BenchmarkRow(b *testing.B) {
	cols, values := access(b)
	e := encoder(b, cols, clickhouse.RowOptions{})
	var row []byte
	var err error
	b.ReportAllocs()
	for b.Loop() {
		if row, err = e.Append(row[:0], values); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(row)))
}

func BenchmarkNative(b *testing.B) {
	cols, values := access(b)
	e := encoder(b, cols, clickhouse.RowOptions{})
	n, err := clickhouse.NewNative(cols)
	if err != nil {
		b.Fatal(err)
	}
	const count = 10_000
	var rows, block []byte
	for range count {
		if rows, err = e.Append(rows, values); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(rows)))
	b.ReportAllocs()
	for b.Loop() {
		if block, err = n.Append(block[:0], rows, count); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/row")
}
