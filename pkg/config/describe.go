package config

import (
	"encoding"
	"fmt"
	"reflect"
	"time"
)

// Kind is what Decode reads a value as.
type Kind string

// The kinds.
const (
	String   Kind = "string"
	Integer  Kind = "integer"
	Boolean  Kind = "boolean"
	Bytes    Kind = "size"
	Interval Kind = "duration"
	Moment   Kind = "time"
	Section  Kind = "section" // keys that are known
	List     Kind = "list"
	Named    Kind = "map" // keyed by names that the user chooses
)

// Type describes what Decode reads into a Go type.
type Type struct {
	Kind Kind
	Name string // of a section, the Go type: those of one name have the same keys
	Keys []Key  // of a section
	Elem *Type  // of a list or map
}

// Key is a key of a section.
type Key struct {
	Name     string
	Type     Type
	Required bool
	Example  string
	OneOf    []string
}

// Describe describes the struct that into is, or points to, as Decode reads it.
// A type that holds itself has no description.
func Describe(into any) (Type, error) { return describe(reflect.TypeOf(into), nil) }

func describe(t reflect.Type, around []reflect.Type) (Type, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return Type{Kind: Interval}, nil
	case t == reflect.TypeFor[Size]():
		return Type{Kind: Bytes}, nil
	case t == reflect.TypeFor[Time]():
		return Type{Kind: Moment}, nil
	case t == reflect.TypeFor[Pairs]():
		return Type{Kind: Named, Elem: &Type{Kind: String}}, nil
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()), t.Kind() == reflect.String:
		return Type{Kind: String}, nil
	case t.Kind() == reflect.Bool:
		return Type{Kind: Boolean}, nil
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64:
		return Type{Kind: Integer}, nil
	case t.Kind() == reflect.Struct:
		return section(t, around)
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		elem, err := describe(t.Elem(), around)
		kind := List
		if t.Kind() == reflect.Map {
			kind = Named
		}
		return Type{Kind: kind, Elem: &elem}, err
	}
	return Type{}, fmt.Errorf("describe configuration: nothing is read into a Go %s", t)
}

func section(t reflect.Type, around []reflect.Type) (Type, error) {
	out := Type{Kind: Section, Name: t.Name()}
	for _, a := range around {
		if a == t {
			return out, fmt.Errorf("describe configuration: %s holds itself", t)
		}
	}
	around = append(around[:len(around):len(around)], t)
	for _, f := range fields(reflect.New(t).Elem()) {
		of, err := describe(f.value.Type(), around)
		if err != nil {
			return out, fmt.Errorf("%s: %w", f.key, err)
		}
		out.Keys = append(out.Keys, Key{Name: f.key, Type: of, Required: f.required, Example: f.example, OneOf: f.oneOf})
	}
	return out, nil
}
