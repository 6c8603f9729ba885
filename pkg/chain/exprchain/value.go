package exprchain

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/expr-lang/expr/parser"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
	"github.com/spate-go/spate/pkg/jsontext"
)

// maker makes a value as JSON, which stays as long as the record.
type maker func(s *scope) ([]byte, error)

// value compiles an expression whose value is wanted. One that only names a
// value copies it as it is written.
func (p *plan) value(text string) (maker, error) {
	c := checkerConfig()
	tree, err := parser.ParseWithConfig(text, c)
	if err != nil {
		return nil, oneLine(err)
	}
	if v, ok := literal(tree.Node); ok {
		raw, err := appendJSON(nil, v, 0)
		return func(*scope) ([]byte, error) { return raw, err }, err
	}
	w := &rewriter{plan: p, builtins: c.Builtins, strict: true}
	w.names(tree.Node)
	if w.err == nil {
		if f, ok := w.source(tree.Node); ok && w.err == nil {
			return named(f), nil
		}
	}
	if w.err == nil {
		tree.Node = w.rewrite(tree.Node)
	}
	program, err := w.program(tree, c)
	if err != nil {
		return nil, err
	}
	return func(s *scope) ([]byte, error) {
		v, err := s.run(program)
		if err != nil {
			return nil, err
		}
		return s.build(func(dst []byte) ([]byte, error) { return appendJSON(dst, v, 0) })
	}, nil
}

// named is the value of a source.
func named(f source) maker {
	if f.inRecord() {
		return func(s *scope) ([]byte, error) { return s.orNull(s.raw(f)), nil }
	}
	return func(s *scope) ([]byte, error) {
		return s.build(func(dst []byte) ([]byte, error) { return s.appendValue(dst, f), nil })
	}
}

// maxDepth bounds the nesting of values that expressions make; those of records
// are bounded by the decoder.
const maxDepth = 20_000

// appendJSON appends the value of an expression. The members of an object are
// in the order of their names.
func appendJSON(dst []byte, v any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return dst, errors.New("the value is nested too deep")
	}
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case float64:
		return appendFloat(dst, v)
	case jsondecode.Number:
		return append(dst, v...), nil
	case string:
		return jsontext.AppendQuoted(dst, v), nil
	case time.Time:
		return v.UTC().AppendFormat(dst, `"`+time.RFC3339Nano+`"`), nil
	case time.Duration:
		return jsontext.AppendQuoted(dst, v.String()), nil
	case []any:
		return appendArray(dst, v, depth)
	case []int:
		return appendArray(dst, v, depth)
	case []string:
		return appendArray(dst, v, depth)
	case map[string]any:
		return appendMap(dst, v, depth)
	}
	return dst, fmt.Errorf("a value of type %T has no JSON form", v)
}

func appendArray[T any](dst []byte, list []T, depth int) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendJSON(dst, v, depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func appendMap(dst []byte, m map[string]any, depth int) (_ []byte, err error) {
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsontext.AppendQuoted(dst, name), ':')
		if dst, err = appendJSON(dst, m[name], depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// appendFloat appends the shortest number that is read as f, without an
// exponent where that is readable.
func appendFloat(dst []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, errors.New("the result is not a number")
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, 64), nil
}
