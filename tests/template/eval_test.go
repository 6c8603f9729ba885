package template_test

import (
	"regexp"
	"strings"
)

// eval works out v. A parameter becomes its value, a reference to a resource
// "Name" and to its attribute "Name.Attribute"; pseudo parameters stay as they
// are written, ${AWS::Region}.
func (tpl *template) eval(v value) value {
	switch {
	case v.list != nil:
		out := value{list: []value{}}
		for _, i := range v.list {
			if e := tpl.eval(i); e.text != noValue {
				out.list = append(out.list, e)
			}
		}
		return out
	case len(v.fields) == 1:
		for name, arg := range v.fields {
			if out, ok := tpl.call(name, arg); ok {
				return out
			}
		}
	}
	if v.fields == nil {
		return v
	}
	out := value{fields: map[string]value{}}
	for k, f := range v.fields {
		if e := tpl.eval(f); e.text != noValue {
			out.fields[k] = e
		}
	}
	return out
}

// call works out an intrinsic function, if the name is one.
func (tpl *template) call(name string, arg value) (value, bool) {
	switch name {
	case "Ref":
		return value{text: tpl.ref(arg.text)}, true
	case "Fn::GetAtt":
		resource, attribute, _ := strings.Cut(arg.text, ".")
		return value{text: tpl.ref(resource) + "." + attribute}, true
	case "Fn::Sub":
		return value{text: tpl.sub(arg)}, true
	case "Fn::FindInMap":
		path := tpl.eval(arg).texts()
		return tpl.doc.at("Mappings").at(path...), true
	case "Fn::If":
		branch := 2
		if tpl.holds(tpl.doc.at("Conditions", arg.list[0].text)) {
			branch = 1
		}
		return tpl.eval(arg.list[branch]), true
	}
	return value{}, false
}

// ref is what a name stands for.
func (tpl *template) ref(name string) string {
	switch v, ok := tpl.parameters[name]; {
	case ok:
		return v
	case name == noValue:
		return noValue
	case strings.HasPrefix(name, "AWS::"):
		return "${" + name + "}"
	case tpl.doc.at("Resources", name).zero():
		return "(no resource " + name + ")"
	}
	return name
}

var variable = regexp.MustCompile(`\$\{([^!}]+)\}`)

// sub works out Fn::Sub: a text, or a text and variables of its own.
func (tpl *template) sub(arg value) string {
	text, own := arg.text, map[string]value{}
	if arg.list != nil {
		text, own = arg.list[0].text, arg.list[1].fields
	}
	return variable.ReplaceAllStringFunc(text, func(ref string) string {
		name := variable.FindStringSubmatch(ref)[1]
		if v, ok := own[name]; ok {
			return tpl.eval(v).text
		}
		if resource, attribute, ok := strings.Cut(name, "."); ok {
			return tpl.ref(resource) + "." + attribute
		}
		return tpl.ref(name)
	})
}

// holds works out a condition.
func (tpl *template) holds(c value) bool {
	for name, arg := range c.fields {
		switch name {
		case "Condition":
			return tpl.holds(tpl.doc.at("Conditions", arg.text))
		case "Fn::Not":
			return !tpl.holds(arg.list[0])
		case "Fn::Equals":
			return tpl.eval(arg.list[0]).text == tpl.eval(arg.list[1]).text
		case "Fn::Or":
			for _, i := range arg.list {
				if tpl.holds(i) {
					return true
				}
			}
		}
	}
	return false
}
