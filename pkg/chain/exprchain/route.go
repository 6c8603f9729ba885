package exprchain

import (
	"slices"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// route is a compiled Route.
type route struct {
	sink int
	when *condition // nil: always
	at   string
}

func (p *plan) addRoutes(step *Step, path string) {
	at := below(path, "route")
	var err error
	if p.unmatched, err = policy(step.Unmatched); err != nil {
		p.errs.add(below(path, "unmatched"), err)
	}
	if len(step.Route) == 0 {
		p.errs.addf(at, "is empty: want {to: a sink, when: a condition}")
	}
	open := true // something may still arrive
	reached := make([]bool, len(p.options.Sinks))
	for i, r := range step.Route {
		at := item(at, i)
		if !open {
			p.errs.addf(at, "is never reached: the route before takes everything")
		}
		open = open && r.When != ""
		c := route{sink: slices.Index(p.options.Sinks, r.To), at: at + ".when"}
		if c.sink < 0 {
			p.errs.addf(at+".to", "%q is not a sink of this pipeline%s", r.To, suggest(r.To, p.options.Sinks))
		} else {
			reached[c.sink] = true
		}
		if r.When != "" {
			f, err := p.condition(r.When)
			if err != nil {
				p.errs.add(c.at, err)
			}
			c.when = &f
		}
		p.routes = append(p.routes, c)
	}
	if i := slices.Index(reached, false); i >= 0 && len(p.errs) == 0 {
		p.errs.addf(at, "none leads to the sink %s: add one, or remove the sink", p.options.Sinks[i])
	}
}

// routes are the worker's end of the chain.
func (s *scope) routes() []chain.Route[jsondecode.Document] {
	routes := make([]chain.Route[jsondecode.Document], len(s.plan.routes))
	for i := range s.plan.routes {
		r := &s.plan.routes[i]
		routes[i] = chain.Route[jsondecode.Document]{Sink: r.sink, Encode: s.encode(r.sink)}
		if r.when == nil {
			continue
		}
		routes[i].When = func(*chain.Context, *jsondecode.Document) (bool, error) {
			ok, err := r.when.true(s)
			if err != nil {
				return false, &StepError{r.at, err}
			}
			return ok, nil
		}
	}
	return routes
}
