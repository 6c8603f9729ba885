package exprchain

import (
	"fmt"
	"slices"
)

// Members are the names of the members that rows have behind steps, in their
// order, where the steps say so: after a select, as long as what follows names
// what it adds. known is false where a row may have any.
func Members(steps []Step, o Options) (names []string, known bool) {
	p := planOf(steps, o)
	if len(p.errs) > 0 {
		return nil, false
	}
	return p.left()
}

// CheckPath says what is wrong with a path of an [Encoder]'s behind steps, also
// that these leave no member of that name, of which an Encoder would make a row
// without. Steps that do not compile have no paths to check.
func CheckPath(steps []Step, o Options, path string) error {
	p := planOf(steps, o)
	if len(p.errs) > 0 {
		return nil
	}
	f, err := p.columnSource(path)
	if err != nil || f.kind != nowhere {
		return err
	}
	keys, _ := parsePath(path) // columnSource has
	if keys[0] == "this" {
		keys = keys[1:]
	}
	names, _ := p.left()
	return fmt.Errorf("%s is not among what the steps before left%s", keys[0], suggest(keys[0], names))
}

func planOf(steps []Step, o Options) *plan {
	if o.Sinks == nil {
		o.Sinks = []string{"default"}
	}
	p := &plan{options: o, stages: make([]stage, 1)}
	for i := range steps {
		p.add(&steps[i], item("chain", i), i == len(steps)-1)
	}
	return p
}

// left are the members that the steps so far left, if they are known.
func (p *plan) left() (names []string, known bool) {
	if p.edited {
		return slices.Clone(p.known), p.known != nil
	}
	for i := range p.columns {
		names = append(names, p.columns[i].name)
	}
	return names, p.columns != nil
}
