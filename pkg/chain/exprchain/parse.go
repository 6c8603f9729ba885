package exprchain

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
	"github.com/spate-go/spate/pkg/jsontext"
)

// textParser makes members of a text, appending them to s.parsed.
type textParser func(s *scope, text []byte) error

func parseKinds() []string { return []string{"json", "key_value", "query", "regex", "timestamp"} }

func (p *plan) addParse(c *Parse, at string) {
	p.edit(at)
	field, err := p.place(c.Field)
	if c.Field == "" {
		err = errors.New("is required: name the member to parse")
	}
	if err != nil {
		p.errs.add(at+".field", err)
		return
	}
	into := place{}
	if c.Into != "" {
		if into, err = target(c.Into); err != nil {
			p.errs.add(at+".into", err)
			return
		}
	}
	if !slices.Contains(parseKinds(), c.As) {
		p.errs.addf(at+".as", "%q is not one of %s%s", c.As, strings.Join(parseKinds(), ", "), suggest(c.As, parseKinds()))
		return
	}
	for _, o := range []struct{ of, name, value string }{
		{"regex", "pattern", c.Pattern}, {"timestamp", "layout", c.Layout}, {"timestamp", "zone", c.Zone},
	} {
		if o.value != "" && o.of != c.As {
			p.errs.addf(at+"."+o.name, "is an option of %s, not of %s", o.of, c.As)
		}
	}
	f := p.parsing(c, at, &field, &into)
	if into.keys != nil {
		p.gains(into.keys[0])
	} else if c.As != "timestamp" {
		p.known = nil
	}
	p.do(at, func(s *scope) (bool, error) {
		if raw := s.find(field.keys); !isNull(raw) {
			return true, f(s, raw)
		}
		return true, nil
	})
}

// parsing is what a parse step does with a value that is there.
func (p *plan) parsing(c *Parse, at string, field, into *place) func(s *scope, raw []byte) error {
	var f textParser
	switch c.As {
	case "timestamp":
		if into.keys == nil {
			into = field
		}
		return p.timestamp(c, at, into)
	case "json":
		return func(s *scope, raw []byte) error { return s.parseJSON(field, into, raw) }
	case "regex":
		f = p.regex(c.Pattern, at+".pattern")
	case "query":
		f = (*scope).parseQuery
	default:
		f = (*scope).parseKeyValue
	}
	return func(s *scope, raw []byte) error {
		text, err := s.textOf(field, raw)
		if err != nil {
			return err
		}
		s.parsed = s.parsed[:0]
		if err := f(s, text); err != nil {
			return err
		}
		s.dedupe(&s.parsed)
		if into.keys == nil {
			m := s.members()
			*m = append(*m, s.parsed...)
			s.dedupe(m)
			return nil
		}
		value, err := s.build(func(dst []byte) ([]byte, error) { return appendObject(dst, s.parsed), nil })
		if err != nil {
			return err
		}
		return s.put(into, value)
	}
}

// textOf is what the value of field means, which stays as long as the record.
func (s *scope) textOf(field *place, raw []byte) ([]byte, error) {
	if raw[0] != '"' {
		return nil, fmt.Errorf("%s is %s, not a string", field.text, kindOf(raw))
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1 : len(raw)-1], nil
	}
	return s.build(func(dst []byte) ([]byte, error) { return jsondecode.AppendText(dst, raw), nil })
}

// parseJSON puts the JSON that a string holds in the place of it.
func (s *scope) parseJSON(field, into *place, raw []byte) error {
	text, err := s.textOf(field, raw)
	if err != nil {
		return err
	}
	if err := jsondecode.Check(text); err != nil {
		return fmt.Errorf("%s: %w", field.text, err)
	}
	text = trimSpace(text)
	if into.keys != nil {
		return s.put(into, text)
	}
	if text[0] != '{' {
		return fmt.Errorf("the JSON in %s is %s, not an object: say where it goes with into", field.text, kindOf(text))
	}
	s.merge(text)
	return nil
}

// trimSpace removes what JSON allows around a value.
func trimSpace(text []byte) []byte {
	from, to := 0, len(text)
	for text[from] <= ' ' {
		from++
	}
	for text[to-1] <= ' ' {
		to--
	}
	return text[from:to]
}

// found adds a member whose name and value are text; no value is null.
func (s *scope) found(name, value []byte) error {
	key, err := s.build(func(dst []byte) ([]byte, error) { return jsontext.AppendQuoted(dst, name), nil })
	if err != nil {
		return err
	}
	m := jsondecode.Member{Key: key, Value: s.null}
	if value != nil {
		m.Value, err = s.build(func(dst []byte) ([]byte, error) { return jsontext.AppendQuoted(dst, value), nil })
	}
	s.parsed = append(s.parsed, m)
	return err
}

// shown is a text for an error, cut so that no record is printed whole.
func shown(text []byte) string {
	const limit = 40
	if len(text) > limit {
		return fmt.Sprintf("%q…", text[:limit])
	}
	return fmt.Sprintf("%q", text)
}
