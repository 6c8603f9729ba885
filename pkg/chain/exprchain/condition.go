package exprchain

import (
	"regexp"
	"slices"

	"github.com/expr-lang/expr/ast"
)

// condition makes a test of a node, or returns nil if that takes more than
// members, literals, comparisons and logic. A test compares as filters do, so
// there is none where comparing unlike values is an error.
func (w *rewriter) condition(n ast.Node) test {
	if w.strict {
		return nil
	}
	switch n := n.(type) {
	case *ast.BoolNode:
		return always(n.Value)
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			if t := w.condition(n.Node); t != nil {
				return t.not()
			}
		}
		return nil
	case *ast.BinaryNode:
		return w.binary(n)
	}
	if f, ok := w.source(n); ok && w.err == nil {
		return testTruth(f)
	}
	return nil
}

func (w *rewriter) binary(n *ast.BinaryNode) test {
	switch n.Operator {
	case "and", "&&":
		if a, b := w.condition(n.Left), w.condition(n.Right); a != nil && b != nil {
			return a.and(b)
		}
		return nil
	case "or", "||":
		if a, b := w.condition(n.Left), w.condition(n.Right); a != nil && b != nil {
			return a.or(b)
		}
		return nil
	case "in":
		return w.among(n)
	case "contains", "startsWith", "endsWith", "matches":
		return w.asks(n)
	}
	r, ok := relationOf(n.Operator)
	if !ok {
		return nil
	}
	left, right := n.Left, n.Right
	if _, ok := literal(left); ok {
		left, right, r = right, left, r.turned()
	}
	v, ok := literal(right)
	if !ok {
		return nil
	}
	f, ok := w.source(left)
	if !ok {
		return nil
	}
	return w.compared(r, f, v, right)
}

// compared is a comparison of a source with a literal.
func (w *rewriter) compared(r relation, f source, v any, at ast.Node) test {
	if w.err != nil {
		return nil
	}
	if v == nil {
		if t := testNil(f); r == equal {
			return t
		} else if r == unequal {
			return t.not()
		}
		return always(false)
	}
	if !f.inRecord() && !w.alike(f, v) {
		w.fail(at, "cannot compare this with %s, a %s%s", w.attrName(f), w.attrType(f), w.hint(f))
		return nil
	}
	return testCompare(r, f, v)
}

// among is v in [literals].
func (w *rewriter) among(n *ast.BinaryNode) test {
	list, ok := n.Right.(*ast.ArrayNode)
	if !ok {
		return nil
	}
	var values []any
	for _, e := range list.Nodes {
		v, ok := literal(e)
		if !ok {
			return nil
		}
		if v != nil { // nothing equals nil
			values = append(values, v)
		}
	}
	f, ok := w.source(n.Left)
	if !ok || w.err != nil {
		return nil
	}
	found := always(false)
	for _, v := range slices.Backward(values) {
		found = testCompare(equal, f, v).or(found)
	}
	return found
}

// asks is a string operator with a literal on its right.
func (w *rewriter) asks(n *ast.BinaryNode) test {
	text, ok := n.Right.(*ast.StringNode)
	if !ok {
		return nil
	}
	f, ok := w.source(n.Left)
	if !ok {
		return nil
	}
	var pattern *regexp.Regexp
	if n.Operator == "matches" {
		if pattern = w.pattern(n.Right); pattern == nil {
			return nil
		}
	}
	return testText(f, asking(n.Operator, text.Value, pattern))
}

// pattern compiles the right side of matches.
func (w *rewriter) pattern(n ast.Node) *regexp.Regexp {
	text, ok := n.(*ast.StringNode)
	if !ok {
		w.fail(n, "want the pattern of matches as a literal")
		return nil
	}
	re, err := regexp.Compile(text.Value)
	if err != nil {
		w.fail(n, "%s", err)
	}
	return re
}

// alike reports whether a literal can be like an object's attribute.
func (w *rewriter) alike(f source, v any) bool {
	switch w.attrType(f) {
	case "number":
		return typeName(v) == "number"
	case "string":
		return typeName(v) == "string"
	}
	return false
}

func (w *rewriter) attrType(f source) string {
	switch {
	case f.kind != attribute || w.plan.attrs[f.n].name == "size":
		return "number"
	case w.plan.attrs[f.n].name == "last_modified":
		return "time"
	}
	return "string"
}

func (w *rewriter) attrName(f source) string {
	switch f.kind {
	case index:
		return indexName
	case offset:
		return offsetName
	}
	return "object." + w.plan.attrs[f.n].name
}

func (w *rewriter) hint(f source) string {
	if w.attrType(f) == "time" {
		return `: write date("2026-01-31")`
	}
	return ""
}
