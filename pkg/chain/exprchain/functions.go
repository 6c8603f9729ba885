package exprchain

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/vm/runtime"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// Names of the functions that operators become. Nobody can write them: a call
// in an expression is looked up among the builtins only.
const (
	fnValue   = "$value"   // env, kind, n
	fnTest    = "$test"    // env, test
	fnTruth   = "$truth"   // strict, v
	fnCompare = "$compare" // strict, relation, a, b
	fnIsNil   = "$isnil"   // v
	fnIn      = "$in"      // strict, v, list or object
	fnText    = "$text"    // strict, operator, a, b
	fnMatch   = "$match"   // strict, pattern, v
	fnGet     = "$get"     // v, key
	fnList    = "$list"    // builtin, v
	fnMath    = "$math"    // operator, a, b
)

// removed are the builtins that would make rows depend on more than the record,
// and what to use instead.
func removed() map[string]string {
	const unordered = "members have no order: name those you mean"
	return map[string]string{
		"now":     "rows depend on the record alone: use object.last_modified",
		"keys":    unordered,
		"values":  unordered,
		"toPairs": unordered,
	}
}

func checkerConfig() *conf.Config {
	c := conf.CreateNew()
	c.Strict = false
	c.MaxNodes = 1000
	for name := range removed() {
		delete(c.Builtins, name)
	}
	condition := new(func(...any) bool)
	for _, o := range []expr.Option{
		expr.Function(fnValue, callValue),
		expr.Function(fnTest, callTest, condition),
		expr.Function(fnTruth, callTruth, condition),
		expr.Function(fnCompare, callCompare, condition),
		expr.Function(fnIsNil, callIsNil, condition),
		expr.Function(fnIn, callIn, condition),
		expr.Function(fnText, callText, condition),
		expr.Function(fnMatch, callMatch, condition),
		expr.Function(fnGet, callGet),
		expr.Function(fnList, callList),
		expr.Function(fnMath, callMath),
	} {
		o(c)
	}
	return c
}

func callValue(p ...any) (any, error) { return p[0].(*scope).value(p[1].(source)), nil }

func callTest(p ...any) (any, error) { return (*p[1].(*test))(p[0].(*scope)) }

func callTruth(p ...any) (any, error) {
	if p[0].(bool) && p[1] == nil {
		return nil, errors.New("want a boolean, got nil: give it a default, as (name ?? false)")
	}
	return truth(p[1])
}

func callCompare(p ...any) (any, error) {
	r := p[1].(relation)
	if p[0].(bool) {
		if err := unlike(r, p[2], p[3]); err != nil {
			return nil, err
		}
	}
	return compare(r, p[2], p[3]), nil
}

func callIsNil(p ...any) (any, error) { return p[0] == nil, nil }

func callIn(p ...any) (any, error) {
	strict := p[0].(bool)
	switch in := p[2].(type) {
	case []any:
		return among(strict, p[1], slices.Values(in))
	case []int: // a range
		return among(strict, p[1], func(yield func(any) bool) {
			for _, v := range in {
				if !yield(v) {
					return
				}
			}
		})
	case map[string]any:
		if key, ok := p[1].(string); ok {
			_, ok = in[key]
			return ok, nil
		}
	}
	if strict {
		return nil, fmt.Errorf("cannot look for %s in %s", typeName(p[1]), typeName(p[2]))
	}
	return false, nil
}

// among reports whether v is one of values. If strict, looking for nil is an
// error.
func among(strict bool, v any, values iter.Seq[any]) (bool, error) {
	if strict && v == nil {
		return false, errors.New("cannot look for nil in a list: give it a default, as (name ?? 0)")
	}
	for w := range values {
		if compare(equal, v, w) {
			return true, nil
		}
	}
	return false, nil
}

func callText(p ...any) (any, error) {
	a, ok := p[2].(string)
	b, also := p[3].(string)
	if !ok || !also {
		if p[0].(bool) {
			return nil, fmt.Errorf("%s wants strings, got %s and %s", p[1], typeName(p[2]), typeName(p[3]))
		}
		return false, nil
	}
	switch p[1] {
	case "contains":
		return strings.Contains(a, b), nil
	case "startsWith":
		return strings.HasPrefix(a, b), nil
	default:
		return strings.HasSuffix(a, b), nil
	}
}

func callMatch(p ...any) (any, error) {
	s, ok := p[2].(string)
	if !ok && p[0].(bool) {
		return nil, fmt.Errorf("matches wants a string, got %s", typeName(p[2]))
	}
	return ok && p[1].(*regexp.Regexp).MatchString(s), nil
}

// callGet is a member or an element, nil if there is none.
func callGet(p ...any) (any, error) {
	switch v := p[0].(type) {
	case nil:
		return nil, nil
	case map[string]any:
		if key, ok := p[1].(string); ok {
			return v[key], nil
		}
	case []any:
		if i, ok := p[1].(int); ok {
			if i < 0 {
				i += len(v)
			}
			if i < 0 || i >= len(v) {
				return nil, nil
			}
			return v[i], nil
		}
		if _, ok := p[1].(string); ok {
			return nil, nil
		}
	case string, bool, int, float64, jsondecode.Number:
		return nil, nil
	}
	return nil, fmt.Errorf("cannot look up a %s in a %s", typeName(p[1]), typeName(p[0]))
}

// callList is the list that a builtin walks: nil is an empty one, an object is
// an error.
func callList(p ...any) (any, error) {
	switch v := p[1].(type) {
	case nil:
		return []any{}, nil
	case string, bool, int, float64, map[string]any, jsondecode.Number:
		return nil, fmt.Errorf("%s wants an array, got %s", p[0], typeName(v))
	}
	return p[1], nil
}

// callMath is +, - and * that do not wrap.
func callMath(p ...any) (any, error) {
	op := p[0].(string)
	x, ok := p[1].(int)
	y, also := p[2].(int)
	if ok && also {
		if n, fits := integerMath(op, x, y); fits {
			return n, nil
		}
		return nil, fmt.Errorf("%d %s %d is beyond 64 bits: use float(…)", x, op, y)
	}
	switch op {
	case "+":
		return runtime.Add(p[1], p[2]), nil
	case "-":
		return runtime.Subtract(p[1], p[2]), nil
	default:
		return runtime.Multiply(p[1], p[2]), nil
	}
}

func integerMath(op string, x, y int) (n int, fits bool) {
	switch op {
	case "+":
		n = x + y
		return n, (n > x) == (y > 0)
	case "-":
		n = x - y
		return n, (n < x) == (y > 0)
	}
	if x == 0 || y == 0 {
		return 0, true
	}
	n = x * y
	return n, n/y == x && !(y == -1 && x == math.MinInt)
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "nil"
	case string:
		return "string"
	case bool:
		return "boolean"
	case int, float64, jsondecode.Number:
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return fmt.Sprintf("%T", v)
}
