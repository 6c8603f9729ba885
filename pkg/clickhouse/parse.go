package clickhouse

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/failure"
)

// ParseType reads a type as the server writes it, or as a CREATE TABLE has it.
// The error names the type, and says why if no row can be made for it.
func ParseType(text string) (*Type, error) { return parseType(text, time.UTC) }

// parseType is ParseType with the zone of times that have none.
func parseType(text string, zone *time.Location) (*Type, error) {
	p := typeParser{rest: text}
	n, err := p.node(0)
	if err == nil && p.peek() != 0 {
		err = fmt.Errorf("want the end, not %q", cut(p.rest))
	}
	if err != nil {
		return nil, fmt.Errorf("parse type %q: %w", cut(text), err)
	}
	b := builder{zone}
	t, err := b.build(n)
	if err != nil {
		return nil, fmt.Errorf("type %q: %w", cut(text), err)
	}
	return t, nil
}

// maxTypeDepth bounds the nesting of types, and so that of every walk through
// their values.
const maxTypeDepth = 64

// node is a type as it is written: a name and its arguments.
type node struct {
	name string
	args []argument
	list bool   // it has parentheses
	raw  string // between them
}

// argument is one of: a type, perhaps with a label before it; a text in quotes,
// perhaps followed by a number; a number.
type argument struct {
	label  string
	node   *node
	text   string
	quoted bool
	number string
}

type typeParser struct{ rest string }

// peek is the next byte that is not a space, 0 at the end.
func (p *typeParser) peek() byte {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	if p.rest == "" {
		return 0
	}
	return p.rest[0]
}

func (p *typeParser) take(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

var (
	errTypeDepth = errors.New("it is nested too deep")
	errTypeName  = errors.New("want the name of a type")
)

// node reads a type.
func (p *typeParser) node(depth int) (*node, error) {
	name := p.word()
	if name == "" {
		return nil, errTypeName
	}
	return p.named(name, depth)
}

// named reads what follows a type's name.
func (p *typeParser) named(name string, depth int) (*node, error) {
	if depth > maxTypeDepth {
		return nil, errTypeDepth
	}
	n := &node{name: name}
	if !p.take('(') {
		return n, nil
	}
	n.list = true
	start := p.rest
	if opaque(name) {
		err := p.balance()
		n.raw = start[:max(0, len(start)-len(p.rest)-1)]
		return n, err
	}
	for !p.take(')') {
		if len(n.args) > 0 && !p.take(',') {
			return nil, fmt.Errorf("want a comma or ) in %s", name)
		}
		a, err := p.argument(depth + 1)
		if err != nil {
			return nil, err
		}
		n.args = append(n.args, a)
	}
	n.raw = start[:len(start)-len(p.rest)-1]
	return n, nil
}

// opaque are the types whose arguments do not matter here.
func opaque(name string) bool { return name == "JSON" || unsupported[name] != "" }

// balance reads up to the parenthesis that closes the current list.
func (p *typeParser) balance() error {
	for depth := 1; ; {
		switch c := p.peek(); c {
		case 0:
			return errors.New("want )")
		case '\'', '`', '"':
			if _, err := p.quoted(c); err != nil {
				return err
			}
			continue
		case '(':
			depth++
		case ')':
			depth--
		}
		if p.rest = p.rest[1:]; depth == 0 {
			return nil
		}
	}
}

func (p *typeParser) argument(depth int) (a argument, err error) {
	switch c := p.peek(); {
	case c == '\'':
		if a.text, err = p.quoted(c); err != nil {
			return a, err
		}
		if a.quoted = true; p.take('=') {
			a.number = p.number()
		}
		return a, nil
	case c == '-' || c-'0' <= 9:
		a.number = p.number()
		return a, nil
	case c == '`' || c == '"':
		if a.label, err = p.quoted(c); err != nil {
			return a, err
		}
		a.node, err = p.node(depth)
		return a, err
	}
	name := p.word()
	if name == "" {
		return a, errTypeName
	}
	if isWord(p.peek()) { // it was a label
		a.label = name
		a.node, err = p.node(depth)
		return a, err
	}
	a.node, err = p.named(name, depth)
	return a, err
}

func isWord(c byte) bool { return c == '_' || c|0x20-'a' <= 'z'-'a' || c-'0' <= 9 }

func (p *typeParser) word() string {
	p.peek()
	n := 0
	for n < len(p.rest) && isWord(p.rest[n]) {
		n++
	}
	w := p.rest[:n]
	p.rest = p.rest[n:]
	return w
}

func (p *typeParser) number() string {
	if !p.take('-') {
		return p.digits()
	}
	return "-" + p.digits()
}

func (p *typeParser) digits() string {
	p.peek()
	n := 0
	for n < len(p.rest) && (p.rest[n]-'0' <= 9 || p.rest[n] == '.') {
		n++
	}
	d := p.rest[:n]
	p.rest = p.rest[n:]
	return d
}

// quoted reads a text between quotes c, where a backslash or a doubled quote
// escapes.
func (p *typeParser) quoted(c byte) (string, error) {
	var b strings.Builder
	for s := p.rest[1:]; s != ""; s = s[1:] {
		switch {
		case s[0] == c && len(s) > 1 && s[1] == c:
			s = s[1:]
			b.WriteByte(c)
		case s[0] == c:
			p.rest = s[1:]
			return b.String(), nil
		case s[0] == '\\' && len(s) > 1:
			s = s[1:]
			b.WriteByte(unescaped(s[0]))
		default:
			b.WriteByte(s[0])
		}
	}
	return "", fmt.Errorf("want a closing %c", c)
}

// unescaped is what the server means by a backslash and c.
func unescaped(c byte) byte {
	if i := strings.IndexByte("bfnrt0av", c); i >= 0 {
		return "\b\f\n\r\t\x00\a\v"[i]
	}
	return c
}

// cut bounds what an error shows of a text.
func cut(s string) string { return failure.Excerpt(s, 64) }
