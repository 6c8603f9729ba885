package exprchain

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// relation says which orders satisfy an operator: bit 0 less, 1 equal, 2
// greater.
type relation int

const (
	equal   relation = 0b010
	unequal relation = 0b101
)

func relationOf(operator string) (relation, bool) {
	switch operator {
	case "==":
		return equal, true
	case "!=":
		return unequal, true
	case "<":
		return 0b001, true
	case "<=":
		return 0b011, true
	case ">":
		return 0b100, true
	case ">=":
		return 0b110, true
	}
	return 0, false
}

// turned is the relation with its sides exchanged.
func (r relation) turned() relation { return r&0b010 | r&0b001<<2 | r&0b100>>2 }

// holds reports whether the order c, as of cmp.Compare, satisfies r.
func (r relation) holds(c int) bool { return r>>(c+1)&1 == 1 }

func (r relation) ordering() bool { return r != equal && r != unequal }

// compare is false for nil and unlike types, whatever r is.
func compare(r relation, a, b any) bool {
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		return ok && r.holds(cmp.Compare(x, y))
	case bool:
		y, ok := b.(bool)
		return ok && !r.ordering() && (x == y) == (r == equal)
	case time.Time:
		y, ok := b.(time.Time)
		return ok && r.holds(x.Compare(y))
	case time.Duration:
		y, ok := b.(time.Duration)
		return ok && r.holds(cmp.Compare(x, y))
	case []any:
		y, ok := b.([]any)
		return ok && !r.ordering() && sameList(x, y) == (r == equal)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && !r.ordering() && sameMap(x, y) == (r == equal)
	}
	c, ok := compareNumbers(a, b)
	return ok && r.holds(c)
}

// unlike returns an error where compare is false because a and b cannot be
// compared.
func unlike(r relation, a, b any) error {
	x, y := typeName(a), typeName(b)
	switch {
	case a == nil || b == nil:
		return fmt.Errorf("cannot compare %s with %s: give it a default, as (name ?? 0), or ask name == nil", x, y)
	case x != y:
		return fmt.Errorf("cannot compare %s with %s", x, y)
	case r.ordering() && (x == "boolean" || x == "array" || x == "object"):
		return fmt.Errorf("a %s is not less or greater than another", x)
	}
	return nil
}

// same is equality inside lists and objects, where null equals null.
func same(a, b any) bool { return a == nil && b == nil || compare(equal, a, b) }

func sameList(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !same(a[i], b[i]) {
			return false
		}
	}
	return true
}

func sameMap(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || !same(v, w) {
			return false
		}
	}
	return true
}

// compareNumbers is exact. It is false unless a and b are finite numbers.
func compareNumbers(a, b any) (int, bool) {
	x, ok := a.(int)
	y, also := b.(int)
	if ok && also {
		return cmp.Compare(x, y), true
	}
	f, ok := a.(float64)
	g, also := b.(float64)
	if ok && also && f == f && g == g {
		return cmp.Compare(f, g), true
	}
	m, ok := written(a)
	n, also := written(b)
	if !ok || !also {
		return 0, false
	}
	return jsondecode.Compare(m, n), true
}

// written is a number in decimal.
func written(v any) (jsondecode.Number, bool) {
	switch v := v.(type) {
	case jsondecode.Number:
		return v, true
	case int:
		return jsondecode.Number(strconv.Itoa(v)), true
	case float64:
		ok := !math.IsInf(v, 0) && !math.IsNaN(v)
		return jsondecode.Number(strconv.FormatFloat(v, 'g', -1, 64)), ok
	}
	return "", false
}
