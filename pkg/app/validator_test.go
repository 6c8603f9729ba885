package app

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
)

// valid judges v, as encoding/json has it, by a JSON Schema: as much of one as
// ours uses, and an error for all else.
func valid(schema map[string]any, v any, path string) error {
	for keyword, arg := range schema {
		if err := validKeyword(schema, keyword, arg, v, path); err != nil {
			return err
		}
	}
	return nil
}

func validKeyword(schema map[string]any, keyword string, arg, v any, path string) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%s: "+format, append([]any{path}, args...)...)
	}
	object, isObject := v.(map[string]any)
	switch keyword {
	case "$schema", "title", "description", "default", "examples":
	case "type":
		types, ok := arg.([]any)
		if !ok {
			types = []any{arg}
		}
		if !slices.ContainsFunc(types, func(t any) bool { return isOf(t.(string), v) }) {
			return wrong("%v is not one of %v", v, types)
		}
	case "enum":
		if !slices.Contains(arg.([]any), v) {
			return wrong("%v is not one of %v", v, arg)
		}
	case "const":
		if v != arg {
			return wrong("%v is not %v", v, arg)
		}
	case "pattern":
		if s, ok := v.(string); ok && !regexp.MustCompile(arg.(string)).MatchString(s) {
			return wrong("%q does not match %s", s, arg)
		}
	case "items":
		list, _ := v.([]any)
		for i, item := range list {
			if err := valid(arg.(map[string]any), item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case "properties":
		for name, of := range arg.(map[string]any) {
			if member, ok := object[name]; ok {
				if err := valid(of.(map[string]any), member, path+"."+name); err != nil {
					return err
				}
			}
		}
	case "additionalProperties":
		known, _ := schema["properties"].(map[string]any)
		for name, member := range object {
			if _, ok := known[name]; ok {
				continue
			}
			of, ok := arg.(map[string]any)
			if !ok {
				return wrong("%s is no key", name)
			}
			if err := valid(of, member, path+"."+name); err != nil {
				return err
			}
		}
	case "required":
		for _, name := range arg.([]any) {
			if _, ok := object[name.(string)]; isObject && !ok {
				return wrong("%s is missing", name)
			}
		}
	case "anyOf", "oneOf":
		n := 0
		for _, of := range arg.([]any) {
			if valid(of.(map[string]any), v, path) == nil {
				n++
			}
		}
		if n == 0 || keyword == "oneOf" && n > 1 {
			return wrong("%d of %s hold", n, keyword)
		}
	default:
		return wrong("the schema has a keyword %s that this test does not know", keyword)
	}
	return nil
}

func isOf(name string, v any) bool {
	switch v := v.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case float64:
		return name == "number" || name == "integer" && v == float64(int64(v))
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	}
	return false
}

// asJSON is v as encoding/json has it.
func generic(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out any
	return out, json.Unmarshal(b, &out)
}
