// Package config reads the one YAML file that describes a pipeline into Go
// structs, strictly: every key must be known, every value must fit its field,
// and all that is wrong is reported at once, each problem with file, line and
// dotted path.
//
// It knows no key of any pipeline: callers describe theirs as structs (see
// Decode). It reads no environment and no file: both are passed in.
//
// The YAML is a plain subset. One document, a mapping; no anchors, aliases,
// merge keys or tags, so the file says what it means where it says it, and its
// size bounds the work. A scalar is text, read by the type of its field: quotes
// do not make "8" less of a number, nor 8 less of a name.
//
// Variables are substituted after parsing, in values only:
//
//	${VAR}            its value; unset is an error, empty is not
//	${VAR:-default}   the default if it is unset or empty
//	${VAR:?message}   an error with that message if it is unset or empty
//	$$                a dollar; a lone $ stays as it is
//
// A default or message is taken as written and ends at the first brace.
// Variables in comments are ignored; in keys they are refused.
//
// The law: no variable's value changes the structure of the file, and none is
// ever printed, since it may be a secret.
package config

import (
	"fmt"
	"reflect"
)

// Document is a parsed file.
type Document struct{ root *node }

// Parse reads the text of the file called name. It calls env for the variables
// that the text refers to; env reports whether the variable is set. Nil means
// that none is.
func Parse(name string, text []byte, env func(string) (string, bool)) (*Document, error) {
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	root, err := parse(name, text, env)
	if err != nil {
		return nil, err
	}
	return &Document{root: root}, nil
}

// Decode reads the document into the struct that into points to.
//
// A field takes the key in its tag, `yaml:"key"`; a field without a tag takes
// none. `yaml:"url,required"` asks for one; an example tag is shown when it is
// missing, and `oneof:"auto|none"` closes the set of a string. Fields are strings,
// booleans, integers, durations, types that read text, and structs, lists and
// maps of these.
//
// The struct's values on entry are the defaults. A list or map in the file
// replaces its default as a whole; a null keeps it. The required keys of a
// nested struct are always required, those of a struct behind a pointer only if
// the file names it, even without a body: `stdout:` is `stdout: {}`.
//
// After an error into may be partly filled.
func (d *Document) Decode(into any) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("decode configuration: need a pointer, got %T", into)
	}
	var dec decoder
	dec.value(v.Elem(), d.root, "")
	return dec.err()
}

// Errorf returns an error about the value at path, with its place in the file,
// or that of the nearest value around it. Values of variables in it are hidden.
func (d *Document) Errorf(path, format string, args ...any) error {
	at := d.root.pos
	if steps, err := parsePath(path); err == nil {
		at = d.root.nearest(steps)
	}
	return at.errorf(path, "%s", d.root.hide(fmt.Sprintf(format, args...)))
}
