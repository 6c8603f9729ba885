package clickhousesink

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/go-faster/city"

	"github.com/spate-go/spate/pkg/clickhouse"
)

// key is a sharding key: a column of a row, or a hash of some.
type key struct {
	made    clickhouse.Rows
	columns []keyColumn
	combine func(sum, next uint64) uint64 // of the columns so far, and of one more
}

type keyColumn struct {
	index int
	zero  []byte                    // stands for a value that a row leaves to the server
	hash  func(value []byte) uint64 // of the value as encoded
}

// shardingKey is that of the options, nil where whole blocks go to shards.
func (s *Sink) shardingKey() (*key, error) {
	text := s.o.Sharding.Key
	f, ok := parseFormula(text)
	switch {
	case ok && f.random() || len(s.shards) == 1:
		return nil, nil
	case s.o.Format == JSONEachRow:
		return nil, wrong("sharding key %s: rows of %s are not looked into: use %s, or rand()", text, JSONEachRow, RowBinary)
	case !ok:
		return nil, wrong("sharding key %s: want %s", text, knownKeys)
	}
	k, err := f.key(s.made)
	if err != nil {
		return nil, wrong("sharding key %s: %w: want %s", text, err, knownKeys)
	}
	return k, nil
}

const knownKeys = "a column of integers, intHash32 or intHash64 of one, or cityHash64, sipHash64 or xxHash64 of one or several columns; " +
	"for another key write to the distributed table itself, at one url, and the server divides the rows"

// formula is a sharding key as it is written: a column, or a function of columns.
type formula struct {
	function string // "": the column itself
	columns  []string
}

const (
	wordForm  = "(?:`[^`\\\\]+`|[A-Za-z_][A-Za-z0-9_]*)"
	nameForm  = wordForm + `(?:\.` + wordForm + `)*`
	namesForm = nameForm + `(?:\s*,\s*` + nameForm + `)*`
)

var (
	columnName  = regexp.MustCompile(nameForm)
	formulaForm = regexp.MustCompile(`^(?:([A-Za-z0-9_]+)\s*\(\s*(` + namesForm + `)?\s*\)|(` + nameForm + `))$`)
)

// parseFormula reads a key: spaces and what is quoted without need make no
// difference. No key is rand(), as it is to the server.
func parseFormula(text string) (f formula, ok bool) {
	text = strings.TrimSpace(text)
	if text == "" {
		return formula{function: "rand"}, true
	}
	m := formulaForm.FindStringSubmatch(text)
	if m == nil {
		return f, false
	}
	f.function = m[1]
	for _, name := range columnName.FindAllString(m[2]+m[3], -1) {
		f.columns = append(f.columns, strings.ReplaceAll(name, "`", ""))
	}
	return f, f.function == "rand" || len(f.columns) > 0
}

func (f formula) random() bool { return f.function == "rand" && len(f.columns) == 0 }

func (f formula) equal(other formula) bool {
	return f.function == other.function && slices.Equal(f.columns, other.columns)
}

// key is the formula for such rows.
func (f formula) key(made clickhouse.Rows) (*key, error) {
	of, ok := functions[f.function]
	switch {
	case !ok:
		return nil, fmt.Errorf("function %s is not known", f.function)
	case len(f.columns) > 1 && of.combine == nil:
		return nil, fmt.Errorf("%s takes one column", f.function)
	}
	k := &key{made: made, combine: of.combine}
	for _, name := range f.columns {
		i := slices.Index(made.Columns.Names(), name)
		if i < 0 {
			return nil, fmt.Errorf("rows have no column %s", name)
		}
		c := made.Columns[i]
		if made.Defaults && c.Default != "" {
			return nil, fmt.Errorf("column %s has a default that only the server knows", name)
		}
		hash, err := of.on(c.Type)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", name, err)
		}
		k.columns = append(k.columns, keyColumn{i, c.Type.AppendZero(nil), hash})
	}
	return k, nil
}

// of is the key of a row.
func (k *key) of(row []byte) (uint64, error) {
	var sum uint64
	for i, c := range k.columns {
		value, err := k.made.Value(row, c.index)
		if err != nil {
			return 0, err
		}
		if value == nil {
			value = c.zero
		}
		h := c.hash(value)
		if i > 0 {
			h = k.combine(sum, h)
		}
		sum = h
	}
	return sum, nil
}

// function is one of the server's.
type function struct {
	integer func(b []byte, signed bool) uint64 // of an integer as encoded; nil: as bytes
	bytes   func(b []byte) uint64              // nil: it takes integers alone
	combine func(sum, next uint64) uint64      // nil: it takes one column
}

var functions = map[string]function{
	"":           {integer: remaindered},
	"intHash32":  {integer: func(b []byte, signed bool) uint64 { return uint64(intHash32(widen(b, signed))) }},
	"intHash64":  {integer: func(b []byte, signed bool) uint64 { return intHash64(widen(b, signed)) }},
	"cityHash64": {integer: func(b []byte, _ bool) uint64 { return intHash64(widen(b, false)) }, bytes: city.CH64, combine: cityPair},
	"sipHash64":  {bytes: sipHash64, combine: sipPair},
	"xxHash64":   {bytes: xxhash.Sum64, combine: cityPair},
}

// on is the function on values of a type, which are encoded with the width that
// the type has, so that an Int32 hashes otherwise than an Int64.
func (f function) on(t *clickhouse.Type) (func([]byte) uint64, error) {
	name := t.Scalar().Name()
	signed, integer := integers[name]
	switch {
	case t.Nullable():
		return nil, fmt.Errorf("%s may be NULL, which has no shard", t)
	case integer && f.integer != nil:
		return func(b []byte) uint64 { return f.integer(b, signed) }, nil
	case f.bytes == nil:
		return nil, fmt.Errorf("%s is not an integer", t)
	case integer || name == "FixedString" || name == "UUID" || name == "IPv6":
		return f.bytes, nil
	case name == "String":
		return func(b []byte) uint64 {
			_, size := binary.Uvarint(b)
			return f.bytes(b[size:])
		}, nil
	}
	return nil, fmt.Errorf("%s is not a type of keys, which are integers to 64 bits, Bool, Date, DateTime, Enum, IPv4, IPv6, UUID, String and FixedString", t)
}

// integers are the types whose values are integers of at most 64 bits, by whether
// they have a sign.
var integers = map[string]bool{
	"Int8": true, "Int16": true, "Int32": true, "Int64": true,
	"UInt8": false, "UInt16": false, "UInt32": false, "UInt64": false,
	"Bool": false, "Date": false, "DateTime": false, "Enum8": true, "Enum16": true, "IPv4": false,
}

// remaindered is what the server takes the remainder of for a key that is an
// integer itself: of a narrow one as of 32 bits, which makes the negative ones
// other numbers.
func remaindered(b []byte, signed bool) uint64 {
	v := widen(b, signed)
	if len(b) < 8 {
		return uint64(uint32(v))
	}
	return v
}
