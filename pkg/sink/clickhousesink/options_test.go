package clickhousesink_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink/clickhousesink"
)

func TestOptionsThatCannotBeAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*clickhousesink.Options)
		says   string
	}{
		"no table":           {func(o *clickhousesink.Options) { o.Table = "" }, "no table"},
		"no server":          {func(o *clickhousesink.Options) { o.Shards = nil }, "no server"},
		"a shard of nothing": {func(o *clickhousesink.Options) { o.Shards = append(o.Shards, clickhousesink.Shard{}) }, "shard 2 has no replica"},
		"a weight below 0":   {func(o *clickhousesink.Options) { o.Shards[0].Weight = -1 }, "weight -1"},
		"a huge weight":      {func(o *clickhousesink.Options) { o.Shards[0].Weight = 1 << 40 }, "1 to 10000"},
		"no scheme":          {func(o *clickhousesink.Options) { o.Shards[0].Replicas = []string{"ch:8123"} }, "http://host:8123"},
		"the native port's":  {func(o *clickhousesink.Options) { o.Shards[0].Replicas = []string{"clickhouse://ch:9000"} }, "http://host:8123"},
		"a user in it":       {func(o *clickhousesink.Options) { o.Shards[0].Replicas = []string{"http://u@ch:8123"} }, "holds a user"},
		"a query in it":      {func(o *clickhousesink.Options) { o.Shards[0].Replicas = []string{"http://ch:8123?a=b"} }, "use settings"},
		"a replica twice":    {func(o *clickhousesink.Options) { o.Shards[0].Replicas = []string{"http://ch:8123", "http://ch:8123/"} }, "named twice"},
		"a format":           {func(o *clickhousesink.Options) { o.Format = "csv" }, `format "csv"`},
		"a compression":      {func(o *clickhousesink.Options) { o.Compression = "br" }, `compression "br"`},
		"a level of none":    {func(o *clickhousesink.Options) { o.Compression, o.Level = "lz4", 3 }, "lz4 has none"},
		"a high level":       {func(o *clickhousesink.Options) { o.Compression, o.Level = "gzip", 10 }, "gzip has 1 to 9"},
		"a way of inserting": {func(o *clickhousesink.Options) { o.AsyncInsert = "on" }, `async_insert "on"`},
		"a dedup":            {func(o *clickhousesink.Options) { o.Dedup = "yes" }, `dedup "yes"`},
		"a fate of rows":     {func(o *clickhousesink.Options) { o.Rejected = "keep" }, `rejected "keep"`},
		"a quorum":           {func(o *clickhousesink.Options) { o.Quorum = "most" }, `quorum "most"`},
		"a limit":            {func(o *clickhousesink.Options) { o.MaxRows = -1 }, "less than 0"},
		"a timeout":          {func(o *clickhousesink.Options) { o.Timeout = -time.Second }, "less than 0"},
		"a column twice":     {func(o *clickhousesink.Options) { o.Columns = []string{"a", "b", "a"} }, `"a" is named twice`},
		"columns to choose":  {func(o *clickhousesink.Options) { o.Columns, o.Choose = []string{"id"}, chosen("id") }, "are to be chosen"},
		"chosen twice":       {func(o *clickhousesink.Options) { o.Choose = chosen("id", "id") }, `"id" is named twice`},
		"a password's line":  {func(o *clickhousesink.Options) { o.Password = "secret\n" }, "line break"},
		"half a cluster":     {func(o *clickhousesink.Options) { o.Sharding.Cluster = "main" }, "cluster and table"},
		"two transports":     {func(o *clickhousesink.Options) { o.CAFile = "ca.pem" }, "transport"},
		"defaults of native": {func(o *clickhousesink.Options) { o.Defaults, o.Format = true, "native" }, "rowbinary"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(newServer(t, wide()...))
			c.change(&o)
			_, err := clickhousesink.New(t.Context(), o)
			expect(t, err, failure.Job, failure.Config, c.says)
		})
	}
}

func TestSettingsThatAnAckRestsOnAreReserved(t *testing.T) {
	for _, name := range strings.Fields(`insert_deduplication_token insert_deduplicate deduplicate_insert wait_end_of_query async_insert
		wait_for_async_insert decompress compress query query_id database max_insert_block_size min_insert_block_size_rows
		min_insert_block_size_bytes insert_quorum input_format_allow_errors_num user password session_id`) {
		o := options(newServer(t, wide()...))
		o.Settings = map[string]string{"max_threads": "1", name: "1"}
		_, err := clickhousesink.New(t.Context(), o)
		expect(t, err, failure.Job, failure.Config, "setting "+name+" is reserved: ")
	}
	s := newServer(t, wide()...)
	o := options(s)
	o.Settings = map[string]string{"SQL_own": "1", "max_threads": "1"}
	finds(t, open(t, o), true, "setting SQL_own is not one of the server's own")
}

func TestTheUsersSettingsGoBeforeWhatAFormatWants(t *testing.T) {
	s := newServer(t, wide()...)
	o := options(s)
	o.Format = clickhousesink.JSONEachRow
	b := block(0, 0, 1)
	b.Data, b.Ends = []byte("{}\n"), []int{3}
	write(t, open(t, o), b)
	o.Settings = map[string]string{"input_format_skip_unknown_fields": "1"}
	write(t, open(t, o), b)
	for i, want := range []string{"0", "1"} {
		if p := s.all()[i].parameters; p.Get("input_format_skip_unknown_fields") != want || p.Get("date_time_input_format") != "best_effort" {
			t.Errorf("insert %d: %v", i, p)
		}
	}
}

func TestNativeIsConvertedOnlyWhereItHasTo(t *testing.T) {
	for kind, want := range map[string]string{"String": "0", "LowCardinality(String)": "1"} {
		s := newServer(t, column{"name", kind, ""})
		o := options(s)
		o.Format = clickhousesink.Native
		opened := open(t, o)
		b := block(0, 0, 1)
		b.Data, b.Ends = []byte("\x01a"), []int{2}
		_ = opened.Write(t.Context(), b) // which the test's server may not read
		if got := s.all()[0].parameters.Get("input_format_native_allow_types_conversion"); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}
