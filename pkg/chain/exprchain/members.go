package exprchain

import (
	"fmt"
	"slices"
)

// Members returns the names of the members that rows have after steps, in
// order. known is false if a row may have any: the names are known only after a
// select, as long as the later steps name what they add.
func Members(steps []Step, o Options) (names []string, known bool) {
	p := planOf(steps, o)
	if len(p.errs) > 0 {
		return nil, false
	}
	return p.left()
}

// CheckPaths returns a function that says what is wrong with the path of a
// column of an [Encoder] after steps. That includes a member that the steps do
// not leave, which an Encoder takes for a missing one. Steps that do not
// compile have no paths to check.
func CheckPaths(steps []Step, o Options) func(path string) error {
	p := planOf(steps, o)
	if len(p.errs) > 0 {
		return func(string) error { return nil }
	}
	return p.checkPath
}

func (p *plan) checkPath(path string) error {
	f, err := p.columnSource(path)
	if err != nil || f.kind != nowhere {
		return err
	}
	keys, _ := parsePath(path) // columnSource has
	if keys[0] == "this" {
		keys = keys[1:]
	}
	names, _ := p.left()
	return fmt.Errorf("the steps before leave no %s%s", keys[0], suggest(keys[0], names))
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

// leaves reports whether the record may have a member of that name behind the
// steps so far.
func (p *plan) leaves(name string) bool {
	if p.edited {
		return p.known == nil || slices.Contains(p.known, name)
	}
	_, ok := p.named[name]
	return ok || p.columns == nil
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
