package exprchain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spate-go/spate/pkg/config"
	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// Names of a record's place in its object.
const (
	indexName  = "record.index"
	offsetName = "record.offset"
)

// resolve finds what a name and the keys after it stand for.
func (p *plan) resolve(name string, keys []string) (source, error) {
	switch name {
	case "object":
		return p.attribute(keys)
	case "record":
		switch full := dotted(name, keys); full {
		case indexName:
			return source{kind: index}, nil
		case offsetName:
			return source{kind: offset}, nil
		default:
			return source{}, fmt.Errorf("%s is not known: want %s or %s, or this.%[1]s for a member of that name", full, indexName, offsetName)
		}
	case "this":
		return p.member(keys)
	}
	return p.member(append([]string{name}, keys...))
}

func (p *plan) attribute(keys []string) (source, error) {
	full := dotted("object", keys)
	if len(keys) == 0 {
		return source{}, fmt.Errorf("object alone is not a value: want one of object.%s", strings.Join(attrNames(), ", object."))
	}
	a := attr{name: keys[0]}
	switch {
	case !slices.Contains(attrNames(), a.name):
		return source{}, fmt.Errorf("%s is not known%s (this.%[1]s is a member of that name)", full, suggest("object."+a.name, prefixed("object.", attrNames())))
	case a.name == "partition" && len(keys) == 2:
		a.partition = keys[1]
	case a.name == "partition":
		return source{}, fmt.Errorf(`%s is not a value: want object.partition["name"]`, full)
	case len(keys) > 1:
		return source{}, fmt.Errorf("%s has nothing below it", dotted("object", keys[:1]))
	}
	n := slices.Index(p.attrs, a)
	if n < 0 {
		n = len(p.attrs)
		p.attrs = append(p.attrs, a)
	}
	return source{attribute, n}, nil
}

// member finds a member of the record as the steps so far left it.
func (p *plan) member(keys []string) (source, error) {
	if p.edited {
		if len(keys) > 0 {
			if err := p.expect(keys[0]); err != nil {
				return source{}, err
			}
		}
		return source{field, p.fields.number(keys)}, nil
	}
	if p.columns == nil {
		return p.path(keys), nil
	}
	if len(keys) == 0 {
		return source{}, fmt.Errorf("this alone is not available after a select: name a member of it")
	}
	i, ok := p.named[keys[0]]
	if !ok {
		var names []string
		for _, c := range p.columns {
			names = append(names, c.name)
		}
		return source{}, fmt.Errorf("the select before keeps no %s%s", keys[0], suggest(keys[0], names))
	}
	c := p.columns[i]
	switch {
	case len(keys) == 1:
		return c.source, nil
	case c.kind != member:
		return source{}, fmt.Errorf("%s has nothing below it", keys[0])
	}
	return p.path(slices.Concat(p.paths.list[c.n], keys[1:])), nil
}

// path numbers a path of the record as it came.
func (p *plan) path(keys jsondecode.Path) source { return source{member, p.paths.number(keys)} }

// paths are paths without repeats.
type paths struct {
	list   []jsondecode.Path
	places map[string]int // by their keys in quotes
}

// number is the place of keys in the list, where they are put if they are not
// there.
func (p *paths) number(keys jsondecode.Path) int {
	name := fmt.Sprintf("%q", []string(keys))
	n, ok := p.places[name]
	if !ok {
		if p.places == nil {
			p.places = map[string]int{}
		}
		n = len(p.list)
		p.places[name] = n
		p.list = append(p.list, keys)
	}
	return n
}

func dotted(name string, keys []string) string {
	return strings.Join(append([]string{name}, keys...), ".")
}

func prefixed(prefix string, names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = prefix + n
	}
	return out
}

// suggest is ": did you mean x" for the name nearest to what was written, or
// nothing when none is near.
func suggest(written string, names []string) string {
	best, least := "", len(written)/3+2
	for _, n := range slices.Sorted(slices.Values(names)) {
		if d := config.Distance(written, n); d < least {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return ": did you mean " + best + "?"
}
