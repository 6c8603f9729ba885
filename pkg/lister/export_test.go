package lister

import "github.com/spate-go/spate/pkg/unit"

// Place is a place as tests see it.
type Place struct {
	Key    string
	Object *unit.Object
	Units  int
}

func (p Place) place() place { return place{key: p.Key, object: p.Object, units: p.Units} }

// Name is the place's name.
func (p Place) Name() string { return p.place().String() }

// After is the name of the place where another one is named last.
func (p Place) After(last string) string { return p.place().after(last) }

// ParsePlace reads a name.
func ParsePlace(name string) (Place, error) {
	p, err := parsePlace(name)
	return Place{p.key, p.object, p.units}, err
}
