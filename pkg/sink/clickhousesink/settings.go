package clickhousesink

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// setting is one that this package sets.
type setting struct {
	name, value string
	// must says that the insert would not be what its ack says without it, so it
	// is sent to servers that do not know it too, and they refuse it.
	must bool
}

// reserved are the settings that the meaning of an ack rests on, by what to use
// instead.
var reserved = map[string]string{
	"insert_deduplication_token":                         "every block has its own",
	"insert_deduplicate":                                 "the table's window deduplicates; see dedup",
	"deduplicate_insert":                                 "the table's window deduplicates; see dedup",
	"async_insert_deduplicate":                           "see async_insert and dedup",
	"deduplicate_blocks_in_dependent_materialized_views": "see dedup",
	"insert_deduplication_version":                       "tokens of one job have one form",
	"wait_end_of_query":                                  "an ack is the end of the insert",
	"async_insert":                                       "use async_insert beside settings",
	"wait_for_async_insert":                              "use async_insert: wait",
	"insert_quorum":                                      "use quorum",
	"insert_distributed_sync":                            "an ack is the end of the insert",
	"distributed_foreground_insert":                      "an ack is the end of the insert",
	"max_insert_block_size":                              "an insert is one block; use max_rows",
	"max_insert_block_size_rows":                         "an insert is one block; use max_rows",
	"max_insert_block_size_bytes":                        "an insert is one block; use max_bytes",
	"min_insert_block_size_rows":                         "an insert is one block",
	"min_insert_block_size_bytes":                        "an insert is one block",
	"input_format_max_block_size_bytes":                  "an insert is one block; use max_bytes",
	"input_format_with_names_use_header":                 "columns are compared by name",
	"input_format_with_types_use_header":                 "columns are compared by type",
	"input_format_native_allow_types_conversion":         "no value is cast on the way",
	"input_format_binary_read_json_as_string":            "set as the format needs it",
	"materialized_views_ignore_errors":                   "a view that fails fails the insert",
	"input_format_allow_errors_num":                      "use rejected",
	"input_format_allow_errors_ratio":                    "use rejected",
	"decompress":                                         "use compression",
	"compress":                                           "use compression",
	"query":                                              "the insert is written for the table",
	"query_id":                                           "one would be taken for the other's repeat",
	"session_id":                                         "inserts of a session cannot overlap",
	"database":                                           "use database beside settings",
	"default_format":                                     "use format",
	"format":                                             "use format",
	"user":                                               "use user beside settings",
	"password":                                           "use password beside settings",
}

func (o *Options) checkSettings() error {
	for _, name := range sortedKeys(o.Settings) {
		if instead, ok := reserved[name]; ok {
			return wrong("setting %s is reserved: %s", name, instead)
		}
		if name == "" {
			return wrong("a setting has no name")
		}
	}
	return nil
}

// settings are those of every insert, ahead of the user's.
//
// One insert is one block, for deduplication and for what a failure leaves. The
// server forms blocks of an insert twice: the format makes blocks of at most
// max_insert_block_size rows (and lately of so many bytes), those of parallel
// parsing or of Native being smaller; then blocks are joined until there are
// min_insert_block_size_rows or _bytes. So the first is set to as many rows as a
// block has at most, which makes the first step never cut, and the second to as
// many, with no count of bytes, which makes the second join all there is. Each
// server then makes the same parts of the same insert, whatever its profile says,
// and a repeat on another replica is recognised part by part.
func (o *Options) settings() []setting {
	rows := strconv.Itoa(o.MaxRows)
	list := []setting{
		{"wait_end_of_query", "1", true},
		{"insert_deduplicate", "1", true},
		{"deduplicate_insert", "enable", false},
		{"max_insert_block_size", rows, true},
		{"max_insert_block_size_bytes", "0", false},
		{"input_format_max_block_size_bytes", "0", false},
		{"min_insert_block_size_rows", rows, true},
		{"min_insert_block_size_bytes", "0", true},
		{"materialized_views_ignore_errors", "0", false},
		{"input_format_allow_errors_num", "0", false},
		{"input_format_allow_errors_ratio", "0", false},
		{"insert_distributed_sync", "1", false}, // also the alias of distributed_foreground_insert
	}
	if o.Quorum != "" {
		// The server gives up waiting ahead of the sink, and says what for.
		wait := strconv.FormatInt((o.Timeout * 3 / 4).Milliseconds(), 10)
		list = append(list, setting{"insert_quorum", o.Quorum, true}, setting{"insert_quorum_timeout", wait, false})
	}
	return append(append(list, o.async()...), o.formatSettings()...)
}

// async are the settings of the way of inserting. Older servers refuse an async
// insert that is to be recognised in views, so it is not asked for.
func (o *Options) async() []setting {
	if o.AsyncInsert == AsyncWait {
		return []setting{
			{"async_insert", "1", true}, {"wait_for_async_insert", "1", true}, {"async_insert_deduplicate", "1", false},
			{"deduplicate_blocks_in_dependent_materialized_views", "0", false},
		}
	}
	return []setting{{"async_insert", "0", false}, {"deduplicate_blocks_in_dependent_materialized_views", "1", false}}
}

func (o *Options) formatSettings() []setting {
	switch o.Format {
	case RowBinary, Native:
		return []setting{
			{"input_format_with_names_use_header", "1", false},
			{"input_format_with_types_use_header", "1", false},
			{"input_format_binary_read_json_as_string", "1", false},
			{"enable_time_time64_type", "1", false},
		}
	case JSONEachRow:
		// A field without a column is a refusal, not a silent loss, and times are
		// read as ISO 8601 writes them; the user's settings may say otherwise.
		return []setting{
			{"input_format_skip_unknown_fields", "0", false},
			{"date_time_input_format", "best_effort", false},
			{"enable_time_time64_type", "1", false},
		}
	}
	return nil
}

// converts reports whether the server has to convert what Native holds: it has
// LowCardinality as the values and JSON as text.
func (s *Sink) converts() bool {
	return slices.ContainsFunc(s.columns, func(c Column) bool {
		return strings.Contains(c.Type, "LowCardinality(") || strings.Contains(c.Type, "JSON")
	})
}

// untyped reports whether a server would take rows of other types for its own.
func (s *Sink) untyped(known map[string]bool) bool {
	switch s.o.Format {
	case RowBinary:
		return s.o.Defaults || !known["input_format_with_types_use_header"]
	case Native:
		return s.converts() || !known[conversion]
	case JSONEachRow:
	}
	return false
}

const conversion = "input_format_native_allow_types_conversion"

// parameters are the settings of an insert at a server that knows those names.
func (s *Sink) parameters(known map[string]bool) url.Values {
	v := url.Values{}
	for _, one := range s.o.settings() {
		if one.must || known[one.name] {
			v.Set(one.name, one.value)
		}
	}
	if s.o.Format == Native && known[conversion] {
		v.Set(conversion, "0")
		if s.converts() {
			v.Set(conversion, "1")
		}
	}
	for name, value := range s.o.Settings {
		v.Set(name, value)
	}
	if s.o.Compression == LZ4 {
		v.Set("decompress", "1")
	}
	return v
}

// asked are the names that a server is asked whether it knows.
func (o *Options) asked() []string {
	names := append(sortedKeys(o.Settings), "insert_deduplication_token", "async_insert", "async_insert_deduplicate", conversion, readonly)
	for _, s := range o.settings() {
		names = append(names, s.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
