package exprchain

import (
	"github.com/spate-go/spate/pkg/decode"
	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// seeker finds the members that a list of sources names in an edited record. It
// guesses that each is where it was in the previous record. A few wrong guesses
// are searched for one by one; more by one walk through the record, so that
// wide records cost by their members and not by members times sources. It
// belongs to a worker.
type seeker struct {
	names  []string       // of the members, each once
	slots  map[string]int // of the names
	places []int          // by slot: the last place, or its complement where it is gone
	wants  []want         // by source
	inner  []inner        // by slot
}

// want is a source that is looked for.
type want struct {
	slot int // -1: none, it is no member
	path jsondecode.Path
	n    int // of what is below the member
}

// inner is what is looked for below a member, all of it in one pass where it is
// more than one.
type inner struct {
	paths []jsondecode.Path
	dec   decode.Decoder[jsondecode.Document]
	doc   jsondecode.Document
	seen  bool // doc is of the record at hand, or err is
	err   error
}

// few lost members are searched one by one.
const few = 4

func newSeeker(p *plan, sources []source) *seeker {
	k := &seeker{slots: map[string]int{}}
	for _, f := range sources {
		w := want{slot: -1}
		if f.kind == field {
			w.path = p.fields.list[f.n]
		}
		if len(w.path) > 0 {
			name := w.path[0]
			slot, ok := k.slots[name]
			if !ok {
				slot = len(k.names)
				k.slots[name] = slot
				k.names = append(k.names, name)
				k.inner = append(k.inner, inner{})
			}
			w.slot = slot
			if b := &k.inner[slot]; len(w.path) > 1 {
				w.n = len(b.paths)
				b.paths = append(b.paths, w.path[1:])
			}
		}
		k.wants = append(k.wants, w)
	}
	for i := range k.inner {
		if b := &k.inner[i]; len(b.paths) > 1 {
			b.dec = jsondecode.Documents(jsondecode.Options{}, b.paths...)
		}
	}
	k.places = make([]int, len(k.names))
	return k
}

// seek finds the members in the record at hand.
func (s *scope) seek(k *seeker) {
	m, lost := *s.members(), 0
	for i, at := range k.places {
		if at < 0 {
			at = ^at
		}
		k.inner[i].seen = false
		if k.places[i] = at; at >= len(m) || !m[at].Is(k.names[i]) {
			k.places[i] = ^at
			lost++
		}
	}
	switch {
	case lost == 0:
	case lost <= few:
		for i, at := range k.places {
			if at < 0 {
				if at = s.index(k.names[i]); at >= 0 {
					k.places[i] = at
				}
			}
		}
	default:
		for at := range m {
			if i, ok := k.slots[string(m[at].Name(&s.names[0]))]; ok && k.places[i] < 0 {
				k.places[i] = at
			}
		}
	}
}

// sought is the value of source i, or nil, also where it was made of nothing.
func (s *scope) sought(k *seeker, i int) []byte {
	w := &k.wants[i]
	if w.slot < 0 {
		return s.find(w.path)
	}
	at := k.places[w.slot]
	if at < 0 {
		return nil
	}
	v := (*s.members())[at].Value
	if &v[0] == &s.null[0] { // not written, but made of nothing
		return nil
	}
	b := &k.inner[w.slot]
	if b.dec == nil || len(w.path) == 1 {
		return jsondecode.Lookup(v, w.path[1:])
	}
	if !b.seen {
		b.seen, b.err = true, b.dec.Decode(v, &b.doc)
	}
	if b.err != nil { // steps can nest a value deeper than a record may be
		return jsondecode.Lookup(v, w.path[1:])
	}
	return b.doc.Raw(w.n)
}

// seeker numbers a list of sources, which each worker has a seeker of.
func (p *plan) seeker(columns []column) (number int) {
	sources := make([]source, len(columns))
	for i := range columns {
		sources[i] = columns[i].source
	}
	p.sought = append(p.sought, sources)
	return len(p.sought) - 1
}
