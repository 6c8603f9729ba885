package exprchain

import (
	"fmt"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// explosion is a compiled explode step.
type explosion struct {
	field place
	merge bool
	at    string
}

func (p *plan) addExplode(step *Step, at string) {
	p.edit(at)
	field, err := p.place(step.Explode)
	if err != nil {
		p.errs.add(at, err)
	}
	e := &explosion{field, step.Merge, at}
	if e.merge {
		p.known = nil
	}
	p.stages[len(p.stages)-1].explode = e
	p.stages = append(p.stages, stage{})
}

// explodes makes a record of every element, on the next level. The original
// record ends here, so it is emptied of the array first: the cost of an element
// must not grow with the number of its neighbours.
func (s *scope) explodes(e *explosion) func(*chain.Context, *jsondecode.Document, func(*jsondecode.Document) error) error {
	return func(_ *chain.Context, d *jsondecode.Document, emit func(*jsondecode.Document) error) error {
		array := s.find(e.field.keys)
		level, items := s.level, len(s.items)
		defer func() { s.items = s.items[:items] }()
		if isNull(array) {
			s.descend(level)
			return emit(d)
		}
		if array[0] != '[' {
			return &StepError{e.at, fmt.Errorf("%s is %s, not an array", e.field.text, kindOf(array))}
		}
		if err := s.empty(e); err != nil {
			return &StepError{e.at, err}
		}
		s.items = jsondecode.AppendElements(s.items, array)
		size, made := sizeOf(*s.members()), len(s.made)
		for i := items; i < len(s.items); i++ {
			s.descend(level)
			s.made = s.made[:made]
			if err := s.element(e, size, s.items[i]); err != nil {
				return &StepError{e.at, err}
			}
			if err := emit(d); err != nil {
				return err
			}
		}
		return nil
	}
}

// descend goes to the level below, with the record of this one.
func (s *scope) descend(from int) {
	s.level = from + 1
	s.levels[s.level] = append(s.levels[s.level][:0], s.levels[from]...)
}

// empty takes the array out of the record, but keeps its place.
func (s *scope) empty(e *explosion) error {
	if e.merge {
		return s.remove(&e.field)
	}
	return s.put(&e.field, s.null)
}

// sizeOf is the length of a record as a row.
func sizeOf(m []jsondecode.Member) int {
	size := 2
	for i := range m {
		size += len(m[i].Key) + len(m[i].Value) + 2
	}
	return size
}

// element puts an element into a record of that size.
func (s *scope) element(e *explosion, size int, value []byte) error {
	if err := s.spend(size + len(value)); err != nil {
		return err
	}
	if !e.merge {
		return s.put(&e.field, value)
	}
	if value[0] != '{' {
		return fmt.Errorf("an element of %s is %s, not an object: only objects can be merged", e.field.text, kindOf(value))
	}
	s.merge(value)
	return nil
}

// merge adds the members of an object to the record's; they win.
func (s *scope) merge(object []byte) {
	m := s.members()
	*m = jsondecode.AppendMembers(*m, object)
	s.dedupe(m)
}

// isNull reports whether a value is not there, or null.
func isNull(raw []byte) bool { return len(raw) == 0 || raw[0] == 'n' }

// kindOf names the type of a value, with its article, for an error.
func kindOf(raw []byte) string {
	switch raw[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
