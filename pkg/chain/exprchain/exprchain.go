package exprchain

import (
	"errors"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/decode"
	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// Options tune a chain. The zero value is ready.
type Options struct {
	// OnError is for records that are not JSON and those that a step fails on.
	// 0 skips them.
	OnError chain.Policy
	// Decode is for the decoder.
	Decode jsondecode.Options
	// Sinks are the names of the pipeline's sinks, in the order of
	// chain.Output. Nil is one, called default.
	Sinks []string
	// Encoders make the rows of the sinks, in their order. A sink whose encoder
	// is nil or missing gets lines of JSON.
	Encoders []Encoder
}

// Compile makes a chain of steps; without any, records are checked and passed
// on. Without a route every row goes to every sink. The error is all that is
// wrong, joined, each a *StepError.
func Compile(steps []Step, o Options) (chain.Constructor, error) {
	p := planOf(steps, o)
	p.addEncoders()
	if err := errors.Join(p.errs...); err != nil {
		return nil, err
	}
	return p.worker, nil
}

// plan is a chain as every worker runs it. It does not change once compiled.
type plan struct {
	options Options
	errs    errs
	paths   paths  // what the decoder looks up
	attrs   []attr // what is asked of objects
	stages  []stage

	// Of filters and selects alone the rows are copied from the record as it
	// came.
	columns  []column       // of the last select; nil: the record itself
	named    map[string]int // their places
	selected string         // where that select stands

	// From the first other step on the record is edited: it is taken apart to
	// its members.
	edited bool
	fields paths      // what is looked up in it
	known  []string   // its members, where they are all known; else nil
	sought [][]source // what selects look for in it, each at once

	routes    []route
	unmatched chain.Policy
	rows      []*columns // by sink; nil where rows are lines of JSON
}

// op is a step, or a part of one, on the record at hand; false drops it.
type op func(s *scope) (keep bool, err error)

// stage is what happens between two explodes.
type stage struct {
	ops     []op
	explode *explosion // at its end; nil at the end of the last one
}

// do adds an op to the last stage; its errors are of the step at path.
func (p *plan) do(path string, f op) {
	s := &p.stages[len(p.stages)-1]
	s.ops = append(s.ops, func(s *scope) (bool, error) {
		keep, err := f(s)
		if err != nil {
			return false, &StepError{path, err}
		}
		return keep, nil
	})
}

func (p *plan) add(s *Step, path string, last bool) {
	name, ok := s.check(path, &p.errs)
	if !ok {
		return
	}
	at := below(path, name)
	switch name {
	case "filter":
		p.addFilter(s.Filter, at)
	case "select":
		p.addSelect(s.Select, at)
	case "rename":
		p.addRename(s.Rename, at)
	case "drop":
		p.addDrop(s.Drop, at)
	case "set":
		p.addSet(s.Set, at)
	case "flatten":
		p.addFlatten(s.Flatten, at)
	case "explode":
		p.addExplode(s, at)
	case "parse":
		p.addParse(s.Parse, at)
	case "route":
		if !last {
			p.errs.addf(at, "is not the last step: what follows would not see the record")
		}
		p.addRoutes(s, path)
	}
}

func (p *plan) addFilter(text, at string) {
	f, err := p.condition(text)
	if err != nil {
		p.errs.add(at, err)
		return
	}
	p.do(at, f.true)
}

func (p *plan) worker() chain.Worker {
	s := newScope(p)
	records := chain.Decode(func() decode.Decoder[jsondecode.Document] {
		return jsondecode.Documents(p.options.Decode, p.paths.list...)
	}, p.options.OnError)
	records = chain.Inspect(records, s.bind)
	for i := range p.stages {
		if ops := p.stages[i].ops; len(ops) > 0 {
			records = chain.Filter(records, s.passes(ops))
		}
		if e := p.stages[i].explode; e != nil {
			records = chain.FlatMap(records, s.explodes(e))
		}
	}
	return s.ends(records)()
}
