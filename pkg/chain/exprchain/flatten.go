package exprchain

import (
	"errors"
	"slices"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
	"github.com/spate-go/spate/pkg/jsontext"
)

var errTopOnly = errors.New("want a member of the record, not one below")

// flattening is a compiled flatten step.
type flattening struct {
	separator []byte // as it stands in a key
	fields    []string
	depth     int // 0: no bound
}

func (p *plan) addFlatten(f *Flatten, at string) {
	p.edit(at)
	separator := f.Separator
	if separator == "" {
		separator = "_"
	}
	quoted := jsontext.AppendQuoted(nil, separator)
	c := &flattening{separator: quoted[1 : len(quoted)-1], depth: f.Depth}
	if f.Depth < 0 {
		p.errs.addf(at+".depth", "%d is less than 0", f.Depth)
	}
	if f.Fields != nil && len(f.Fields) == 0 {
		p.errs.addf(at+".fields", "is empty: leave it out to flatten all")
	}
	for i, text := range f.Fields {
		field, err := p.place(text)
		if err == nil && !field.top() {
			err = errTopOnly
		}
		if err != nil {
			p.errs.add(item(at+".fields", i), err)
			continue
		}
		c.fields = append(c.fields, field.keys[0])
	}
	p.known = nil
	p.do(at, func(s *scope) (bool, error) { return true, s.flatten(c) })
}

func (s *scope) flatten(f *flattening) error {
	m := s.members()
	s.spare, s.stack = s.spare[:0], s.stack[:0]
	for i := range *m {
		v := (*m)[i]
		if f.fields != nil && !slices.ContainsFunc(f.fields, v.Is) {
			s.spare = append(s.spare, v)
		} else if err := s.lift(f, v, 0); err != nil {
			return err
		}
	}
	*m, s.spare = s.spare, *m
	s.dedupe(m)
	return nil
}

// lift adds v, or what is in it, to the new members. An object without members
// stays what it is.
func (s *scope) lift(f *flattening, v jsondecode.Member, depth int) error {
	base := len(s.stack)
	if v.Value[0] == '{' && (f.depth == 0 || depth < f.depth) {
		if err := s.walk(len(v.Value)); err != nil {
			return err
		}
		s.stack = jsondecode.AppendMembers(s.stack, v.Value)
	}
	if len(s.stack) == base {
		s.spare = append(s.spare, v)
		return nil
	}
	for i := base; i < len(s.stack); i++ {
		in := s.stack[i]
		key, err := s.build(func(dst []byte) ([]byte, error) {
			dst = append(append(dst, v.Key[:len(v.Key)-1]...), f.separator...)
			return append(dst, in.Key[1:]...), nil
		})
		if err != nil {
			return err
		}
		if err := s.lift(f, jsondecode.Member{Key: key, Value: in.Value}, depth+1); err != nil {
			return err
		}
	}
	s.stack = s.stack[:base]
	return nil
}
