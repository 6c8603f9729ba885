package exprchain

import (
	"fmt"
	"maps"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
)

// rewriter turns the operators of an expression into calls of this package's
// functions, which handle nil, unlike types and exact numbers. It keeps the
// first error.
type rewriter struct {
	plan     *plan
	strict   bool // comparing nil or unlike types is an error
	builtins conf.FunctionsTable
	locals   []string // let variables in scope
	err      *file.Error
}

func (w *rewriter) fail(n ast.Node, format string, args ...any) {
	if w.err == nil {
		w.err = &file.Error{Location: n.Location(), Message: fmt.Sprintf(format, args...)}
	}
}

func (w *rewriter) local(name string) bool { return slices.Contains(w.locals, name) }

// names checks that every function that is called is there.
func (w *rewriter) names(root ast.Node) { ast.Walk(&root, w) }

// Visit is of ast.Visitor.
func (w *rewriter) Visit(n *ast.Node) {
	switch n := (*n).(type) {
	case *ast.BuiltinNode:
		w.called(n, n.Name)
	case *ast.CallNode:
		if f, ok := n.Callee.(*ast.IdentifierNode); ok {
			w.called(f, f.Value)
		} else {
			w.fail(n.Callee, "only a function can be called")
		}
	}
}

func (w *rewriter) called(n ast.Node, name string) {
	if why, ok := removed()[name]; ok {
		w.fail(n, "function %s is not available: %s", name, why)
	} else if _, ok := w.builtins[name]; !ok {
		w.fail(n, "function %s is not known%s", name, suggest(name, slices.Collect(maps.Keys(w.builtins))))
	}
}

// call makes a call in place of n.
func call(n ast.Node, name string, args ...ast.Node) ast.Node {
	c := &ast.CallNode{Callee: &ast.IdentifierNode{Value: name}, Arguments: args}
	c.Callee.SetLocation(n.Location())
	c.SetLocation(n.Location())
	return c
}

func constant(v any) ast.Node { return &ast.ConstantNode{Value: v} }

func env() ast.Node { return &ast.IdentifierNode{Value: "$env"} }

// truth rewrites a node where a condition is wanted.
func (w *rewriter) truth(n ast.Node) ast.Node {
	if t := w.condition(n); t != nil && w.err == nil {
		return call(n, fnTest, env(), constant(&t))
	}
	if b, ok := n.(*ast.BinaryNode); ok && slices.Contains([]string{"+", "-", "*", "/", "%", "**", "^", ".."}, b.Operator) {
		w.fail(n, "want a condition, %s gives none", b.Operator)
	}
	return call(n, fnTruth, constant(w.strict), w.rewrite(n))
}

// rewrite returns what n becomes.
func (w *rewriter) rewrite(n ast.Node) ast.Node {
	if f, ok := w.source(n); ok {
		return call(n, fnValue, env(), constant(f))
	}
	switch n := n.(type) {
	case *ast.ChainNode:
		return w.rewrite(n.Node)
	case *ast.MemberNode:
		return call(n, fnGet, w.rewrite(n.Node), w.rewrite(n.Property))
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			n.Node = w.truth(n.Node)
		} else {
			n.Node = w.rewrite(n.Node)
		}
	case *ast.BinaryNode:
		return w.operator(n)
	case *ast.ConditionalNode:
		n.Cond, n.Exp1, n.Exp2 = w.truth(n.Cond), w.rewrite(n.Exp1), w.rewrite(n.Exp2)
	case *ast.BuiltinNode:
		w.builtin(n)
	case *ast.CallNode:
		w.each(n.Arguments)
	case *ast.PredicateNode:
		n.Node = w.rewrite(n.Node)
	case *ast.VariableDeclaratorNode:
		n.Value = w.rewrite(n.Value)
		w.locals = append(w.locals, n.Name)
		n.Expr = w.rewrite(n.Expr)
		w.locals = w.locals[:len(w.locals)-1]
	default:
		w.parts(n)
	}
	return n
}

// parts rewrites the operands of nodes that only combine values.
func (w *rewriter) parts(n ast.Node) {
	switch n := n.(type) {
	case *ast.SliceNode:
		n.Node = w.rewrite(n.Node)
		if n.From != nil {
			n.From = w.rewrite(n.From)
		}
		if n.To != nil {
			n.To = w.rewrite(n.To)
		}
	case *ast.SequenceNode:
		w.each(n.Nodes)
	case *ast.ArrayNode:
		w.each(n.Nodes)
	case *ast.MapNode:
		for _, p := range n.Pairs {
			pair := p.(*ast.PairNode)
			pair.Key, pair.Value = w.rewrite(pair.Key), w.rewrite(pair.Value)
		}
	}
}

func (w *rewriter) each(nodes []ast.Node) {
	for i := range nodes {
		nodes[i] = w.rewrite(nodes[i])
	}
}

func (w *rewriter) operator(n *ast.BinaryNode) ast.Node {
	switch n.Operator {
	case "and", "&&", "or", "||":
		if t := w.condition(n); t != nil && w.err == nil {
			return call(n, fnTest, env(), constant(&t))
		}
		n.Left, n.Right = w.truth(n.Left), w.truth(n.Right)
		return n
	case "in":
		return call(n, fnIn, constant(w.strict), w.rewrite(n.Left), w.rewrite(n.Right))
	case "contains", "startsWith", "endsWith":
		return call(n, fnText, constant(w.strict), constant(n.Operator), w.rewrite(n.Left), w.rewrite(n.Right))
	case "matches":
		if re := w.pattern(n.Right); re != nil {
			return call(n, fnMatch, constant(w.strict), constant(re), w.rewrite(n.Left))
		}
		return n
	case "+", "-", "*":
		return call(n, fnMath, constant(n.Operator), w.rewrite(n.Left), w.rewrite(n.Right))
	}
	if r, ok := relationOf(n.Operator); ok {
		return w.compare(n, r)
	}
	n.Left, n.Right = w.rewrite(n.Left), w.rewrite(n.Right)
	return n
}

func (w *rewriter) compare(n *ast.BinaryNode, r relation) ast.Node {
	left, right := n.Left, n.Right
	if _, ok := left.(*ast.NilNode); ok {
		left, right = right, left
	}
	if _, ok := right.(*ast.NilNode); ok && !r.ordering() {
		isNil := call(n, fnIsNil, w.rewrite(left))
		if r == equal {
			return isNil
		}
		not := &ast.UnaryNode{Operator: "not", Node: isNil}
		not.SetLocation(n.Location())
		return not
	}
	return call(n, fnCompare, constant(w.strict), constant(r), w.rewrite(n.Left), w.rewrite(n.Right))
}

// builtin rewrites a call of a builtin. Those with a predicate walk a list.
func (w *rewriter) builtin(n *ast.BuiltinNode) {
	condition := slices.Contains([]string{"all", "none", "any", "one", "filter", "count",
		"find", "findIndex", "findLast", "findLastIndex"}, n.Name)
	walks := condition || slices.Contains([]string{"map", "sum", "groupBy", "sortBy", "reduce"}, n.Name)
	for i, a := range n.Arguments {
		p, ok := a.(*ast.PredicateNode)
		switch {
		case ok && condition:
			p.Node = w.truth(p.Node)
		case i == 0 && walks:
			n.Arguments[0] = call(a, fnList, constant(n.Name), w.rewrite(a))
		default:
			n.Arguments[i] = w.rewrite(a)
		}
	}
}
