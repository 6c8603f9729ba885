package exprchain

import (
	"errors"
	"fmt"
	"sync"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/decode"
	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// Key compiles an expression that derives a name from a row of JSON, such as
// the partition that it is written to. It sees only members of the row, for
// that is all that a sink has. The function may be called concurrently.
//
// A string gives its text, a number or boolean what is written. Nil gives "",
// and so does a failure if a member that the expression names is missing or
// null: a row without a value has no key. Any other failure is an error, as is
// an array or object.
func Key(text string) (func(row []byte) (string, error), error) {
	if err := rowAlone(text); err != nil {
		return nil, err
	}
	p := &plan{stages: make([]stage, 1)}
	value, err := p.value(text)
	if err != nil {
		return nil, err
	}
	keyers := sync.Pool{New: func() any { return newKeyer(p, value) }}
	return func(row []byte) (string, error) {
		k := keyers.Get().(*keyer)
		defer keyers.Put(k)
		return k.key(row)
	}, nil
}

// rowAlone refuses names that mean nothing where only the row is known.
func rowAlone(text string) error {
	tree, err := parser.ParseWithConfig(text, checkerConfig())
	if err != nil {
		return oneLine(err)
	}
	var n outer
	if ast.Walk(&tree.Node, &n); n != "" {
		return fmt.Errorf("%s is not in scope, only the row is: select what is needed of it into the row (this.%[1]s is a member of that name)", n)
	}
	return nil
}

// outer is the name that an expression uses of what is not in a row.
type outer string

// Visit is of ast.Visitor.
func (o *outer) Visit(n *ast.Node) {
	if i, ok := (*n).(*ast.IdentifierNode); ok && (i.Value == "object" || i.Value == "record") {
		*o = outer(i.Value)
	}
}

// keyer is what evaluates a key, one row at a time.
type keyer struct {
	scope *scope
	value maker
	dec   decode.Decoder[jsondecode.Document]
	at    chain.Context
	doc   jsondecode.Document
}

func newKeyer(p *plan, value maker) *keyer {
	return &keyer{scope: newScope(p), value: value, dec: jsondecode.Documents(p.options.Decode, p.paths.list...)}
}

func (k *keyer) key(row []byte) (string, error) {
	if err := k.dec.Decode(row, &k.doc); err != nil {
		return "", err
	}
	k.scope.reset()
	k.scope.bind(&k.at, &k.doc)
	raw, err := k.value(k.scope)
	switch {
	case err != nil && k.lacks():
		return "", nil // see Key
	case err != nil:
		return "", err
	case isNull(raw):
		return "", nil
	case raw[0] == '"':
		return jsondecode.Text(raw), nil
	case raw[0] == '{' || raw[0] == '[':
		return "", errors.New("want a string, the expression gives " + kindOf(raw))
	}
	return string(raw), nil
}

// lacks reports whether a member that the expression names is not in the row.
func (k *keyer) lacks() bool {
	for n := range k.scope.plan.paths.list {
		if isNull(k.doc.Raw(n)) {
			return true
		}
	}
	return false
}
