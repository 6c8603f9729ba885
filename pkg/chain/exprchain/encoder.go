package exprchain

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// Encoder makes the rows of a sink that has columns. All workers share it.
type Encoder interface {
	// Columns are the paths that rows are made of, as in a select: members of
	// the record as the steps leave it, object.key and the like, record.offset,
	// record.index, this. They do not change.
	Columns() []string
	// Append appends a row. values[i] is the JSON text of column i, without
	// space around it; nil if there is no such member, or if a select or a set
	// made null of a missing one. They are valid during the call. An error
	// concerns the record, and names the column.
	Append(dst []byte, values [][]byte) ([]byte, error)
}

// MemberPath is the path of the member called name, whatever characters that
// has. A dot leads further down, as in the columns of a Nested.
func MemberPath(name string) string {
	var b strings.Builder
	for i, key := range strings.Split(name, ".") {
		if i == 0 && (key == "object" || key == "record" || key == "this") {
			b.WriteString("this")
			i++
		}
		if key == "" || strings.ContainsAny(key, "\"[]: \t\n,()") {
			b.WriteString("[" + strconv.Quote(key) + "]")
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(key)
	}
	return b.String()
}

// columns are the sources of an encoder's values.
type columns struct {
	Encoder
	sources []source
}

// addEncoders resolves the columns of the encoders, as the steps leave them.
func (p *plan) addEncoders() {
	p.rows = make([]*columns, len(p.options.Sinks))
	for i, e := range p.options.Encoders {
		if e == nil || i >= len(p.rows) {
			continue
		}
		c := &columns{Encoder: e}
		for _, path := range e.Columns() {
			f, err := p.columnSource(path)
			if err != nil {
				p.errs.addf("sink "+p.options.Sinks[i], "column from %q: %w", path, err)
			}
			c.sources = append(c.sources, f)
		}
		p.rows[i] = c
	}
}

// columnSource is where a column's values come from; its kind is nowhere if the
// steps leave no such member.
func (p *plan) columnSource(path string) (source, error) {
	keys, err := parsePath(path)
	if err != nil {
		return source{}, err
	}
	name, member := keys[0], keys
	switch {
	case name == "object" || name == "record":
		return p.resolve(name, keys[1:])
	case name == "this":
		member = keys[1:]
	}
	if len(member) > 0 && !p.leaves(member[0]) {
		return source{kind: nowhere}, nil
	}
	return p.member(member)
}

// encode is how the worker makes the rows of a sink.
func (s *scope) encode(sink int) func(dst []byte, d *jsondecode.Document) ([]byte, error) {
	c := s.plan.rows[sink]
	if c == nil {
		return s.row
	}
	values, seeker := make([][]byte, len(c.sources)), newSeeker(s.plan, c.sources)
	return func(dst []byte, d *jsondecode.Document) ([]byte, error) {
		if !s.plan.edited && !d.IsObject() {
			return dst, errNoObject
		}
		if s.plan.edited {
			s.seek(seeker)
		}
		s.texts = s.texts[:0]
		for i, f := range c.sources {
			switch f.kind {
			case member:
				values[i] = d.Raw(f.n)
			case field:
				values[i] = s.sought(seeker, i)
			case nowhere:
			default:
				start := len(s.texts)
				s.texts = s.appendValue(s.texts, f)
				values[i] = s.texts[start:len(s.texts):len(s.texts)]
			}
		}
		return c.Append(dst, values)
	}
}

// ends is the worker's end of the chain: without a route every sink is given
// every row.
func (s *scope) ends(records chain.Stream[jsondecode.Document]) chain.Constructor {
	p := s.plan
	if p.routes != nil {
		o := chain.SplitOptions{OnError: p.options.OnError, Unmatched: p.unmatched}
		return chain.Split(records, o, s.routes()...)
	}
	if !slices.ContainsFunc(p.rows, func(c *columns) bool { return c != nil }) {
		return chain.Encode(records, p.options.OnError, s.row)
	}
	encs := make([]func([]byte, *jsondecode.Document) ([]byte, error), len(p.rows))
	for i := range encs {
		encs[i] = s.encode(i)
	}
	return chain.EncodeEach(records, p.options.OnError, encs...)
}
