package exprchain

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"regexp"
)

// regex compiles a pattern; each named group becomes a member, null where it
// took no part in the match.
func (p *plan) regex(pattern, at string) textParser {
	re, err := regexp.Compile(pattern)
	switch {
	case pattern == "":
		p.errs.addf(at, `is required: groups are written (?P<name>…)`)
		return nil
	case err != nil:
		p.errs.add(at, err)
		return nil
	}
	type group struct {
		n    int
		name []byte
	}
	var groups []group
	for i, name := range re.SubexpNames() {
		if name != "" {
			groups = append(groups, group{i, []byte(name)})
		}
	}
	if groups == nil {
		p.errs.addf(at, "has no named group: write (?P<name>…) around what is to be kept")
	}
	return func(s *scope, text []byte) error {
		m := re.FindSubmatchIndex(text)
		if m == nil {
			return fmt.Errorf("%s does not match the pattern", shown(text))
		}
		for _, g := range groups {
			var value []byte
			if from := m[2*g.n]; from >= 0 {
				value = text[from:m[2*g.n+1]:m[2*g.n+1]]
			}
			if err := s.found(g.name, value); err != nil {
				return err
			}
		}
		return nil
	}
}

// parseQuery reads a query, or that of a URL.
func (s *scope) parseQuery(text []byte) error {
	query := text
	if path, after, ok := bytes.Cut(text, []byte("?")); ok && (len(path) == 0 || isURL(path)) {
		query = after
	} else if isURL(text) {
		return nil
	}
	if isURL(text) {
		query, _, _ = bytes.Cut(query, []byte("#"))
	}
	for len(query) > 0 {
		var pair []byte
		pair, query, _ = bytes.Cut(query, []byte("&"))
		if len(pair) == 0 {
			continue
		}
		k, v, _ := bytes.Cut(pair, []byte("="))
		key, err := url.QueryUnescape(string(k))
		if err != nil {
			return fmt.Errorf("the query in %s: %w", shown(text), err)
		}
		value, err := url.QueryUnescape(string(v))
		if err != nil {
			return fmt.Errorf("the query in %s: %w", shown(text), err)
		}
		if err := s.found([]byte(key), []byte(value)); err != nil {
			return err
		}
	}
	return nil
}

func isURL(text []byte) bool {
	head, _, _ := bytes.Cut(text, []byte("?"))
	return bytes.HasPrefix(text, []byte("/")) || bytes.Contains(head, []byte("://"))
}

var errQuote = errors.New("a quote is not closed")

// parseKeyValue reads words of the form key=value with space between. A value
// with space in it stands in double quotes, where a backslash takes the next
// character as it is and \n, \r and \t are what they are. A word alone is true.
func (s *scope) parseKeyValue(text []byte) error {
	for {
		if text = bytes.TrimLeft(text, " \t\r\n"); len(text) == 0 {
			return nil
		}
		n := bytes.IndexAny(text, " \t\r\n=")
		if n < 0 {
			n = len(text)
		}
		key := text[:n]
		if text = text[n:]; len(text) == 0 || text[0] != '=' {
			if err := s.found(key, []byte{}); err != nil {
				return err
			}
			s.parsed[len(s.parsed)-1].Value = []byte("true")
			continue
		}
		if len(key) == 0 {
			return fmt.Errorf("no key before %s", shown(text))
		}
		value, rest, err := s.pairValue(text[1:])
		if err != nil {
			return fmt.Errorf("%s: %w", shown(text[1:]), err)
		}
		if err := s.found(key, value); err != nil {
			return err
		}
		text = rest
	}
}

// pairValue reads a value and returns what follows it.
func (s *scope) pairValue(text []byte) (value, rest []byte, err error) {
	if len(text) == 0 || text[0] != '"' {
		n := bytes.IndexAny(text, " \t\r\n")
		if n < 0 {
			n = len(text)
		}
		return text[:n:n], text[n:], nil
	}
	value, err = s.build(func(dst []byte) ([]byte, error) {
		for i := 1; i < len(text); i++ {
			switch c := text[i]; c {
			case '"':
				rest = text[i+1:]
				return dst, nil
			case '\\':
				if i++; i == len(text) {
					return dst, errQuote
				}
				dst = append(dst, unquoted(text[i]))
			default:
				dst = append(dst, c)
			}
		}
		return dst, errQuote
	})
	return value, rest, err
}

// unquoted is what a byte after a backslash stands for.
func unquoted(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}
