package exprchain

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// How much the steps may make of one record before it fails: enough for every
// honest one, and a bound on what a hostile one takes (INV-6).
const (
	growth = 16 << 20 // bytes, and
	times  = 4        // times the record's own length
)

var errNoObject = errors.New("the record is not an object")

// record is an edited record: its members in their order. Their bytes are those
// of the record as it came, or made. It belongs to a worker.
type record struct {
	// levels are the members, one list per explode that the record went
	// through, so that the next element finds its record as it was.
	levels [][]jsondecode.Member
	level  int
	made   []byte // bytes that the steps made; only appended to, per record
	spent  int    // of them, over all levels
	walked int    // bytes gone through again, level by level

	spare  []jsondecode.Member // of a step that makes a new list
	stack  []jsondecode.Member // of objects that are walked
	moved  []moved
	parsed []jsondecode.Member
	items  [][]byte
	table  []int32 // of names, by hash
	names  [2][]byte
	null   []byte // the value
}

// members is the list of the record at hand.
func (r *record) members() *[]jsondecode.Member { return &r.levels[r.level] }

// edit begins the editing of records; until then they are as they came, or
// what the last select makes of them.
func (p *plan) edit(at string) {
	if p.edited {
		return
	}
	columns := p.columns
	for i := range columns {
		p.known = append(p.known, columns[i].name)
	}
	p.edited, p.columns = true, nil
	if columns != nil {
		at = p.selected
	}
	p.do(at, func(s *scope) (bool, error) {
		if !s.doc.IsObject() {
			return false, errNoObject
		}
		s.reset()
		if columns != nil {
			*s.members() = s.appendColumns((*s.members())[:0], columns, nil)
			return true, nil
		}
		*s.members() = jsondecode.AppendMembers((*s.members())[:0], s.doc.Bytes())
		s.dedupe(s.members())
		return true, nil
	})
}

// reset makes r ready for the next record. What a large one took goes back.
func (r *record) reset() {
	const keep = 4 << 20
	if cap(r.made) > keep {
		r.made = nil
	}
	r.level, r.spent, r.walked = 0, 0, 0
	r.made, r.items = r.made[:0], r.items[:0]
}

// appendColumns appends what a select makes of the record at hand; k has sought
// its columns where the record is an edited one.
func (s *scope) appendColumns(dst []jsondecode.Member, columns []column, k *seeker) []jsondecode.Member {
	for i := range columns {
		c := &columns[i]
		m := jsondecode.Member{Key: c.key[:len(c.key)-1]}
		switch c.kind {
		case member:
			m.Value = s.orNull(s.doc.Raw(c.n))
		case field:
			m.Value = s.orNull(s.sought(k, i))
		default:
			start := len(s.made)
			s.made = s.appendValue(s.made, c.source)
			m.Value = s.made[start:len(s.made):len(s.made)]
		}
		dst = append(dst, m)
	}
	return dst
}

func (r *record) orNull(raw []byte) []byte {
	if raw == nil {
		return r.null
	}
	return raw
}

// spend accounts for bytes that are made of the record at hand.
func (s *scope) spend(n int) error {
	s.spent += n
	if limit := growth + times*len(s.doc.Bytes()); s.spent > limit {
		return fmt.Errorf("the record grows beyond %d bytes", limit)
	}
	return nil
}

// walk accounts for n bytes that are scanned again for every level of objects
// that they are in: quick for honest records, but not for 10,000 levels.
func (s *scope) walk(n int) error {
	s.walked += n
	if s.walked > 16*(growth+len(s.doc.Bytes())) {
		return errors.New("the record is too large to be nested that deep")
	}
	return nil
}

// build is what f appends to the bytes that are made.
func (s *scope) build(f func(dst []byte) ([]byte, error)) ([]byte, error) {
	start := len(s.made)
	made, err := f(s.made)
	if err != nil {
		return nil, err
	}
	s.made = made
	return made[start:len(made):len(made)], s.spend(len(made) - start)
}

// index is the place of the member called name, or -1.
func (r *record) index(name string) int {
	m := *r.members()
	for i := range m {
		if m[i].Is(name) {
			return i
		}
	}
	return -1
}

// find is the value at a path of the edited record, or nil. The empty path is
// the record.
func (s *scope) find(path jsondecode.Path) []byte {
	if len(path) == 0 {
		start := len(s.made)
		s.made = appendObject(s.made, *s.members())
		s.spent += len(s.made) - start
		return s.made[start:]
	}
	i := s.index(path[0])
	if i < 0 {
		return nil
	}
	return jsondecode.Lookup((*s.members())[i].Value, path[1:])
}

// put sets the value at a: in place of the one that is there, else at the end.
func (s *scope) put(a *place, value []byte) error {
	m := s.members()
	i := s.index(a.keys[0])
	if !a.top() {
		top := []byte("{}")
		if i >= 0 && (*m)[i].Value[0] != 'n' {
			top = (*m)[i].Value
		}
		var err error
		value, err = s.build(func(dst []byte) ([]byte, error) {
			return jsondecode.AppendWith(dst, top, a.keys[1:], value)
		})
		if err != nil {
			return fmt.Errorf("cannot set %s: what leads to it is not an object: %w", a.text, err)
		}
	}
	if i < 0 {
		*m = append(*m, jsondecode.Member{Key: a.key, Value: value})
	} else {
		(*m)[i].Value = value
	}
	return nil
}

// remove takes out the member at a, if it is there.
func (s *scope) remove(a *place) error {
	m := s.members()
	i := s.index(a.keys[0])
	switch {
	case i < 0:
	case a.top():
		*m = slices.Delete(*m, i, i+1)
	case jsondecode.Lookup((*m)[i].Value, a.keys[1:]) != nil:
		value, err := s.build(func(dst []byte) ([]byte, error) {
			return jsondecode.AppendWithout(dst, (*m)[i].Value, a.keys[1:]), nil
		})
		(*m)[i].Value = value
		return err
	}
	return nil
}

// dedupe leaves one member of each name: the last value, in the place of the
// first.
func (r *record) dedupe(list *[]jsondecode.Member) {
	m := *list
	if distinct(m) {
		return
	}
	size := 4
	for size < 2*len(m) {
		size *= 2
	}
	r.table = slices.Grow(r.table[:0], size)[:size]
	clear(r.table)
	seed, kept := maphash.MakeSeed(), 0
	for i := range m {
		name := m[i].Name(&r.names[0])
		h := int(maphash.Bytes(seed, name)) & (size - 1)
		for ; r.table[h] != 0; h = (h + 1) & (size - 1) {
			if string(m[r.table[h]-1].Name(&r.names[1])) == string(name) {
				break
			}
		}
		if at := r.table[h]; at != 0 {
			m[at-1].Value = m[i].Value
			continue
		}
		m[kept] = m[i]
		kept++
		r.table[h] = int32(kept)
	}
	*list = m[:kept]
}

// distinct is a quick check that may miss but is never wrong: true means that
// no two names are the same.
func distinct(m []jsondecode.Member) bool {
	var seen [4]uint64
	for i := range m {
		k := m[i].Key
		h := (uint32(len(k)) + uint32(k[1])*31 + uint32(k[len(k)-2])*17 + uint32(k[len(k)/2])*7) & 255
		if seen[h/64]>>(h%64)&1 == 1 || !m[i].Plain() {
			return false
		}
		seen[h/64] |= 1 << (h % 64)
	}
	return true
}
