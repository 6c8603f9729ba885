package exprchain

import (
	"errors"
	"slices"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

func (p *plan) addDrop(paths []string, at string) {
	p.edit(at)
	if len(paths) == 0 {
		p.errs.addf(at, "is empty: want a list of members")
	}
	places := make([]place, len(paths))
	for i, text := range paths {
		var err error
		if places[i], err = p.place(text); err != nil {
			p.errs.add(item(at, i), err)
		}
	}
	for i := range places {
		if places[i].top() {
			p.loses(places[i].keys[0])
		}
	}
	p.do(at, func(s *scope) (bool, error) {
		for i := range places {
			if err := s.remove(&places[i]); err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// renaming is one entry of a rename.
type renaming struct{ from, to place }

// moved is what a renaming moves.
type moved struct {
	value []byte // nil: nothing
	top   int    // place of the member, or of the one that holds it
}

func (p *plan) addRename(pairs []Pair, at string) {
	p.edit(at)
	if len(pairs) == 0 {
		p.errs.addf(at, "is empty: want old: new")
	}
	list := make([]renaming, 0, len(pairs))
	for _, pair := range pairs {
		at := below(at, pair.Name)
		from, err := p.place(pair.Name)
		if err != nil {
			p.errs.add(at, err)
			continue
		}
		to, err := target(pair.Value)
		if err != nil {
			p.errs.add(at, err)
			continue
		}
		if slices.Equal(from.keys, to.keys) {
			p.errs.addf(at, "already has that name")
		}
		r := renaming{from, to}
		for i := range list {
			if o := &list[i]; o.from.overlaps(&r.from) || o.to.overlaps(&r.to) {
				p.errs.addf(at, "conflicts with %s: use two steps", o.from.text)
			}
		}
		list = append(list, r)
	}
	for i := range list {
		if list[i].from.top() {
			p.loses(list[i].from.keys[0])
		}
	}
	for i := range list {
		p.gains(list[i].to.keys[0])
	}
	p.do(at, func(s *scope) (bool, error) { return true, s.rename(list) })
}

// rename looks at the record as it was, so that two members can change names.
func (s *scope) rename(list []renaming) error {
	s.moved = s.moved[:0]
	for i := range list {
		from := &list[i].from
		s.moved = append(s.moved, moved{s.find(from.keys), s.index(from.keys[0])})
	}
	m := *s.members()
	for i := range list {
		r, v := &list[i], &s.moved[i]
		switch {
		case v.value == nil:
		case r.inPlace():
			m[v.top].Key = r.to.key
		case r.from.top():
			m[v.top].Value = nil
		default:
			made, err := s.build(func(dst []byte) ([]byte, error) {
				return jsondecode.AppendWithout(dst, m[v.top].Value, r.from.keys[1:]), nil
			})
			if err != nil {
				return err
			}
			m[v.top].Value = made
		}
	}
	s.settle(list)
	for i := range list {
		if r := &list[i]; s.moved[i].value != nil && !r.inPlace() {
			if err := s.put(&r.to, s.moved[i].value); err != nil {
				return err
			}
		}
	}
	return nil
}

// inPlace reports whether the member stays where it is.
func (r *renaming) inPlace() bool { return r.from.top() && r.to.top() }

// settle takes out the members that moved away and those whose name another
// one has now.
func (s *scope) settle(list []renaming) {
	m := s.members()
	kept := (*m)[:0]
	for i := range *m {
		if v := &(*m)[i]; v.Value != nil && !s.replaced(list, i, v) {
			kept = append(kept, *v)
		}
	}
	*m = kept
}

func (s *scope) replaced(list []renaming, at int, m *jsondecode.Member) bool {
	for i := range list {
		if s.moved[i].value != nil && s.moved[i].top != at && list[i].inPlace() && m.Is(list[i].to.keys[0]) {
			return true
		}
	}
	return false
}

// assignment is one entry of a set.
type assignment struct {
	to    place
	value maker
	at    string
}

func (p *plan) addSet(pairs []Pair, at string) {
	p.edit(at)
	if len(pairs) == 0 {
		p.errs.addf(at, "is empty: want name: an expression")
	}
	for _, pair := range pairs {
		a := assignment{at: below(at, pair.Name)}
		var err error
		if a.to, err = target(pair.Name); err != nil {
			p.errs.add(a.at, err)
			continue
		}
		if pair.Value == "" {
			p.errs.add(a.at, errors.New("is empty: want an expression; put text in quotes, as \"'info'\""))
			continue
		}
		if a.value, err = p.value(pair.Value); err != nil {
			p.errs.add(a.at, err)
			continue
		}
		p.gains(a.to.keys[0])
		p.do(a.at, func(s *scope) (bool, error) {
			v, err := a.value(s)
			if err != nil {
				return false, err
			}
			return true, s.put(&a.to, v)
		})
	}
}
