package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// references are the ${…} and $$ of a text.
//
// Each is replaced by a placeholder before the text is parsed, and the
// placeholder by its value in the scalar where it is found afterwards. So the
// parser never sees a value, which therefore cannot end a string, begin a comment
// or add a key; a default may hold any punctuation; and a reference in a comment
// goes away with it, unread.
type references struct {
	text string // with placeholders
	mark string // encloses the number of a reference; not otherwise in the text
	list []string
	env  func(string) (string, bool)
}

// Marks are taken from Unicode's first private area: YAML lets it through
// untouched, in plain scalars too.
const (
	firstMark = '\uE000'
	lastMark  = '\uF8FF'
)

func hideReferences(text string, env func(string) (string, bool)) (*references, error) {
	r := &references{env: env}
	for m := firstMark; m <= lastMark && r.mark == ""; m++ {
		if !strings.ContainsRune(text, m) {
			r.mark = string(m)
		}
	}
	if r.mark == "" {
		return nil, errors.New("every private-use character is in use: leave one out")
	}
	var out strings.Builder
	for {
		i := strings.IndexByte(text, '$')
		if i < 0 {
			break
		}
		out.WriteString(text[:i])
		text = text[i:]
		n := span(text)
		if n == 0 {
			out.WriteByte('$')
			text = text[1:]
			continue
		}
		out.WriteString(r.mark + strconv.Itoa(len(r.list)) + r.mark)
		r.list = append(r.list, text[:n])
		text = text[n:]
	}
	out.WriteString(text)
	r.text = out.String()
	return r, nil
}

// span is the length of the reference that s begins with, 0 for a dollar that is
// none. A reference ends in the line it begins in.
func span(s string) int {
	switch {
	case strings.HasPrefix(s, "$$"):
		return 2
	case strings.HasPrefix(s, "${"):
		if end := strings.IndexAny(s, "}\r\n"); end > 0 && s[end] == '}' {
			return end + 1
		}
	}
	return 0
}

// in reports whether text holds a reference.
func (r *references) in(text string) bool {
	return r != nil && (strings.Contains(text, r.mark) || strings.Contains(text, "${"))
}

// resolve puts the values into a scalar's text, and says which of them came from
// variables and what is wrong with the references.
func (r *references) resolve(text string) (string, []variable, []string) {
	var out strings.Builder
	var vars []variable
	var wrong []string
	for i, part := range strings.Split(text, r.mark) {
		if i%2 == 0 {
			if strings.Contains(part, "${") {
				wrong = append(wrong, "${ without } in the same line: write $${ for the characters themselves")
			}
			out.WriteString(part)
			continue
		}
		value, v, err := r.value(part)
		if err != nil {
			wrong = append(wrong, err.Error())
		}
		if v != nil {
			vars = append(vars, *v)
		}
		out.WriteString(value)
	}
	return out.String(), vars, wrong
}

// value is what a numbered reference stands for; the variable is nil where the
// value is from the file itself.
func (r *references) value(number string) (string, *variable, error) {
	i, err := strconv.Atoi(number)
	if err != nil || i < 0 || i >= len(r.list) {
		return "", nil, errors.New("a private-use character, written as an escape, is in the way: remove it")
	}
	if r.list[i] == "$$" {
		return "$", nil, nil
	}
	body := r.list[i][len("${") : len(r.list[i])-len("}")]
	name, rest := splitName(body)
	value, set := "", false
	if name != "" {
		value, set = r.env(name)
	}
	switch {
	case name == "" || rest != "" && !strings.HasPrefix(rest, ":-") && !strings.HasPrefix(rest, ":?"):
		return "", nil, fmt.Errorf("${%s… is not a reference: write ${VAR}, ${VAR:-default}, ${VAR:?message}, or $$ for a dollar", name)
	case strings.HasPrefix(rest, ":-") && value == "":
		return rest[2:], nil, nil
	case strings.HasPrefix(rest, ":?") && value == "":
		return "", nil, fmt.Errorf("variable %s is not set: %s", name, rest[2:])
	case !set:
		return "", nil, fmt.Errorf("variable %s is not set: set it, or give a default as ${%s:-default}", name, name)
	case strings.ContainsAny(value, "\r\n"):
		return "", nil, fmt.Errorf("the value of ${%s} holds a line break: a value has one line", name)
	}
	return value, &variable{name, value}, nil
}

func splitName(s string) (name, rest string) {
	i := 0
	for i < len(s) && isNameByte(s[i]) {
		i++
	}
	return s[:i], s[i:]
}

func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
