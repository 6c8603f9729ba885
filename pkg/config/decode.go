package config

import (
	"encoding"
	"reflect"
	"slices"
	"strings"
	"time"
)

// decoder reads nodes into Go values and collects what does not fit.
type decoder struct{ problems }

// value reads n into v. A null leaves v as it is, unless it stands for a body
// with nothing in it.
func (d *decoder) value(v reflect.Value, n *node, path string) {
	if n.kind == null && !hasBody(v.Type()) {
		return
	}
	switch t := v.Addr().Interface().(type) {
	case *time.Duration:
		read(d, n, path, parseDuration, t)
		return
	case *Pairs:
		d.pairs(t, n, path)
		return
	case encoding.TextUnmarshaler:
		d.text(t, n, path)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		d.value(v.Elem(), n, path)
	case reflect.Struct:
		d.structure(v, n, path)
	case reflect.Slice:
		d.list(v, n, path)
	case reflect.Map:
		d.mapping(v, n, path)
	default:
		d.scalar(v, n, path)
	}
}

// hasBody reports whether t is read key by key: a struct, or a pointer to one,
// that has no parser of its own.
func hasBody(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func (d *decoder) structure(v reflect.Value, n *node, path string) {
	fs := fields(v)
	switch {
	case n.kind == scalar && len(n.vars) == 0 && names(n.text, fs):
		d.add(n.pos, path, "want a mapping, got a name: write {%s: {}}", n.text)
		return
	case n.kind != null && !d.expect(n, mapping, path):
		return
	}
	for _, e := range n.entries {
		if !slices.ContainsFunc(fs, func(f field) bool { return f.key == e.key }) {
			d.add(e.pos, below(path, e.key), "unknown key%s", hint(e.key, keys(fs)))
		}
	}
	for _, f := range fs {
		d.field(f, n, path)
	}
}

// names reports whether text is the key of a field that has a body.
func names(text string, fs []field) bool {
	return slices.ContainsFunc(fs, func(f field) bool { return f.key == text && hasBody(f.value.Type()) })
}

// field reads the key of f from the mapping n.
func (d *decoder) field(f field, n *node, path string) {
	p := below(path, f.key)
	at, c, nothing := n.pos, &node{pos: n.pos}, true
	if e := n.entry(f.key); e != nil {
		at, c = e.pos, e.value
		nothing = c.kind == null && !hasBody(f.value.Type())
	}
	before := len(d.problems)
	switch {
	case nothing && f.required && f.value.IsZero():
		d.add(at, p, "required%s", exampleOf(f))
		return
	case nothing && f.value.Kind() != reflect.Struct:
		return
	}
	d.value(f.value, c, p)
	switch {
	case len(d.problems) > before || c.kind != scalar:
	case f.required && c.text == "" && len(c.vars) > 0:
		d.add(at, p, "required, but %s is empty%s", c.show(), exampleOf(f))
	case f.required && c.text == "":
		d.add(at, p, "required, but empty%s", exampleOf(f))
	case f.oneOf != nil && !slices.Contains(f.oneOf, c.text):
		known := strings.Join(f.oneOf, ", ")
		if guess := suggest(c.text, f.oneOf); guess != "" && len(c.vars) == 0 {
			known += "; did you mean " + guess + "?"
		}
		d.add(at, p, "%s is not one of %s", c.show(), known)
	}
}

func exampleOf(f field) string {
	if f.example == "" {
		return ""
	}
	return ", for example " + f.example
}

func (d *decoder) list(v reflect.Value, n *node, path string) {
	if !d.expect(n, list, path) {
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
	for i, c := range n.items {
		d.element(out.Index(i), c, item(path, i))
	}
	v.Set(out)
}

func (d *decoder) mapping(v reflect.Value, n *node, path string) {
	if v.Type().Key().Kind() != reflect.String {
		d.add(n.pos, path, "cannot be read into %s: keys are strings", v.Type())
		return
	}
	if !d.expect(n, mapping, path) {
		return
	}
	out := reflect.MakeMapWithSize(v.Type(), len(n.entries))
	for _, e := range n.entries {
		c := reflect.New(v.Type().Elem()).Elem()
		d.element(c, e.value, below(path, e.key))
		out.SetMapIndex(reflect.ValueOf(e.key).Convert(v.Type().Key()), c)
	}
	v.Set(out)
}

// element reads a member of a list or map. There a null stands for nothing that
// could keep its default; only what has a body may go without.
func (d *decoder) element(v reflect.Value, n *node, path string) {
	if n.kind == null && !hasBody(v.Type()) {
		d.add(n.pos, path, "no value")
		return
	}
	d.value(v, n, path)
}

// expect reports whether n has kind k.
func (d *decoder) expect(n *node, k kind, path string) bool {
	if n.kind == k {
		return true
	}
	d.add(n.pos, path, "want %s, got %s", k, n.kind)
	return false
}
