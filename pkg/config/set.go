package config

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// setFile stands for the file in errors about what Set put in.
const setFile = "--set"

// Set puts a value at path, over whatever stands there; mappings on the way are
// made as needed, and the index after a list's last appends to it. The value is
// YAML where it begins with a brace, a bracket or is quoted as a whole, else the
// text itself, so that an expression needs no second quoting; null takes a key
// away. Variables are not taken in. After an error nothing is changed.
func (d *Document) Set(path, value string) error {
	steps, err := parsePath(path)
	if err != nil {
		return pos{file: setFile}.errorf("", "%s", err)
	}
	n, err := parseValue(path, value)
	if err != nil {
		return err
	}
	root, err := d.root.put("", steps, n)
	if err != nil {
		return err
	}
	d.root = root
	return nil
}

func parseValue(path, value string) (*node, error) {
	n := &node{pos: pos{file: setFile}, kind: scalar, text: value}
	trimmed := strings.TrimSpace(value)
	switch {
	case trimmed == "null" || trimmed == "~":
		n.kind, n.text = null, ""
		return n, nil
	case trimmed == "" || !strings.Contains(`{["'`, trimmed[:1]):
		return n, nil
	}
	r := reader{file: setFile}
	y, err := r.yaml([]byte(value))
	quoted := trimmed[0] == '"' || trimmed[0] == '\''
	switch {
	case quoted && (err != nil || y.Kind != yaml.ScalarNode):
		return n, nil //nolint:nilerr // text that only looks quoted, taken as it is
	case err != nil:
		return nil, n.errorf(path, "%q is not valid YAML: quote it as a whole if it is text", value)
	}
	n = r.node(y, path, 0)
	return n, r.err()
}

// put returns n with v where steps lead. It changes n only once nothing can go
// wrong any more.
func (n *node) put(path string, steps []step, v *node) (*node, error) {
	if len(steps) == 0 {
		return v, nil
	}
	at, s := pos{file: setFile}, steps[0]
	if n.kind == null {
		n = &node{pos: at, kind: mapping}
		if s.isIndex {
			n.kind = list
		}
	}
	switch {
	case n.kind == scalar:
		return nil, at.errorf(path, "holds a single value: the path cannot lead through it")
	case s.isIndex && n.kind != list:
		return nil, at.errorf(path, "is a mapping: name a key, not the index %d", s.index)
	case !s.isIndex && n.kind != mapping:
		return nil, at.errorf(path, "is a list of %d: give an index, as in %s", len(n.items), item(path, 0))
	case s.isIndex:
		return n.putItem(item(path, s.index), steps, v)
	}
	return n.putKey(below(path, s.key), steps, v)
}

func (n *node) putItem(path string, steps []step, v *node) (*node, error) {
	at, i := pos{file: setFile}, steps[0].index
	if i > len(n.items) {
		return nil, at.errorf(path, "the list has %d items: the next index is %d", len(n.items), len(n.items))
	}
	old := &node{pos: at}
	if i < len(n.items) {
		old = n.items[i]
	}
	c, err := old.put(path, steps[1:], v)
	if err != nil {
		return nil, err
	}
	n.items = append(n.items[:i], append([]*node{c}, n.items[min(i+1, len(n.items)):]...)...)
	return n, nil
}

func (n *node) putKey(path string, steps []step, v *node) (*node, error) {
	at, key := pos{file: setFile}, steps[0].key
	if len(steps) == 1 && v.kind == null { // left in, it would name a body
		n.entries = slices.DeleteFunc(n.entries, func(e entry) bool { return e.key == key })
		return n, nil
	}
	e := n.entry(key)
	if e == nil {
		e = &entry{pos: at, key: key, value: &node{pos: at}}
	}
	c, err := e.value.put(path, steps[1:], v)
	if err != nil {
		return nil, err
	}
	if n.entry(key) == nil {
		n.entries = append(n.entries, *e)
	}
	e = n.entry(key)
	e.value = c
	if len(steps) == 1 {
		e.pos = at
	}
	return n, nil
}
