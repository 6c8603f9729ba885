package config

import (
	"fmt"
	"strings"
)

// kind is the form of a value.
type kind int

const (
	null kind = iota
	scalar
	list
	mapping
)

func (k kind) String() string {
	switch k {
	case scalar:
		return "a scalar"
	case list:
		return "a list"
	case mapping:
		return "a mapping"
	default:
		return "nothing"
	}
}

// pos is where something stands.
type pos struct {
	file string
	line int
}

func (p pos) errorf(path, format string, args ...any) *Error {
	return &Error{File: p.file, Line: p.line, Path: path, Text: fmt.Sprintf(format, args...)}
}

// node is a value of the file, reduced to what is allowed in it.
type node struct {
	pos
	kind    kind
	text    string     // of a scalar, variables taken in
	vars    []variable // what of text came from variables
	items   []*node    // of a list
	entries []entry    // of a mapping, in the order of the file
}

type entry struct {
	pos
	key   string
	value *node
}

type variable struct{ name, value string }

// show is a scalar for an error: its text or, where that comes from variables,
// only their names.
func (n *node) show() string {
	if len(n.vars) == 0 {
		return fmt.Sprintf("%.80q", n.text)
	}
	names := make([]string, len(n.vars))
	for i, v := range n.vars {
		names[i] = "${" + v.name + "}"
	}
	return "the value of " + strings.Join(names, "")
}

// mask stands for a value that must not be seen.
const mask = "***"

// shortest is the length from which a variable's value is hidden in the text of
// others. Below it a value hides nothing, but hiding it would garble the text.
const shortest = 4

// hide removes the values of all variables at and below n from text.
func (n *node) hide(text string) string {
	for _, v := range n.vars {
		if len(v.value) >= shortest {
			text = strings.ReplaceAll(text, v.value, mask)
		}
	}
	for _, c := range n.items {
		text = c.hide(text)
	}
	for _, e := range n.entries {
		text = e.value.hide(text)
	}
	return text
}

// nearest is where the value stands that steps lead to, or the last there is on
// the way.
func (n *node) nearest(steps []step) pos {
	at := n.pos
	for _, s := range steps {
		if s.isIndex {
			if s.index >= len(n.items) {
				return at
			}
			n = n.items[s.index]
			at = n.pos
			continue
		}
		e := n.entry(s.key)
		if e == nil {
			return at
		}
		at, n = e.pos, e.value
	}
	return at
}

func (n *node) entry(key string) *entry {
	for i := range n.entries {
		if n.entries[i].key == key {
			return &n.entries[i]
		}
	}
	return nil
}
