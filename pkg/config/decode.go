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

// custom is a type of this package that reads a node itself. A null it gets as
// well, so that it knows where it would have stood.
type custom interface {
	decodeFrom(d *decoder, n *node, path string)
}

// value reads n into v. A null leaves v as it is.
func (d *decoder) value(v reflect.Value, n *node, path string) {
	if c, ok := v.Addr().Interface().(custom); ok {
		c.decodeFrom(d, n, path)
		return
	}
	if n.kind == Null && v.Kind() != reflect.Struct {
		return
	}
	switch t := v.Addr().Interface().(type) {
	case *time.Duration:
		read(d, n, path, parseDuration, t)
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

func (d *decoder) structure(v reflect.Value, n *node, path string) {
	if n.kind != Null && !d.expect(n, Mapping, path) {
		return
	}
	fs := fields(v)
	for _, e := range n.entries {
		if !slices.ContainsFunc(fs, func(f field) bool { return f.key == e.key }) {
			d.add(e.pos, below(path, e.key), "unknown key%s", hint(e.key, keys(fs)))
		}
	}
	for _, f := range fs {
		d.field(f, n, path)
	}
}

// field reads the key of f from the mapping n.
func (d *decoder) field(f field, n *node, path string) {
	p := below(path, f.key)
	at, c := n.pos, &node{pos: n.pos}
	if e := n.entry(f.key); e != nil {
		at, c = e.pos, e.value
	}
	before := len(d.problems)
	if f.required && c.kind == Null && f.value.IsZero() {
		d.add(at, p, "required%s", exampleOf(f))
		return
	}
	d.value(f.value, c, p)
	if len(d.problems) > before || c.kind == Null || f.value.Kind() != reflect.String {
		return
	}
	switch s := f.value.String(); {
	case f.required && s == "" && len(c.vars) > 0:
		d.add(at, p, "required, but %s is empty%s", c.show(), exampleOf(f))
	case f.required && s == "":
		d.add(at, p, "required, but empty%s", exampleOf(f))
	case f.oneOf != nil && !slices.Contains(f.oneOf, s):
		known := strings.Join(f.oneOf, ", ")
		if guess := suggest(s, f.oneOf); guess != "" && len(c.vars) == 0 {
			known += "; did you mean " + guess + "?"
		}
		d.add(at, p, "%s is none of %s", c.show(), known)
	}
}

func exampleOf(f field) string {
	if f.example == "" {
		return ""
	}
	return ", for example " + f.example
}

func (d *decoder) list(v reflect.Value, n *node, path string) {
	if !d.expect(n, List, path) {
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
		d.add(n.pos, path, "cannot be read into %s: keys are text", v.Type())
		return
	}
	if !d.expect(n, Mapping, path) {
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
	_, own := v.Addr().Interface().(custom)
	if n.kind == Null && v.Kind() != reflect.Struct && !own {
		d.add(n.pos, path, "no value")
		return
	}
	d.value(v, n, path)
}

// expect reports whether n has kind k.
func (d *decoder) expect(n *node, k Kind, path string) bool {
	if n.kind == k {
		return true
	}
	d.add(n.pos, path, "%s stands where %s is expected", n.kind, k)
	return false
}
