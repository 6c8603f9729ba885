package clickhouse

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"unsafe"
)

// element is the type of the values of an Array, or of a Nested.
func (t *Type) element() *Type {
	switch c := t.coder.(type) {
	case array:
		if t.name == "Array" {
			return t.args[0]
		}
		of := &Type{name: "Tuple", text: "Tuple" + t.text[len(t.name):], args: t.args, names: t.names, coder: c.of, shape: t.shape.parts[0]}
		if t.name != "Nested" { // a type of geometry
			of, _ = ParseType(geometric[t.name][len("Array(") : len(geometric[t.name])-1])
		}
		return of
	default:
		return nil
	}
}

func isArray(t *Type) bool { return t.element() != nil }

// slice is how a slice lies in memory.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

func bindSlice(g reflect.Type, t *Type) (appender, error) {
	of := t.element()
	if of == nil {
		return nil, nil
	}
	each, err := bind(g.Elem(), of)
	if err != nil {
		return nil, err
	}
	size := g.Elem().Size()
	return func(dst []byte, p unsafe.Pointer) ([]byte, error) {
		s := (*slice)(p)
		return appendList(dst, each, s.data, s.len, size)
	}, nil
}

func appendList(dst []byte, each appender, p unsafe.Pointer, n int, size uintptr) ([]byte, error) {
	dst = binary.AppendUvarint(dst, uint64(n))
	for i := range n {
		var err error
		if dst, err = each(dst, unsafe.Add(p, uintptr(i)*size)); err != nil {
			return dst, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return dst, nil
}

// bindArray is of [N]byte as bytes, as an identifier or as an address, and of
// other arrays as Array.
func bindArray(g reflect.Type, t *Type) (appender, error) {
	n := g.Len()
	if of := t.element(); of != nil {
		each, err := bind(g.Elem(), of)
		if err != nil {
			return nil, err
		}
		size := g.Elem().Size()
		return func(dst []byte, p unsafe.Pointer) ([]byte, error) { return appendList(dst, each, p, n, size) }, nil
	}
	if g.Elem().Kind() != reflect.Uint8 {
		return nil, nil
	}
	switch c := t.coder.(type) {
	case text:
		return func(dst []byte, p unsafe.Pointer) ([]byte, error) {
			return appendBytes(dst, unsafe.Slice((*byte)(p), n)), nil
		}, nil
	case fixedText:
		if n > c.width {
			return nil, nil
		}
		return func(dst []byte, p unsafe.Pointer) ([]byte, error) { return c.text(dst, unsafe.Slice((*byte)(p), n)) }, nil
	case uuid:
		if n == 16 {
			return func(dst []byte, p unsafe.Pointer) ([]byte, error) { return appendUUID(dst, *(*[16]byte)(p)), nil }, nil
		}
	case ipv6:
		if n == 16 {
			return func(dst []byte, p unsafe.Pointer) ([]byte, error) {
				return append(dst, unsafe.Slice((*byte)(p), n)...), nil
			}, nil
		}
	case ipv4:
		if n == 4 {
			return func(dst []byte, p unsafe.Pointer) ([]byte, error) {
				b := *(*[4]byte)(p)
				return append(dst, b[3], b[2], b[1], b[0]), nil
			}, nil
		}
	}
	return nil, nil
}

// bindStruct is of a struct as a tuple: by name where the tuple has names, else
// in order.
func bindStruct(g reflect.Type, t *Type) (appender, error) {
	if _, ok := t.coder.(tuple); !ok {
		return nil, nil
	}
	fields, err := fieldsOf(g, 0)
	if err != nil {
		return nil, err
	}
	args := t.args
	if t.name == "Point" {
		f, _ := ParseType("Float64")
		args = []*Type{f, f}
	}
	if len(fields) != len(args) {
		return nil, fmt.Errorf("%s has %d elements, %v has %d fields", t, len(args), g, len(fields))
	}
	ordered := make([]field, len(args))
	for i, of := range args {
		at := i
		if t.names != nil {
			for at = 0; at < len(fields) && fields[at].name != t.names[i]; at++ {
			}
			if at == len(fields) {
				return nil, fmt.Errorf("%v has no field %s for %s", g, t.names[i], t)
			}
		}
		ordered[i] = fields[at]
		if ordered[i].append, err = bind(fields[at].goType, of); err != nil {
			return nil, fmt.Errorf("%s: %w", fields[at].name, err)
		}
	}
	return func(dst []byte, p unsafe.Pointer) ([]byte, error) {
		for i := range ordered {
			var err error
			if dst, err = ordered[i].append(dst, unsafe.Add(p, ordered[i].offset)); err != nil {
				return dst, fmt.Errorf("element %s: %w", ordered[i].name, err)
			}
		}
		return dst, nil
	}, nil
}
