package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

const table = "clickhouseload"

// remake makes the table anew.
func remake(ctx context.Context, url string) error {
	for _, sql := range []string{
		"DROP TABLE IF EXISTS " + table + " SYNC",
		"CREATE TABLE " + table + ` (id UInt64, ts DateTime64(3, 'UTC'), level LowCardinality(String), service LowCardinality(String),
			host String, path String, status UInt16, bytes UInt32, took Float64, error Nullable(String))
			ENGINE = MergeTree ORDER BY (service, ts) SETTINGS non_replicated_deduplication_window = 1000`,
	} {
		if _, err := ask(ctx, url, sql); err != nil {
			return err
		}
	}
	return nil
}

// generate writes NDJSON of so many rows into dir, in files of 64 MB or so.
func generate(dir string, rows int) (total int64, err error) {
	r := rand.New(rand.NewPCG(1, 2))
	from := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	const perFile = 400_000
	for first := 0; first < rows; first += perFile {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("part-%03d.ndjson", first/perFile)))
		if err != nil {
			return 0, err
		}
		w := bufio.NewWriterSize(f, 1<<20)
		var line []byte
		for id := first; id < min(first+perFile, rows); id++ {
			line = record(line[:0], r, id, from)
			total += int64(len(line))
			if _, err := w.Write(line); err != nil {
				return 0, err
			}
		}
		if err := w.Flush(); err != nil {
			return 0, err
		}
		if err := f.Close(); err != nil {
			return 0, err
		}
	}
	return total, nil
}

func record(b []byte, r *rand.Rand, id int, from time.Time) []byte {
	b = strconv.AppendInt(append(b, `{"id":`...), int64(id), 10)
	b = from.Add(time.Duration(id)*7*time.Millisecond).AppendFormat(append(b, `,"ts":"`...), "2006-01-02T15:04:05.000Z")
	b = append(append(b, `","level":"`...), [...]string{"info", "warn", "error"}[r.IntN(3)]...)
	b = append(append(b, `","service":"`...), [...]string{"billing", "catalogue", "delivery", "search", "login"}[r.IntN(5)]...)
	b = append(strconv.AppendInt(append(b, `","host":"node-`...), r.Int64N(300), 10), `.internal","path":"/v2/orders/`...)
	b = append(strconv.AppendInt(b, r.Int64N(100_000), 10), `/items","status":`...)
	b = strconv.AppendInt(append(strconv.AppendInt(b, 200+r.Int64N(400), 10), `,"bytes":`...), r.Int64N(100_000), 10)
	b = strconv.AppendFloat(append(b, `,"took":`...), float64(r.Int64N(100_000))/1000, 'f', -1, 64)
	if r.IntN(20) > 0 {
		return append(b, ",\"error\":null}\n"...)
	}
	return append(b, ",\"error\":\"timeout of the database\"}\n"...)
}
