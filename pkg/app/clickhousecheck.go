package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spate-go/spate/pkg/config"
	"github.com/spate-go/spate/pkg/segment"
	"github.com/spate-go/spate/pkg/sink/clickhousesink"
)

// checkTable looks at the table on every replica, and says which column is
// filled with what.
func checkTable(ctx context.Context, c *Config, p Pipeline, what string, s *ClickHouseSinkConfig) []checked {
	t, err := openTable(ctx, c, p, s)
	if err != nil {
		return []checked{{what, failed, err.Error()}}
	}
	defer func() { _ = t.Close() }() // it has written nothing
	d := t.Description()
	all := []checked{{what, passed, fmt.Sprintf("table %s.%s of engine %s at %s, version %s; no write was tried",
		d.Database, d.Table, cmp.Or(d.Engine, "unknown"), strings.Join(s.servers(), ", "), d.Version)}}
	for _, column := range d.Columns {
		outcome := passed
		if !column.Used && column.Kind == "" && !strings.HasPrefix(column.Type, "Nullable(") {
			outcome = doubtful
		}
		all = append(all, checked{what + ".columns" + keyed(column.Name), outcome, column.Type + " " + t.from(column)})
	}
	for _, m := range t.unused {
		all = append(all, checked{what, doubtful, "the rows' member " + m + " has no column and is left out"})
	}
	for _, f := range d.Findings {
		outcome := passed
		if f.Warning {
			outcome = doubtful
		}
		all = append(all, checked{what, outcome, f.Text})
	}
	if c.Feed.SQS != nil {
		all = append(all, checked{what, passed, s.rate()})
	}
	return all
}

// servers are all replicas.
func (s *ClickHouseSinkConfig) servers() []string {
	var all []string
	for _, shard := range s.options().Shards {
		all = append(all, shard.Replicas...)
	}
	return all
}

// from says what a column is filled with.
func (t *clickHouseTable) from(c clickhousesink.Column) string {
	i := slices.IndexFunc(t.fills, func(f fill) bool { return f.column == c.Name })
	switch {
	case c.Used && i < 0:
		return "from the rows as they come"
	case c.Used:
		return "from " + t.fills[i].path
	case c.Kind == "":
		return "is not filled: it has the default of its type"
	}
	return "is not filled: " + c.Kind
}

// rate says how often a continuous job inserts, for a person to judge.
func (s *ClickHouseSinkConfig) rate() string {
	text := fmt.Sprintf("one insert for each unit and %v of it: with the batching window of 5 s, a continuous job makes 0.2 a second or more, and a table takes about one",
		config.Size(int64(s.segments())*segment.Bytes))
	if s.AsyncInsert == "wait" {
		return text + ", or many if the server batches them, as with async_insert: wait"
	}
	return text + "; a longer window makes fewer, and async_insert: wait lets the server batch them"
}
