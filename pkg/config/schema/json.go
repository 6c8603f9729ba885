package schema

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/spate-go/spate/pkg/config"
)

// JSON writes the JSON Schema (draft 2020-12) of a configuration.
//
// It accepts what Decode accepts, except for three things: a key without a
// value, unless it is a section that needs none; variables, of which it sees
// only that they are there; and text that its type parses in its own way. What
// only the whole file shows is left to whoever reads it.
func JSON(t config.Type, notes Notes, title string) ([]byte, error) {
	w := writer{notes}
	root := object{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}}
	b, err := json.MarshalIndent(append(root, w.section(t, "", "", Note{}, map[string]place{})...), "", "  ")
	return append(b, '\n'), err
}

// object is a JSON object whose members have an order.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON writes the members as they stand.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := e.Encode(m.key); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := e.Encode(m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// variable is a pattern for text that holds one.
const variable = `\$\{`

type writer struct{ notes Notes }

// place is where the notes of a section's keys stand, and its own.
type place struct {
	at   string
	note Note
}

func (w writer) key(k config.Key, path, at string, seen map[string]place) object {
	n := w.notes[at]
	o := object{{"description", n.Meaning}}
	if n.Default != "" {
		if d, ok := value(k.Type.Kind, n.Default); ok {
			o = append(o, member{"default", d})
		}
	}
	if k.Example != "" {
		o = append(o, member{"examples", []string{k.Example}})
	}
	if k.OneOf != nil {
		return append(o, member{"anyOf", []object{{{"enum", k.OneOf}}, {{"type", "string"}, {"pattern", variable}}}})
	}
	return append(o, w.value(k.Type, path, at, n, seen)...)
}

func (w writer) value(t config.Type, path, at string, n Note, seen map[string]place) object {
	switch t.Kind {
	case config.Section:
		return w.section(t, path, at, n, seen)
	case config.List:
		return object{{"type", "array"}, {"items", w.value(*t.Elem, path+"[]", at+"[]", n, seen)}}
	case config.Named:
		return object{{"type", "object"}, {"additionalProperties", w.value(*t.Elem, path+".NAME", at+".NAME", n, seen)}}
	case config.Integer:
		return either("integer", `^-?[0-9]+$`)
	case config.Boolean:
		return either("boolean", `^(true|True|TRUE|false|False|FALSE)$`)
	case config.Bytes:
		return either("integer", `^[0-9.]+ ?([kKmMgGtT][iI]?[bB]|[bB])?$`)
	case config.Interval:
		return object{{"anyOf", []object{{{"const", 0}}, {{"type", "string"}, {"pattern", `^[0-9]|` + variable}}}}}
	}
	return object{{"type", []string{"string", "number", "boolean"}}} // text and times: YAML needs no quotes
}

// either is a scalar as JSON has it, or the text of one.
func either(kind, pattern string) object {
	return object{{"anyOf", []object{{{"type", kind}}, {{"type", "string"}, {"pattern", pattern + "|" + variable}}}}}
}

func (w writer) section(t config.Type, path, at string, n Note, seen map[string]place) object {
	if first, ok := seen[t.Name]; ok {
		at, n = first.at, first.note
	} else if t.Name != "" {
		seen[t.Name] = place{at, n}
	}
	props, required := object{}, []string{}
	for _, k := range t.Keys {
		props = append(props, member{k.Name, w.key(k, below(path, k.Name), below(at, k.Name), seen)})
		if k.Required || w.notes[below(at, k.Name)].Required {
			required = append(required, k.Name)
		}
	}
	o := object{{"type", []string{"object", "null"}}}
	if len(required)+len(n.OneOf) > 0 {
		o = object{{"type", "object"}}
	}
	o = append(o, member{"additionalProperties", false}, member{"properties", props})
	if len(required) > 0 {
		o = append(o, member{"required", required})
	}
	if len(n.OneOf) > 0 {
		var one []object
		for _, name := range n.OneOf {
			one = append(one, object{{"required", []string{name}}})
		}
		o = append(o, member{"oneOf", one})
	}
	return o
}

// value is a default as JSON has it; false where the text is about one.
func value(k config.Kind, text string) (any, bool) {
	switch k {
	case config.Integer:
		n, err := strconv.Atoi(text)
		return n, err == nil
	case config.Boolean:
		b, err := strconv.ParseBool(text)
		return b, err == nil
	case config.String, config.Bytes, config.Interval, config.Moment:
		return text, true
	}
	return nil, false
}
