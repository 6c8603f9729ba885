package config

import (
	"reflect"
	"strings"
)

// field is a struct's field that takes a key.
type field struct {
	key      string
	value    reflect.Value
	required bool
	example  string
	oneOf    []string
}

// fields lists the fields of a struct that take keys.
func fields(v reflect.Value) []field {
	var out []field
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		key, options, _ := strings.Cut(sf.Tag.Get("yaml"), ",")
		if key == "" || key == "-" || !sf.IsExported() {
			continue
		}
		f := field{
			key: key, value: v.Field(i),
			required: options == "required",
			example:  sf.Tag.Get("example"),
		}
		if set := sf.Tag.Get("oneof"); set != "" {
			f.oneOf = strings.Split(set, "|")
		}
		out = append(out, f)
	}
	return out
}

func keys(fs []field) []string {
	out := make([]string, len(fs))
	for i, f := range fs {
		out[i] = f.key
	}
	return out
}
