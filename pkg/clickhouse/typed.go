package clickhouse

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unsafe"
)

// Encoder makes RowBinary rows of Ts without an allocation. It is immutable,
// and so safe for concurrent use; its Append is an encoder for chain.Encode.
type Encoder[T any] struct {
	columns Columns
	fields  []field
}

// field is a member of a struct that is a column, or an element of a tuple.
type field struct {
	name   string
	offset uintptr
	goType reflect.Type
	tag    string // the type it is to have, "" for the one that its Go type has
	append appender
}

// appender appends the value at p, which is of the type it was made for.
type appender func(dst []byte, p unsafe.Pointer) ([]byte, error)

// NewEncoder returns an encoder by the fields of the struct T and their tags.
func NewEncoder[T any]() (*Encoder[T], error) {
	g := reflect.TypeFor[T]()
	if g.Kind() != reflect.Struct {
		return nil, fmt.Errorf("make rows of %v: it is not a struct", g)
	}
	fields, err := fieldsOf(g, 0)
	if err != nil {
		return nil, fmt.Errorf("make rows of %v: %w", g, err)
	}
	e := &Encoder[T]{fields: fields}
	var errs []error
	for i := range e.fields {
		f := &e.fields[i]
		t, err := f.bind()
		if err != nil {
			errs = append(errs, fmt.Errorf("make rows of %v: column %s: %w", g, f.name, err))
			continue
		}
		e.columns = append(e.columns, Column{Name: f.name, Type: t})
	}
	return e, errors.Join(errs...)
}

// Columns are those of the rows, in their order.
func (e *Encoder[T]) Columns() Columns { return e.columns }

// Append appends the row of v. An error is a *ValueError, and dst is then as it
// was.
func (e *Encoder[T]) Append(dst []byte, v *T) ([]byte, error) {
	start, p := len(dst), unsafe.Pointer(v)
	for i := range e.fields {
		f := &e.fields[i]
		var err error
		if dst, err = f.append(dst, unsafe.Add(p, f.offset)); err != nil {
			value := reflect.NewAt(f.goType, unsafe.Add(p, f.offset)).Elem()
			return dst[:start], e.columns.fault(i, fmt.Appendf(nil, "%v", value), err)
		}
	}
	return dst, nil
}

// fieldsOf lists the fields of a struct. Those of structs that are inline belong
// to it, as do those of embedded ones without a name of their own.
func fieldsOf(g reflect.Type, offset uintptr) ([]field, error) {
	var fields []field
	for i := range g.NumField() {
		f := g.Field(i)
		name, tag, err := columnTag(f)
		if err != nil {
			return nil, err
		}
		if f.Type.Kind() == reflect.Struct && (tag == inline || f.Anonymous && name == "") {
			inner, err := fieldsOf(f.Type, offset+f.Offset)
			if err != nil {
				return nil, err
			}
			fields = append(fields, inner...)
			continue
		}
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		fields = append(fields, field{name: name, offset: offset + f.Offset, goType: f.Type, tag: tag})
	}
	if len(fields) == 0 {
		return nil, errors.New("it has no fields")
	}
	seen := map[string]bool{}
	for _, f := range fields {
		if seen[f.name] {
			return nil, fmt.Errorf("two fields are called %s", f.name)
		}
		seen[f.name] = true
	}
	return fields, nil
}

// inline marks a struct whose fields are columns themselves.
const inline = ",inline"

// columnTag reads `ch:"name,type=T"` and `ch:",inline"`. The name of a field
// without one is that of its json tag.
func columnTag(f reflect.StructField) (name, of string, err error) {
	tag := f.Tag.Get("ch")
	name, rest, more := strings.Cut(tag, ",")
	of, typed := strings.CutPrefix(rest, "type=")
	switch {
	case tag == inline && f.Type.Kind() == reflect.Struct:
		return "", inline, nil
	case more && (!typed || of == ""):
		return "", "", fmt.Errorf(`field %s: tag %q: want ch:"name,type=T", or ch:",inline" for a struct`, f.Name, tag)
	case name == "":
		name, _, _ = strings.Cut(f.Tag.Get("json"), ",")
	}
	return name, of, nil
}

// bind finds the field's type and how its values are appended.
func (f *field) bind() (t *Type, err error) {
	text := f.tag
	if text == "" {
		if text, err = typeText(f.goType, 0); err != nil {
			return nil, err
		}
	}
	if t, err = ParseType(text); err != nil {
		return nil, err
	}
	f.append, err = bind(f.goType, t)
	return t, err
}
