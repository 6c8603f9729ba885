package ddl

import (
	"fmt"
	"slices"
	"strings"
)

// With more members than this an object is a map from names to values, and not
// a record.
const manyMembers = 64

// kinds are the kinds of values that were seen, null aside.
func (v *values) kinds() []string {
	var all []string
	for _, k := range []struct {
		name string
		n    int
	}{
		{"bool", v.bools}, {"int", v.ints.n}, {"float", v.floats}, {"text", v.texts.n},
		{"array", v.arrays}, {"object", v.objects}, {"deep", v.deep},
	} {
		if k.n > 0 {
			all = append(all, k.name)
		}
	}
	return all
}

// column is the type that holds v; "" where there is none. absent says that some
// record has no such value.
func (v *values) column(absent bool) string {
	missing := absent || v.nulls > 0
	var of string
	switch kinds := v.kinds(); {
	case len(kinds) == 0:
		return "Nullable(String)" // null wherever it was seen
	case slices.Equal(kinds, []string{"bool"}):
		of = "Bool"
	case slices.Equal(kinds, []string{"int"}):
		of = v.ints.column()
	case slices.Equal(kinds, []string{"float"}), slices.Equal(kinds, []string{"int", "float"}) && v.ints.exact():
		of = "Float64"
	case slices.Equal(kinds, []string{"text"}):
		of = v.texts.column()
	case slices.Equal(kinds, []string{"array"}) && v.nulls == 0:
		return v.array()
	case slices.Equal(kinds, []string{"object"}) && v.nulls == 0:
		return v.object()
	default:
		of = "String" // as it is written
	}
	if missing {
		of = "Nullable(" + of + ")"
	}
	if len(v.texts.distinct) > 0 && v.texts.repeats() && strings.Contains(of, "String") && v.texts.n+v.nulls == v.total() {
		of = "LowCardinality(" + of + ")"
	}
	return of
}

func (v *values) array() string {
	if v.element.total() == 0 {
		return "Array(String)"
	}
	return "Array(" + v.element.column(false) + ")"
}

// object is a tuple by names, or, if there are many, a map.
func (v *values) object() string {
	if len(v.names) == 0 {
		return "Map(String, String)"
	}
	if len(v.names) > manyMembers {
		return "Map(String, " + v.merged().column(false) + ")"
	}
	members := make([]string, len(v.names))
	for i, name := range v.names {
		m := v.members[name]
		members[i] = identifier(name) + " " + m.column(m.total() < v.objects)
	}
	return "Tuple(" + strings.Join(members, ", ") + ")"
}

// merged is what was seen in all members together.
func (v *values) merged() *values {
	all := new(values)
	for _, name := range v.names {
		all.merge(v.members[name])
	}
	return all
}

func (v *values) merge(o *values) {
	v.nulls, v.bools, v.floats, v.deep = v.nulls+o.nulls, v.bools+o.bools, v.floats+o.floats, v.deep+o.deep
	v.arrays, v.objects = v.arrays+o.arrays, v.objects+o.objects
	v.ints.merge(&o.ints)
	v.texts.merge(&o.texts)
	if o.element != nil {
		if v.element == nil {
			v.element = new(values)
		}
		v.element.merge(o.element)
	}
	for _, name := range o.names {
		if v.members == nil {
			v.members = map[string]*values{}
		}
		v.member(name).merge(o.members[name])
	}
}

// identifier is name as SQL writes it, quoted.
func identifier(name string) string {
	var b strings.Builder
	b.WriteByte('`')
	for _, r := range name {
		switch {
		case r == '`' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r < 0x20:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('`')
	return b.String()
}
