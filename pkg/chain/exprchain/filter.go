package exprchain

import (
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/checker/nature"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
)

// condition is a compiled expression: a test where that is enough, else a
// program.
type condition struct {
	test    test
	program *vm.Program
}

func (c *condition) true(s *scope) (bool, error) {
	if c.test != nil {
		return c.test(s)
	}
	v, err := s.run(c.program)
	if err != nil {
		return false, err
	}
	return v.(bool), nil
}

// run runs a program on the record at hand.
func (s *scope) run(program *vm.Program) (any, error) {
	s.vm.MemoryBudget = memory
	v, err := s.vm.Run(program, s)
	if err != nil {
		return nil, oneLine(err)
	}
	return v, nil
}

// condition compiles an expression that is true or false.
func (p *plan) condition(text string) (condition, error) {
	c := checkerConfig()
	expr.AsBool()(c)
	tree, err := parser.ParseWithConfig(text, c)
	if err != nil {
		return condition{}, oneLine(err)
	}
	w := &rewriter{plan: p, builtins: c.Builtins}
	w.names(tree.Node)
	if w.err == nil {
		if f := w.condition(tree.Node); f != nil && w.err == nil {
			return condition{test: f}, nil
		}
	}
	if w.err == nil {
		tree.Node = w.truth(tree.Node)
	}
	program, err := w.program(tree, c)
	return condition{program: program}, err
}

// program checks the types of a tree that was rewritten and compiles it.
func (w *rewriter) program(tree *parser.Tree, c *conf.Config) (*vm.Program, error) {
	if w.err != nil {
		return nil, oneLine(w.err.Bind(tree.Source))
	}
	if _, err := checker.Check(tree, c); err != nil {
		return nil, oneLine(err)
	}
	if err := conditions(tree, c); err != nil {
		return nil, oneLine(err)
	}
	program, err := compiler.Compile(tree, c)
	if err != nil {
		return nil, oneLine(err)
	}
	return program, nil
}

// truths finds conditions that are known to be none.
type truths struct {
	cache *nature.Cache
	err   *file.Error
}

func conditions(tree *parser.Tree, c *conf.Config) error {
	t := truths{cache: &c.NtCache}
	if ast.Walk(&tree.Node, &t); t.err == nil {
		return nil
	}
	return t.err.Bind(tree.Source)
}

// Visit is of ast.Visitor.
func (t *truths) Visit(n *ast.Node) {
	c, ok := (*n).(*ast.CallNode)
	if !ok || c.Callee.(*ast.IdentifierNode).Value != fnTruth {
		return
	}
	of := c.Arguments[1].Nature()
	if t.err == nil && !of.IsUnknown(t.cache) && !of.IsBool() && !of.Nil {
		t.err = &file.Error{Location: c.Location(), Message: "want a condition, this gives " + of.String()}
	}
}

// oneLine gives the library's errors a line and a column in place of a drawing.
func oneLine(err error) error {
	e, ok := errors.AsType[*file.Error](err)
	if !ok {
		return err
	}
	message := e.Message
	if strings.Contains(message, `Operator("=")`) {
		message += ": compare with =="
	}
	if message == "unexpected token EOF" {
		message = "the expression ends early"
	}
	return fmt.Errorf("line %d, column %d: %s", max(e.Line, 1), e.Column+1, strings.TrimSpace(message))
}

// path is a name and the keys after it, of a node that is nothing else.
func (w *rewriter) path(n ast.Node) (name string, keys []string, ok bool) {
	switch n := n.(type) {
	case *ast.ChainNode:
		return w.path(n.Node)
	case *ast.IdentifierNode:
		return n.Value, nil, !w.local(n.Value)
	case *ast.MemberNode:
		key, isKey := n.Property.(*ast.StringNode)
		if !isKey {
			return "", nil, false
		}
		name, keys, ok = w.path(n.Node)
		return name, append(keys, key.Value), ok
	}
	return "", nil, false
}

// source is what a path stands for.
func (w *rewriter) source(n ast.Node) (source, bool) {
	name, keys, ok := w.path(n)
	if !ok {
		return source{}, false
	}
	f, err := w.plan.resolve(name, keys)
	if err != nil {
		w.fail(n, "%s", err)
	}
	return f, true
}

// literal is the value of a literal; nil is one.
func literal(n ast.Node) (any, bool) {
	switch n := n.(type) {
	case *ast.NilNode:
		return nil, true
	case *ast.BoolNode:
		return n.Value, true
	case *ast.IntegerNode:
		return n.Value, true
	case *ast.FloatNode:
		return n.Value, true
	case *ast.StringNode:
		return n.Value, true
	case *ast.UnaryNode:
		v, ok := literal(n.Node)
		if n.Operator != "-" || !ok {
			return nil, false
		}
		switch v := v.(type) {
		case int:
			return -v, true
		case float64:
			return -v, true
		}
	}
	return nil, false
}
