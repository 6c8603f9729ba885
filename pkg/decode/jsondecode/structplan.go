package jsondecode

import (
	"encoding"
	stdjson "encoding/json"
	"reflect"
	"slices"
	"strings"
)

// structPlan is how records become a struct without a walk through it: the
// members that its fields are of are looked up as a Document's are, and each is
// made a value of. It covers what is plain in a record. Whatever is not (a key
// that differs in case or stands twice, a value of another kind, an error) the
// library decodes again, so that what comes out is always the library's answer.
type structPlan struct {
	root   *node
	count  int // of spans
	fields []plannedField
}

// plannedField is a field, or a struct that holds some.
type plannedField struct {
	path   Path
	slot   int // of its span
	offset uintptr
	set    setter
}

// planOf makes the plan of a struct type, or nil where only the library knows
// its rules.
func planOf(t reflect.Type) *structPlan {
	if t.Kind() != reflect.Struct || decodesItself(t) {
		return nil
	}
	p := &structPlan{}
	if !p.add(t, nil, 0) || len(p.fields) == 0 {
		return nil
	}
	paths := make([]Path, len(p.fields))
	for i := range p.fields {
		paths[i] = p.fields[i].path
	}
	root, slots := plan(paths)
	for i := range p.fields {
		p.fields[i].slot = slots[i]
	}
	p.root, p.count = root, root.last
	return p
}

// add adds the fields of a struct; false where the library's rules on names are
// needed.
func (p *structPlan) add(t reflect.Type, prefix Path, offset uintptr) bool {
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous || slices.Contains(strings.Split(options, ","), "string"):
			return false
		case !f.IsExported() || name == "-" && options == "" && !strings.HasSuffix(f.Tag.Get("json"), ","):
			continue
		case name == "":
			name = f.Name
		}
		same := func(other string) bool { return strings.EqualFold(name, other) }
		if !simpleName(name) || slices.ContainsFunc(names, same) {
			return false
		}
		names = append(names, name)
		path := append(slices.Clone(prefix), name)
		at := plannedField{path: path, offset: offset + f.Offset}
		if f.Type.Kind() != reflect.Struct || decodesItself(f.Type) {
			at.set = setterOf(f.Type)
			p.fields = append(p.fields, at)
			continue
		}
		at.set = setObject
		p.fields = append(p.fields, at)
		if !p.add(f.Type, path, at.offset) {
			return false
		}
	}
	return true
}

// simpleName reports whether a tag's name is one that all libraries take.
func simpleName(name string) bool {
	for i := range len(name) {
		if c := name[i]; c-'0' > 9 && c|0x20-'a' > 'z'-'a' && c != '_' && c != '-' {
			return false
		}
	}
	return name != ""
}

// decodesItself reports whether values of t have methods for the library.
func decodesItself(t reflect.Type) bool {
	t = reflect.PointerTo(t)
	return t.Implements(reflect.TypeFor[stdjson.Unmarshaler]()) || t.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}
