package exprchain_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/chain/exprchain"
)

// obj is a record of the model: its members in order. A value is an *obj, a
// list, or a scalar as written.
type obj []entry

type entry struct {
	name  string
	value any
}

type list []any

func text(v any) string {
	switch v := v.(type) {
	case *obj:
		parts := make([]string, len(*v))
		for i, m := range *v {
			parts[i] = fmt.Sprintf("%q:%s", m.name, text(m.value))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case list:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = text(v[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return v.(string)
}

func clone(v any) any {
	switch v := v.(type) {
	case *obj:
		c := obj{}
		for _, m := range *v {
			c = append(c, entry{m.name, clone(m.value)})
		}
		return &c
	case list:
		c := list{}
		for i := range v {
			c = append(c, clone(v[i]))
		}
		return c
	}
	return v
}

func (o *obj) index(name string) int {
	return slices.IndexFunc(*o, func(m entry) bool { return m.name == name })
}

func (o *obj) get(path []string) (any, bool) {
	i := o.index(path[0])
	if i < 0 {
		return nil, false
	}
	v := (*o)[i].value
	if len(path) == 1 {
		return v, true
	}
	if c, ok := v.(*obj); ok {
		return c.get(path[1:])
	}
	return nil, false
}

func (o *obj) drop(path []string) {
	i := o.index(path[0])
	switch {
	case i < 0:
	case len(path) == 1:
		*o = slices.Delete(*o, i, i+1)
	default:
		if c, ok := (*o)[i].value.(*obj); ok {
			c.drop(path[1:])
		}
	}
}

// put reports whether the path leads through objects only.
func (o *obj) put(path []string, v any) bool {
	i := o.index(path[0])
	if i < 0 {
		*o = append(*o, entry{path[0], "null"})
		i = len(*o) - 1
	}
	m := &(*o)[i]
	if len(path) == 1 {
		m.value = v
		return true
	}
	if m.value == "null" {
		m.value = &obj{}
	}
	c, ok := m.value.(*obj)
	return ok && c.put(path[1:], v)
}

// flat is what a flatten with "_" makes.
func (o *obj) flat() *obj {
	out := &obj{}
	var lift func(name string, v any)
	lift = func(name string, v any) {
		if c, ok := v.(*obj); ok && len(*c) > 0 {
			for _, m := range *c {
				lift(name+"_"+m.name, m.value)
			}
			return
		}
		out.put([]string{name}, v)
	}
	for _, m := range *o {
		lift(m.name, m.value)
	}
	return out
}

// maker makes random records and steps.
type maker struct{ *rand.Rand }

func (r maker) name() string { return string("abc"[r.IntN(3)]) }

func (r maker) path() []string {
	p := []string{r.name()}
	for r.IntN(3) == 0 {
		p = append(p, r.name())
	}
	return p
}

func (r maker) value(depth int) any {
	switch n := r.IntN(6); {
	case n == 0 && depth < 3:
		l := list{}
		for range r.IntN(4) {
			l = append(l, r.value(depth+1))
		}
		return l
	case n < 3 && depth < 3:
		o := &obj{}
		for range r.IntN(4) {
			o.put([]string{r.name()}, r.value(depth+1))
		}
		return o
	}
	return []string{"null", "1.10", `"x"`, "12345678901234567890", `"\u00e9"`}[r.IntN(5)]
}

func (r maker) record() *obj {
	o := &obj{}
	for range r.IntN(5) {
		o.put([]string{r.name()}, r.value(0))
	}
	return o
}

// result is what the model makes of a record: rows, or a rejection.
type result struct {
	rows []string
	bad  bool
}

// next is the rest of a chain.
type next func(o *obj, out *result)

// step makes a random step and what the model does for it.
func (r maker) step() (exprchain.Step, func(o *obj, out *result, rest next)) {
	p, q := r.path(), r.path()
	a, b := strings.Join(p, "."), strings.Join(q, ".")
	switch r.IntN(6) {
	case 0:
		return drop(a), func(o *obj, out *result, rest next) { o.drop(p); rest(o, out) }
	case 1:
		return set(b, a), func(o *obj, out *result, rest next) {
			v, ok := o.get(p)
			if !ok {
				v = "null"
			}
			if out.bad = out.bad || !o.put(q, clone(v)); !out.bad {
				rest(o, out)
			}
		}
	case 2:
		return flatten(exprchain.Flatten{}), func(o *obj, out *result, rest next) { rest(o.flat(), out) }
	case 3:
		if a == b {
			return r.step()
		}
		return rename(a, b), func(o *obj, out *result, rest next) {
			if out.bad = out.bad || !o.rename(p, q); !out.bad {
				rest(o, out)
			}
		}
	default:
		merged := r.IntN(2) == 0
		s := explode(a)
		s.Merge = merged
		return s, func(o *obj, out *result, rest next) { o.explode(p, merged, out, rest) }
	}
}

func (o *obj) rename(p, q []string) bool {
	v, ok := o.get(p)
	if !ok {
		return true
	}
	if len(p) == 1 && len(q) == 1 {
		(*o)[o.index(p[0])].name = "moved"
		o.drop(q)
		(*o)[o.index("moved")].name = q[0]
		return true
	}
	v = clone(v)
	o.drop(p)
	return o.put(q, v)
}

func (o *obj) explode(p []string, merged bool, out *result, rest next) {
	v, ok := o.get(p)
	if !ok || v == "null" {
		rest(o, out)
		return
	}
	l, ok := v.(list)
	if out.bad = out.bad || !ok; !ok {
		return
	}
	for _, e := range l {
		c := clone(o).(*obj)
		if m, ok := e.(*obj); merged && ok {
			c.drop(p)
			for _, v := range *m {
				c.put([]string{v.name}, clone(v.value))
			}
		} else if out.bad = out.bad || merged; merged {
			return
		} else {
			c.put(p, clone(e))
		}
		rest(c, out)
		if out.bad {
			return
		}
	}
}

// Random steps on random records give what a model of objects gives, member for
// member and byte for byte, and the counts add up.
func TestStepsAgreeWithAModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := maker{rand.New(rand.NewPCG(seed, 0))}
	bad := 0
	for range 5000 {
		var steps []exprchain.Step
		model := func(o *obj, out *result) { out.rows = append(out.rows, text(o)) }
		for range 1 + r.IntN(4) {
			s, f := r.step()
			steps = append([]exprchain.Step{s}, steps...)
			rest := model
			model = func(o *obj, out *result) { f(o, out, rest) }
		}
		in := r.record()
		line := text(in)
		var want result
		model(in, &want)
		out, err := run(compile(t, chain.Skip, steps...), line)
		if err != nil {
			t.Fatal(err)
		}
		c, wantRows := out.Counts, strings.Join(want.rows, "\n")
		if want.bad {
			bad++
			wantRows = ""
		}
		if got := strings.TrimSuffix(string(out.Sinks[0].Data), "\n"); got != wantRows || want.bad != (c.Rejected == 1) ||
			c.In != 1 || c.In+c.Expanded != c.Out+c.Filtered+c.Rejected {
			t.Fatalf("%s\n%+v\n got %s %+v\nwant %s", line, steps, got, c, wantRows)
		}
	}
	if bad == 0 || bad > 4000 {
		t.Errorf("%d of 5000 records were rejected: the test sees too little", bad)
	}
}
