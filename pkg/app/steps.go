package app

import (
	"errors"

	"github.com/spate-go/spate/pkg/chain/exprchain"
	"github.com/spate-go/spate/pkg/config"
)

// StepConfig is one operator: exactly one key, not counting the options of
// explode and route.
type StepConfig struct {
	Filter    string         `yaml:"filter"`
	Select    []string       `yaml:"select"`
	Rename    config.Pairs   `yaml:"rename"` // old: new
	Drop      []string       `yaml:"drop"`
	Set       config.Pairs   `yaml:"set"` // name: an expression
	Flatten   *FlattenConfig `yaml:"flatten"`
	Explode   string         `yaml:"explode"` // an array
	Merge     bool           `yaml:"merge"`   // with explode: its elements' members become the record's
	Parse     *ParseConfig   `yaml:"parse"`
	Route     []RouteConfig  `yaml:"route"`
	Unmatched string         `yaml:"unmatched" oneof:"fail|skip"` // with route
}

// FlattenConfig lifts the members of objects to the top level.
type FlattenConfig struct {
	Separator string   `yaml:"separator"` // between the names; "": _
	Fields    []string `yaml:"fields"`    // nil: all
	Depth     int      `yaml:"depth"`     // levels to lift; 0: all
}

// ParseConfig makes values of text.
type ParseConfig struct {
	Field   string `yaml:"field,required" example:"message"`
	As      string `yaml:"as,required" oneof:"json|key_value|query|regex|timestamp" example:"json"`
	Pattern string `yaml:"pattern"` // of regex
	Layout  string `yaml:"layout"`  // of timestamp; "": rfc3339
	Zone    string `yaml:"zone"`    // of timestamp; "": UTC
	Into    string `yaml:"into"`    // "": the top level; of a timestamp, its field
}

// RouteConfig leads records to a sink.
type RouteConfig struct {
	To   string `yaml:"to,required" example:"errors"`
	When string `yaml:"when"` // "": all that come by
}

func (c *Config) steps() []exprchain.Step {
	steps := make([]exprchain.Step, len(c.Chain))
	for i, s := range c.Chain {
		steps[i] = exprchain.Step{
			Filter: s.Filter, Select: s.Select, Rename: pairs(s.Rename), Drop: s.Drop, Set: pairs(s.Set),
			Explode: s.Explode, Merge: s.Merge, Unmatched: s.Unmatched,
		}
		if f := s.Flatten; f != nil {
			steps[i].Flatten = &exprchain.Flatten{Separator: f.Separator, Fields: f.Fields, Depth: f.Depth}
		}
		if p := s.Parse; p != nil {
			steps[i].Parse = &exprchain.Parse{
				Field: p.Field, As: p.As, Pattern: p.Pattern, Layout: p.Layout, Zone: p.Zone, Into: p.Into,
			}
		}
		for _, r := range s.Route {
			steps[i].Route = append(steps[i].Route, exprchain.Route{To: r.To, When: r.When})
		}
		if s.Route != nil && steps[i].Route == nil {
			steps[i].Route = []exprchain.Route{}
		}
	}
	return steps
}

func pairs(from config.Pairs) []exprchain.Pair {
	if from == nil {
		return nil
	}
	to := make([]exprchain.Pair, len(from))
	for i, p := range from {
		to[i] = exprchain.Pair{Name: p.Key, Value: p.Value}
	}
	return to
}

// checkChain compiles the chain, so that each fault of it is shown where it
// stands in the file.
func (c *Config) checkChain(p *problems) {
	_, err := exprchain.Compile(c.steps(), c.chainOptions())
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range many.Unwrap() {
			if e, ok := errors.AsType[*exprchain.StepError](err); ok {
				p.add(e.Path, "%v", e.Err)
			}
		}
	}
}
