package clickhousesink_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/go-faster/city"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// unpacked undoes a body's compression as a server does.
func unpacked(b []byte, encoding, decompress string) ([]byte, error) {
	if decompress == "1" {
		return blocks(b)
	}
	switch encoding {
	case "gzip":
		r, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	case "zstd":
		r, err := zstd.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(r)
	case "":
		return b, nil
	}
	return nil, fmt.Errorf("unknown encoding %s", encoding)
}

// blocks reads the server's own compressed blocks.
func blocks(b []byte) (out []byte, err error) {
	for len(b) > 0 {
		if len(b) < 25 {
			return nil, errors.New("a block has no header")
		}
		method, size, plain := b[16], binary.LittleEndian.Uint32(b[17:]), binary.LittleEndian.Uint32(b[21:])
		if size < 9 || int(size)+16 > len(b) {
			return nil, errors.New("a block is cut")
		}
		sum := city.CH128(b[16 : 16+size])
		if sum.Low != binary.LittleEndian.Uint64(b) || sum.High != binary.LittleEndian.Uint64(b[8:]) {
			return nil, errors.New("checksum doesn't match")
		}
		data, at := b[25:16+size], len(out)
		out = append(out, make([]byte, plain)...)
		n := copy(out[at:], data)
		if method == 0x82 {
			n, err = lz4.UncompressBlock(data, out[at:])
		}
		if err != nil || n != int(plain) || method != 0x82 && method != 0x02 {
			return nil, fmt.Errorf("a block of method %x has %d bytes of %d: %w", method, n, plain, err)
		}
		b = b[16+size:]
	}
	return out, nil
}

// reader reads what a server does, and remembers that it could not.
type reader struct {
	b        []byte
	bad      bool
	defaults bool // a byte before each value says whether there is none
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) varint() int {
	n, size := binary.Uvarint(r.b)
	r.take(max(size, 0))
	r.bad = r.bad || size <= 0
	return int(n)
}

func (r *reader) text() string { return string(r.take(r.varint())) }

// value reads one of the types that the tests use.
func (r *reader) value(kind string) any {
	if r.defaults {
		if b := r.take(1); b != nil && b[0] == 1 {
			return map[string]any{"String": "", "Int32": int32(0), "UInt64": uint64(0)}[kind]
		}
	}
	switch kind {
	case "String":
		return r.text()
	case "Int32":
		if b := r.take(4); b != nil {
			return int32(binary.LittleEndian.Uint32(b))
		}
	case "UInt64":
		if b := r.take(8); b != nil {
			return binary.LittleEndian.Uint64(b)
		}
	}
	r.bad = true
	return nil
}

// parse makes rows of a body. Those of one column of text are that text.
func (t *table) parse(body []byte, columns []string, format string) ([]string, *fault) {
	types := make([]string, len(columns))
	for i, n := range columns {
		at := slices.IndexFunc(t.columns, func(c column) bool { return c.Name == n })
		if at < 0 {
			return nil, &fault{16, "No such column " + n}
		}
		if k := t.columns[at].Kind; k == "MATERIALIZED" || k == "ALIAS" {
			return nil, &fault{44, "Cannot insert column " + n}
		}
		types[i] = t.columns[at].Type
	}
	r := &reader{b: body}
	var rows []string
	switch format {
	case "JSONEachRow":
		return oneText(lines(body), columns), nil
	case "Native":
		rows = r.native(columns, types)
	case "RowBinaryWithNamesAndTypes":
		for _, want := range append([]string{}, slices.Concat(columns, types)...) {
			if len(rows) == 0 && len(body) == len(r.b) && r.varint() != len(columns) {
				return nil, &fault{117, "the header has another number of columns"}
			}
			if got := r.text(); got != want {
				return nil, &fault{117, fmt.Sprintf("Type of a column must be %s, not %s", want, got)}
			}
		}
		rows = r.rows(columns, types)
	case "RowBinary":
		rows = r.rows(columns, types)
	case "RowBinaryWithDefaults":
		r.defaults = true
		rows = r.rows(columns, types)
	default:
		return nil, &fault{73, "Unknown format " + format}
	}
	if r.bad {
		return nil, &fault{33, "Cannot read all data"}
	}
	return rows, nil
}

// oneText are the rows of one column of text as that text.
func oneText(rows, columns []string) []string {
	for i := range rows {
		var values map[string]string
		if len(columns) == 1 && json.Unmarshal([]byte(rows[i]), &values) == nil {
			rows[i] = values[columns[0]]
		}
	}
	return rows
}

func (r *reader) rows(columns, types []string) (rows []string) {
	for len(r.b) > 0 && !r.bad {
		values := make([]any, len(types))
		for i, kind := range types {
			values[i] = r.value(kind)
		}
		rows = append(rows, asText(columns, values))
	}
	return rows
}

func (r *reader) native(columns, types []string) (rows []string) {
	for len(r.b) > 0 && !r.bad {
		n, count := r.varint(), r.varint()
		if n != len(columns) || count > len(r.b) {
			r.bad = true
			return nil
		}
		block := make([][]any, count)
		for i := range columns {
			if r.text() != columns[i] || r.text() != types[i] {
				r.bad = true
				return nil
			}
			for j := range block {
				block[j] = append(block[j], r.value(types[i]))
			}
		}
		for _, values := range block {
			rows = append(rows, asText(columns, values))
		}
	}
	return rows
}

func asText(columns []string, values []any) string {
	if s, ok := values[0].(string); ok && len(values) == 1 {
		return s
	}
	b := []byte{'{'}
	for i, v := range values {
		b = append(strconv.AppendQuote(b, columns[i]), ':')
		switch v := v.(type) {
		case string:
			b = strconv.AppendQuote(b, v)
		case int32:
			b = strconv.AppendInt(b, int64(v), 10)
		case uint64:
			b = strconv.AppendUint(b, v, 10)
		}
		b = append(b, ',')
	}
	b[len(b)-1] = '}'
	return string(b)
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}
