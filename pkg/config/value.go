package config

import "reflect"

// Value is any part of the file, kept to be read later.
type Value struct {
	node *node
	path string
}

// Kind returns the value's form; Null also for one that is not there.
func (v Value) Kind() Kind {
	if v.node == nil {
		return Null
	}
	return v.node.kind
}

// Decode reads the value; see Document.Decode.
func (v Value) Decode(into any) error { return decode(v.at(), v.path, into) }

// Path returns where the value stands.
func (v Value) Path() string { return v.path }

// Line returns its line in the file, 0 if it is not from there.
func (v Value) Line() int { return v.at().line }

// Errorf returns an error about what key leads to in the value, or with "" the
// value itself; see Document.Errorf.
func (v Value) Errorf(key, format string, args ...any) error {
	return errorf(v.at(), v.path, key, format, args...)
}

// at is the node, also of a zero Value.
func (v Value) at() *node {
	if v.node == nil {
		return &node{pos: pos{file: "configuration"}}
	}
	return v.node
}

func (v *Value) decodeFrom(_ *decoder, n *node, path string) { *v = Value{node: n, path: path} }

// Map is a mapping with free keys, in the order of the file.
type Map[T any] []Entry[T]

// Entry is a key of a Map and its value.
type Entry[T any] struct {
	Key   string
	Value T
}

func (m *Map[T]) decodeFrom(d *decoder, n *node, path string) {
	if n.kind == Null || !d.expect(n, Mapping, path) {
		return
	}
	out := make(Map[T], len(n.entries))
	for i, e := range n.entries {
		out[i].Key = e.key
		d.element(reflect.ValueOf(&out[i].Value).Elem(), e.value, below(path, e.key))
	}
	*m = out
}
