// Package schema writes down what a configuration may hold: as a JSON Schema for
// editors, and as a table for people.
//
// Keys and types come from the Go types that the configuration is read into, by
// config.Describe; meanings, defaults and choices from notes, one line for each
// key. It reads no configuration and judges none.
//
// The law: every key has a note and every note a key, so that neither page nor
// schema can be of another release than the types.
package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spate-go/spate/pkg/config"
)

// Note is what the types do not say of a key.
type Note struct {
	Meaning  string
	Default  string   // where the file does not say
	Required bool     // asked for beyond what the types ask for
	OneOf    []string // of a section: exactly one of these keys is given
}

// Notes are notes by path: sink.file.path, chain[].filter, sinks.NAME.
type Notes map[string]Note

// ParseNotes reads lines of the form
//
//	path | default | meaning
//
// where default may be - for none, or required. In the note of a section, one
// of: a, b may follow. Empty lines and lines that begin with # are left out.
func ParseNotes(text string) (Notes, error) {
	notes := Notes{}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		parts := strings.SplitN(line, " | ", 3)
		if len(parts) != 3 || strings.TrimSpace(parts[2]) == "" {
			return nil, fmt.Errorf("read notes: line %d is not of the form path | default | meaning", i+1)
		}
		path, value := strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1])
		if _, ok := notes[path]; ok {
			return nil, fmt.Errorf("read notes: line %d: %s has a note already", i+1, path)
		}
		n := Note{Meaning: strings.TrimSpace(parts[2])}
		value, keys, ok := strings.Cut(value, " one of: ")
		if ok {
			n.OneOf = strings.Split(keys, ", ")
		}
		if n.Required = value == "required"; !n.Required && value != "-" {
			n.Default = value
		}
		notes[path] = n
	}
	return notes, nil
}

// A visit is of a key on the way through all of them.
type visit struct {
	path string
	at   string // where its note stands
	key  config.Key
}

// walk calls f for every key below t, each before those below it. The keys of a
// section that came before, under another path, have their notes there.
func walk(t config.Type, f func(v visit)) {
	seen := map[string]string{}
	var section func(t config.Type, path, at string)
	var into func(t config.Type, path, at string)
	into = func(t config.Type, path, at string) {
		switch t.Kind {
		case config.List:
			into(*t.Elem, path+"[]", at+"[]")
		case config.Named:
			into(*t.Elem, path+".NAME", at+".NAME")
		case config.Section:
			if first, ok := seen[t.Name]; ok {
				at = first
			} else if t.Name != "" {
				seen[t.Name] = at
			}
			section(t, path, at)
		}
	}
	section = func(t config.Type, path, at string) {
		for _, k := range t.Keys {
			p, a := below(path, k.Name), below(at, k.Name)
			f(visit{p, a, k})
			into(k.Type, p, a)
		}
	}
	into(t, "", "")
}

func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Check says which keys have no note, and which notes no key.
func (n Notes) Check(t config.Type) error {
	var wrong []string
	known := map[string]bool{}
	walk(t, func(v visit) {
		if known[v.at] {
			return
		}
		known[v.at] = true
		note, ok := n[v.at]
		if !ok {
			wrong = append(wrong, v.at+" has no note")
		}
		for _, name := range note.OneOf {
			if !slices.ContainsFunc(choices(v.key.Type), func(k config.Key) bool { return k.Name == name }) {
				wrong = append(wrong, fmt.Sprintf("%s is one of %s, which is not a key of it", v.at, name))
			}
		}
	})
	for path := range n {
		if !known[path] {
			wrong = append(wrong, path+" has a note and is not a key")
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return fmt.Errorf("check notes: %s", strings.Join(wrong, "; "))
}

// choices are the keys that one of may name: of the section itself, or of those
// in the list or map.
func choices(t config.Type) []config.Key {
	for t.Elem != nil {
		t = *t.Elem
	}
	return t.Keys
}
