package exprchain

import (
	"net/url"
	"strings"

	"github.com/expr-lang/expr/vm"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/decode/jsondecode"
	"github.com/spate-go/spate/pkg/unit"
)

// memory bounds the values that one evaluation makes.
const memory = 100_000

// scope is what steps see: a worker's record at hand. It is the environment of
// the virtual machine.
type scope struct {
	plan   *plan
	doc    *jsondecode.Document
	at     *chain.Context
	object *unit.Object // that values are of
	values []any        // of plan.attrs
	vm     vm.VM
	// scratch holds a string while it is compared.
	scratch []byte
	// texts holds values that rows are made of and the record does not.
	texts []byte
	// seekers are of plan.sought.
	seekers []*seeker

	record // where it is edited
}

func newScope(p *plan) *scope {
	s := &scope{plan: p, values: make([]any, len(p.attrs)), record: record{
		levels: make([][]jsondecode.Member, len(p.stages)), null: []byte("null"),
	}}
	for _, sources := range p.sought {
		s.seekers = append(s.seekers, newSeeker(p, sources))
	}
	return s
}

// bind points s at a record. Values of the object are made when it changes.
func (s *scope) bind(c *chain.Context, d *jsondecode.Document) {
	s.at, s.doc = c, d
	if s.object != c.Object {
		s.object = c.Object
		for i, a := range s.plan.attrs {
			s.values[i] = a.of(c.Object)
		}
	}
}

// passes runs ops until one drops the record.
func (s *scope) passes(ops []op) func(*chain.Context, *jsondecode.Document) (bool, error) {
	return func(*chain.Context, *jsondecode.Document) (bool, error) {
		for _, f := range ops {
			if keep, err := f(s); err != nil || !keep {
				return false, err
			}
		}
		return true, nil
	}
}

// source is where a name's value comes from.
type source struct {
	kind kind
	n    int // number of the path or attr
}

// inRecord reports whether the value is a member of the record.
func (f source) inRecord() bool { return f.kind == member || f.kind == field }

type kind int

const (
	member kind = iota // of the record as it came
	field              // of the record as it was edited
	attribute
	index
	offset
	nowhere // what the steps leave no member for
)

// value is the Go value of a source.
func (s *scope) value(f source) any {
	switch f.kind {
	case member, field:
		if s.plan.options.Decode.ExactNumbers {
			return jsondecode.ExactValue(s.raw(f))
		}
		return jsondecode.Value(s.raw(f))
	case attribute:
		return s.values[f.n]
	case offset:
		return int(s.at.Offset)
	default:
		return int(s.at.Index)
	}
}

// raw is the value of a source in the record as written, or nil.
func (s *scope) raw(f source) []byte {
	if f.kind == member {
		return s.doc.Raw(f.n)
	}
	return s.find(s.plan.fields.list[f.n])
}

// text is what a JSON string means, until the next call; false for other values.
func (s *scope) text(raw []byte) ([]byte, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return nil, false
	}
	s.scratch = jsondecode.AppendText(s.scratch[:0], raw)
	return s.scratch, true
}

// attr is a property of an object.
type attr struct{ name, partition string }

func attrNames() []string { return []string{"key", "size", "etag", "last_modified", "partition"} }

// of is the attribute's value; nil where it is unknown.
func (a attr) of(o *unit.Object) any {
	switch a.name {
	case "key":
		return o.Key
	case "size":
		return int(o.Size)
	case "etag":
		if o.ETag != "" {
			return o.ETag
		}
	case "last_modified":
		if !o.LastModified.IsZero() {
			return o.LastModified.UTC()
		}
	case "partition":
		return partition(o.Key, a.partition)
	}
	return nil
}

// partition finds name=value among the directories of key, nearest to the
// object first.
func partition(key, name string) any {
	dirs := strings.Split(key, "/")
	for i := len(dirs) - 2; i >= 0; i-- {
		k, v, ok := strings.Cut(dirs[i], "=")
		if ok && unescape(k) == name {
			return unescape(v)
		}
	}
	return nil
}

// unescape undoes Hive's %XX; text with a bad escape stays as it is.
func unescape(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}
