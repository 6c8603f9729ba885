package clickhousesink

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/go-faster/city"

	"github.com/spate-go/spate/pkg/clickhouse"
)

// key is a sharding key: a hash of one column of a row.
type key struct {
	column int
	zero   []byte                             // stands for a value that a row leaves to the server
	hash   func(value []byte) (uint64, error) // of the value as encoded
}

var keyForm = regexp.MustCompile("^(?:([A-Za-z0-9]+)\\( *)?(`[^`]+`|[A-Za-z_][A-Za-z0-9_.]*)(?: *(\\)))?$")

// shardingKey is that of the options, nil where whole blocks go to shards.
func (s *Sink) shardingKey() (*key, error) {
	text := strings.TrimSpace(s.o.Sharding.Key)
	if text == "" || text == "rand()" || len(s.shards) == 1 {
		return nil, nil
	}
	if s.o.Format == JSONEachRow {
		return nil, wrong("sharding key %s: rows of %s are not looked into: use %s, or rand()", text, JSONEachRow, RowBinary)
	}
	m := keyForm.FindStringSubmatch(text)
	if m == nil || (m[1] == "") != (m[3] == "") {
		return nil, wrong("sharding key %s: want a column, or intHash64, xxHash64, cityHash64 or sipHash64 of one", text)
	}
	name := strings.Trim(m[2], "`")
	i := slices.Index(s.made.Columns.Names(), name)
	if i < 0 {
		return nil, wrong("sharding key %s: rows have no column %s", text, name)
	}
	if s.o.Defaults && s.made.Columns[i].Default != "" {
		return nil, wrong("sharding key %s: column %s has a default that only the server knows: write another key", text, name)
	}
	t := s.made.Columns[i].Type
	hash, err := hashOf(m[1], t)
	if err != nil {
		return nil, wrong("sharding key %s: %w", text, err)
	}
	return &key{i, t.AppendZero(nil), hash}, nil
}

// hashOf is a function of the server on values of a type, which are encoded with
// the width that the type has, so that an Int32 hashes otherwise than an Int64.
func hashOf(function string, t *clickhouse.Type) (func([]byte) (uint64, error), error) {
	if t.Nullable() {
		return nil, fmt.Errorf("%s may be NULL, which has no shard", t)
	}
	scalar := t.Scalar()
	text := scalar.Name() == "String" || scalar.Name() == "FixedString"
	prefixed := scalar.Name() == "String"
	signed, number := integers[scalar.Name()]
	if !text && !number {
		return nil, fmt.Errorf("a key of type %s is not known: want an integer, Date, DateTime or String", t)
	}
	var f func(b []byte) uint64
	integer := func(b []byte) uint64 { return widen(b, signed) }
	switch function {
	case "":
		if !number {
			return nil, fmt.Errorf("%s is no integer", t)
		}
		f = func(b []byte) uint64 { return remaindered(integer(b), len(b)) }
	case "intHash64":
		if !number {
			return nil, fmt.Errorf("intHash64 takes integers, and this is %s", t)
		}
		f = func(b []byte) uint64 { return intHash64(integer(b)) }
	case "cityHash64":
		f = city.CH64
		if number {
			f = func(b []byte) uint64 { return intHash64(widen(b, false)) }
		}
	case "xxHash64":
		f = xxhash.Sum64
	case "sipHash64":
		f = sipHash64
	default:
		return nil, fmt.Errorf("function %s is not known: want intHash64, xxHash64, cityHash64 or sipHash64", function)
	}
	return func(value []byte) (uint64, error) {
		if prefixed {
			n, size := binary.Uvarint(value)
			if size <= 0 || uint64(len(value)-size) != n {
				return 0, fmt.Errorf("its value is cut")
			}
			value = value[size:]
		}
		return f(value), nil
	}, nil
}

// integers are the types whose values are integers of at most 64 bits, by whether
// they have a sign.
var integers = map[string]bool{
	"Int8": true, "Int16": true, "Int32": true, "Int64": true,
	"UInt8": false, "UInt16": false, "UInt32": false, "UInt64": false,
	"Date": false, "DateTime": false, "Bool": false,
}

// remaindered is what the server takes the remainder of for a key that is an
// integer itself: of a narrow one as of 32 bits, which makes the negative ones
// other numbers.
func remaindered(v uint64, width int) uint64 {
	if width < 8 {
		return uint64(uint32(v))
	}
	return v
}

// widen is an integer as an unsigned one of 64 bits.
func widen(b []byte, signed bool) uint64 {
	var v uint64
	for i, c := range b {
		v |= uint64(c) << (8 * i)
	}
	if signed && len(b) < 8 {
		shift := 64 - 8*len(b)
		v = uint64(int64(v<<shift) >> shift)
	}
	return v
}

// intHash64 is MurmurHash's finalizer, of a value that 0 does not map to 0 for.
func intHash64(x uint64) uint64 {
	x ^= 0x4cf2d2baae6da887
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// sipHash64 is SipHash-2-4 under the key of zeros.
func sipHash64(b []byte) uint64 {
	v := [4]uint64{0x736f6d6570736575, 0x646f72616e646f6d, 0x6c7967656e657261, 0x7465646279746573}
	last := uint64(len(b)) << 56
	for ; len(b) >= 8; b = b[8:] {
		m := binary.LittleEndian.Uint64(b)
		v[3] ^= m
		sipRounds(&v, 2)
		v[0] ^= m
	}
	last |= widen(b, false)
	v[3] ^= last
	sipRounds(&v, 2)
	v[0] ^= last
	v[2] ^= 0xff
	sipRounds(&v, 4)
	return v[0] ^ v[1] ^ v[2] ^ v[3]
}

func sipRounds(v *[4]uint64, n int) {
	for range n {
		v[0] += v[1]
		v[1] = bits.RotateLeft64(v[1], 13) ^ v[0]
		v[0] = bits.RotateLeft64(v[0], 32)
		v[2] += v[3]
		v[3] = bits.RotateLeft64(v[3], 16) ^ v[2]
		v[0] += v[3]
		v[3] = bits.RotateLeft64(v[3], 21) ^ v[0]
		v[2] += v[1]
		v[1] = bits.RotateLeft64(v[1], 17) ^ v[2]
		v[2] = bits.RotateLeft64(v[2], 32)
	}
}
