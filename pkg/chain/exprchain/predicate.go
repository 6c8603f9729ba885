package exprchain

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// test is a condition that works on the record as written: it makes no values
// and needs no virtual machine.
type test func(s *scope) (bool, error)

func always(v bool) test { return func(*scope) (bool, error) { return v, nil } }

func (t test) not() test {
	return func(s *scope) (bool, error) {
		ok, err := t(s)
		return !ok, err
	}
}

func (t test) and(u test) test {
	return func(s *scope) (bool, error) {
		if ok, err := t(s); err != nil || !ok {
			return false, err
		}
		return u(s)
	}
}

func (t test) or(u test) test {
	return func(s *scope) (bool, error) {
		if ok, err := t(s); err != nil || ok {
			return ok, err
		}
		return u(s)
	}
}

// truth is a value where a truth is wanted.
func truth(v any) (bool, error) {
	switch v := v.(type) {
	case bool:
		return v, nil
	case nil:
		return false, nil
	}
	return false, fmt.Errorf("want a boolean, got %s", typeName(v))
}

func testTruth(f source) test {
	return func(s *scope) (bool, error) { return truth(s.value(f)) }
}

func testNil(f source) test {
	if !f.inRecord() {
		return func(s *scope) (bool, error) { return s.value(f) == nil, nil }
	}
	return func(s *scope) (bool, error) {
		raw := s.raw(f)
		return raw == nil || raw[0] == 'n', nil
	}
}

// testCompare compares a source to a literal, which is not nil.
func testCompare(r relation, f source, literal any) test {
	if !f.inRecord() {
		return func(s *scope) (bool, error) { return compare(r, s.value(f), literal), nil }
	}
	order := orderTo(literal)
	if _, isBool := literal.(bool); isBool && r.ordering() {
		return always(false)
	}
	return func(s *scope) (bool, error) {
		c, like := order(s, s.raw(f))
		return like && r.holds(c), nil
	}
}

// orderTo returns what orders a value as written against a literal, and says
// whether they are of like types.
func orderTo(literal any) func(s *scope, raw []byte) (int, bool) {
	switch v := literal.(type) {
	case int:
		return func(_ *scope, raw []byte) (int, bool) {
			if !isNumber(raw) {
				return 0, false
			}
			return jsondecode.CompareInt(raw, v), true
		}
	case float64:
		return func(_ *scope, raw []byte) (int, bool) {
			if !isNumber(raw) {
				return 0, false
			}
			return jsondecode.CompareFloat(raw, v), true
		}
	case string:
		b := []byte(v)
		return func(s *scope, raw []byte) (int, bool) {
			text, ok := s.text(raw)
			return bytes.Compare(text, b), ok
		}
	default:
		want := fmt.Sprint(literal) // true or false
		return func(_ *scope, raw []byte) (int, bool) {
			like := len(raw) > 0 && (raw[0] == 't' || raw[0] == 'f')
			if string(raw) == want {
				return 0, like
			}
			return 1, like
		}
	}
}

// testText asks something of a string.
func testText(f source, ask func(text []byte) bool) test {
	return func(s *scope) (bool, error) {
		if !f.inRecord() {
			v, ok := s.value(f).(string)
			return ok && ask([]byte(v)), nil
		}
		text, ok := s.text(s.raw(f))
		return ok && ask(text), nil
	}
}

// asking returns the question that a string operator asks about its left side;
// pattern is compiled by the caller for matches.
func asking(operator, literal string, pattern *regexp.Regexp) func([]byte) bool {
	b := []byte(literal)
	switch operator {
	case "contains":
		return func(t []byte) bool { return bytes.Contains(t, b) }
	case "startsWith":
		return func(t []byte) bool { return bytes.HasPrefix(t, b) }
	case "endsWith":
		return func(t []byte) bool { return bytes.HasSuffix(t, b) }
	}
	return pattern.Match
}

func isNumber(raw []byte) bool { return len(raw) > 0 && (raw[0]-'0' <= 9 || raw[0] == '-') }
