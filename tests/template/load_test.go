package template_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// template is the document with the values of its parameters.
type template struct {
	doc        value
	parameters map[string]string
}

// value is what a template says at one place: nothing, a text, a list or a
// mapping, once its intrinsic functions are worked out.
type value struct {
	text   string
	list   []value
	fields map[string]value
}

func (v value) zero() bool { return v.text == "" && v.list == nil && v.fields == nil }

// at follows keys down. What is not there is the zero value.
func (v value) at(keys ...string) value {
	for _, k := range keys {
		v = v.fields[k]
	}
	return v
}

// keys are those of a mapping, in order.
func (v value) keys() []string { return slices.Sorted(maps.Keys(v.fields)) }

// items are those of a list, or the value itself where one may stand for a list.
func (v value) items() []value {
	if v.list == nil && !v.zero() {
		return []value{v}
	}
	return v.list
}

// texts are those of items.
func (v value) texts() []string {
	var all []string
	for _, i := range v.items() {
		all = append(all, i.text)
	}
	return all
}

// parse reads a template and takes its parameters' defaults.
func parse(text string) (*template, error) {
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(text), &node); err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	tpl := &template{doc: convert(&node), parameters: map[string]string{}}
	for name, p := range tpl.doc.at("Parameters").fields {
		tpl.parameters[name] = p.at("Default").text
	}
	return tpl, nil
}

// convert gives intrinsic functions the long form that JSON templates have. An
// anchor becomes a field of a name of its own, for the rule that wants none.
func convert(n *yaml.Node) value {
	var v value
	switch n.Kind {
	case yaml.DocumentNode:
		return convert(n.Content[0])
	case yaml.AliasNode:
		return convert(n.Alias)
	case yaml.SequenceNode:
		v.list = []value{}
		for _, c := range n.Content {
			v.list = append(v.list, convert(c))
		}
	case yaml.MappingNode:
		v.fields = map[string]value{}
		for i := 0; i < len(n.Content); i += 2 {
			v.fields[n.Content[i].Value] = convert(n.Content[i+1])
		}
	default:
		v.text = n.Value
	}
	if n.Anchor != "" {
		v = value{fields: map[string]value{anchored: v}}
	}
	if tag, ok := strings.CutPrefix(n.Tag, "!"); ok && !strings.HasPrefix(tag, "!") {
		if tag != "Ref" && tag != "Condition" {
			tag = "Fn::" + tag
		}
		v = value{fields: map[string]value{tag: v}}
	}
	return v
}

const (
	anchored = "an anchor"
	noValue  = "AWS::NoValue"
)

// with is the template with other values of some parameters.
func (tpl *template) with(parameters ...string) *template {
	p := maps.Clone(tpl.parameters)
	for i := 0; i < len(parameters); i += 2 {
		p[parameters[i]] = parameters[i+1]
	}
	return &template{tpl.doc, p}
}

// resources are those of a type that the parameters' values leave in, by name,
// worked out. "" is of any type.
func (tpl *template) resources(kind string) map[string]value {
	all := map[string]value{}
	for name, r := range tpl.doc.at("Resources").fields {
		on := r.at("Condition").zero() || tpl.holds(tpl.doc.at("Conditions", r.at("Condition").text))
		if on && (kind == "" || r.at("Type").text == kind) {
			all[name] = tpl.eval(r)
		}
	}
	return all
}

// function is a function of the template with what Globals say of all.
func (tpl *template) function(name string) value {
	f := tpl.resources("AWS::Serverless::Function")[name]
	if f.zero() {
		return f
	}
	globals := tpl.eval(tpl.doc.at("Globals", "Function"))
	f.fields["Properties"] = merge(globals, f.at("Properties"))
	return f
}

func merge(base, over value) value {
	if base.fields == nil || over.fields == nil {
		return over
	}
	merged := maps.Clone(base.fields)
	for k, v := range over.fields {
		merged[k] = merge(base.fields[k], v)
	}
	return value{fields: merged}
}
