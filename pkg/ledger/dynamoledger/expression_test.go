package dynamoledger_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type item = map[string]types.AttributeValue

// expression is what DynamoDB understands of its language, as far as the ledger
// speaks it; anything else panics, as does a name that stands for itself, since it
// might be a reserved word.
type expression struct {
	words  []string
	names  map[string]string
	values item
	seen   map[string]bool // names and values that were used
	of     item
}

func words(text string) (out []string) {
	for _, sign := range []string{"<=", ">=", "<>"} {
		text = strings.ReplaceAll(text, sign, " "+strings.Map(func(r rune) rune { return r + 0x2000 }, sign)+" ")
	}
	for _, sign := range []string{"(", ")", ",", "=", "<", ">", "+", "-"} {
		text = strings.ReplaceAll(text, sign, " "+sign+" ")
	}
	for w := range strings.FieldsSeq(text) {
		out = append(out, strings.Map(func(r rune) rune {
			if r >= 0x2000 {
				return r - 0x2000
			}
			return r
		}, w))
	}
	return out
}

func (e *expression) peek() string {
	if len(e.words) == 0 {
		return ""
	}
	return e.words[0]
}

func (e *expression) take() string {
	w := e.peek()
	if w != "" {
		e.words = e.words[1:]
	}
	return w
}

func (e *expression) is(w string) bool {
	if e.peek() != w {
		return false
	}
	e.take()
	return true
}

func (e *expression) want(w string) {
	if !e.is(w) {
		panic(fmt.Sprintf("want %q before %q", w, e.words))
	}
}

// path is an attribute, or one of a map.
func (e *expression) path() []string {
	var path []string
	for name := range strings.SplitSeq(e.take(), ".") {
		of, ok := e.names[name]
		if !ok {
			panic(fmt.Sprintf("%q is no name of %v", name, e.names))
		}
		e.seen[name] = true
		path = append(path, of)
	}
	return path
}

func (e *expression) at(path []string) types.AttributeValue {
	in := e.of
	for _, name := range path[:len(path)-1] {
		m, ok := in[name].(*types.AttributeValueMemberM)
		if !ok {
			return nil
		}
		in = m.Value
	}
	return in[path[len(path)-1]]
}

func (e *expression) operand() types.AttributeValue {
	switch w := e.peek(); {
	case strings.HasPrefix(w, ":"):
		e.take()
		v, ok := e.values[w]
		if !ok || v == nil {
			panic(w + " has no value")
		}
		e.seen[w] = true
		return v
	case w == "size":
		e.take()
		e.want("(")
		m, ok := e.at(e.path()).(*types.AttributeValueMemberM)
		e.want(")")
		if !ok {
			return nil
		}
		return number(len(m.Value))
	default:
		return e.at(e.path())
	}
}

func number[N int | int64](n N) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(n), 10)}
}

func integer(v types.AttributeValue) int64 {
	if v == nil {
		panic("a number that is not there")
	}
	n, err := strconv.ParseInt(v.(*types.AttributeValueMemberN).Value, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func (e *expression) or() bool {
	is := e.and()
	for e.is("OR") {
		is = e.and() || is
	}
	return is
}

func (e *expression) and() bool {
	is := e.condition()
	for e.is("AND") {
		is = e.condition() && is
	}
	return is
}

func (e *expression) condition() bool {
	switch w := e.peek(); w {
	case "(":
		e.take()
		is := e.or()
		e.want(")")
		return is
	case "attribute_exists", "attribute_not_exists":
		e.take()
		e.want("(")
		there := e.at(e.path()) != nil
		e.want(")")
		return there == (w == "attribute_exists")
	case "begins_with":
		e.take()
		e.want("(")
		v := e.operand()
		e.want(",")
		start := e.operand()
		e.want(")")
		return strings.HasPrefix(v.(*types.AttributeValueMemberS).Value, start.(*types.AttributeValueMemberS).Value)
	}
	left := e.operand()
	switch op := e.take(); op {
	case "IN":
		e.want("(")
		is := false
		for {
			is = compare(left, e.operand(), "=") || is
			if !e.is(",") {
				break
			}
		}
		e.want(")")
		return is
	case "BETWEEN":
		low := e.operand()
		e.want("AND")
		high := e.operand()
		return compare(left, low, ">=") && compare(left, high, "<=")
	default:
		return compare(left, e.operand(), op)
	}
}

// compare is false for all but <> where a side is missing.
func compare(a, b types.AttributeValue, op string) bool {
	c, ok := 0, a != nil && b != nil
	if ok {
		switch a := a.(type) {
		case *types.AttributeValueMemberN:
			c = cmp.Compare(integer(a), integer(b))
		case *types.AttributeValueMemberS:
			c = cmp.Compare(a.Value, b.(*types.AttributeValueMemberS).Value)
		case *types.AttributeValueMemberB:
			c = bytes.Compare(a.Value, b.(*types.AttributeValueMemberB).Value)
		case *types.AttributeValueMemberBOOL:
			if c = 1; a.Value == b.(*types.AttributeValueMemberBOOL).Value {
				c = 0
			}
		default:
			panic(fmt.Sprintf("compare %T", a))
		}
	}
	switch op {
	case "=":
		return ok && c == 0
	case "<>":
		return !ok || c != 0
	case "<":
		return ok && c < 0
	case "<=":
		return ok && c <= 0
	case ">":
		return ok && c > 0
	case ">=":
		return ok && c >= 0
	}
	panic("operator " + op)
}

// apply carries out an update on a copy of the item. What an expression reads is
// as it was before.
func (e *expression) apply() item {
	out := clone(e.of)
	for len(e.words) > 0 {
		switch clause := e.take(); clause {
		case "SET":
			e.each(func() {
				to := e.path()
				e.want("=")
				v := e.operand()
				switch {
				case e.is("+"):
					v = number(integer(v) + integer(e.operand()))
				case e.is("-"):
					v = number(integer(v) - integer(e.operand()))
				}
				put(out, to, v)
			})
		case "REMOVE":
			e.each(func() { put(out, e.path(), nil) })
		case "ADD":
			e.each(func() {
				to := e.path()
				switch v, was := e.operand(), e.at(to); v := v.(type) {
				case *types.AttributeValueMemberN:
					if was == nil {
						was = number(0)
					}
					put(out, to, number(integer(was)+integer(v)))
				case *types.AttributeValueMemberSS:
					all := slices.Clone(v.Value)
					if was != nil {
						all = append(all, was.(*types.AttributeValueMemberSS).Value...)
					}
					slices.Sort(all)
					put(out, to, &types.AttributeValueMemberSS{Value: slices.Compact(all)})
				}
			})
		default:
			panic("clause " + clause)
		}
	}
	return out
}

func (e *expression) each(one func()) {
	for {
		one()
		if !e.is(",") {
			return
		}
	}
}

func put(in item, path []string, v types.AttributeValue) {
	for _, name := range path[:len(path)-1] {
		m, ok := in[name].(*types.AttributeValueMemberM)
		if !ok {
			panic(fmt.Sprintf("no map at %v", path))
		}
		in = m.Value
	}
	if v == nil {
		delete(in, path[len(path)-1])
		return
	}
	in[path[len(path)-1]] = v
}

// clone copies an item and its maps; nothing else of one is written to.
func clone(a item) item {
	out := maps.Clone(a)
	if out == nil {
		out = item{}
	}
	for name, v := range out {
		if m, ok := v.(*types.AttributeValueMemberM); ok {
			out[name] = &types.AttributeValueMemberM{Value: clone(m.Value)}
		}
	}
	return out
}
