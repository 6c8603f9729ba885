// Package exprchain makes a chain of the steps in a pipeline file, for people
// who write no Go: filters, which are expressions of expr-lang, and selects.
//
// A record is checked as JSON once; of its members only those in use are looked
// up, and what is kept is copied as it is written, numbers and strings byte for
// byte. Every row is one line: line breaks between a record's tokens go.
//
// # Names
//
// A name is a member of the record, of the last select's result if there was
// one; a dot or ["odd name"] leads further down. A member that is not there is
// nil, and so is all of a record that is no object. In scope as well: object.key,
// object.size, object.etag, object.last_modified, object.partition["year"] (of
// key elements like year=2026, percent-decoded), record.index, and this, the
// whole record: this.object is a member named object.
//
// # Comparisons
//
// In a filter, comparing nil or unlike types is false, != too, and so are in,
// contains, startsWith, endsWith and matches; each comparison for itself, so
// that `a > 5 || b == "x"` still asks b and `not (a > 5)` holds without an a.
// `a == nil` and `a != nil` ask whether a is there and not null. Where a truth
// is wanted nil is false. Numbers compare exactly, whatever their size; so an
// integer beyond 2^53 is never equal to its neighbour. All else that does not
// fit (nil + 1, an overflow, lower(5), a filter that gives 7) is an error of
// the record, reason operator.
//
// What a chain makes of a record depends on the record and its place alone:
// there is no clock, no randomness, and nothing that walks a map. Expressions
// have a bound on nodes and on the values that they make.
package exprchain

import (
	"errors"
	"fmt"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/decode"
	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// Step is one step of a chain: exactly one field is set.
type Step struct {
	// Filter keeps the records that the expression is true for.
	Filter string
	// Select makes an object of members, in this order: "path", called by the
	// path's last key, or "name: path". A path is keys with dots between;
	// ["odd.key"] stands for any key. object and record are in scope. What is
	// not there becomes null; a record that is no object is an error.
	Select []string
}

// Options tune a chain. The zero value is ready.
type Options struct {
	// OnError is for records that are no JSON and those that a step fails on.
	// 0 skips them.
	OnError chain.Policy
	// Decode is for the decoder.
	Decode jsondecode.Options
}

// Compile makes a chain of steps; without any, records are checked and passed
// on. The error names every step at fault, as chain[0].filter, and the place.
func Compile(steps []Step, o Options) (chain.Constructor, error) {
	p := &plan{options: o}
	var errs []error
	for i, s := range steps {
		if err := p.add(s); err != nil {
			errs = append(errs, fmt.Errorf("chain[%d]%w", i, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return p.worker, nil
}

// plan is a chain as every worker runs it. It does not change once compiled.
type plan struct {
	options Options
	paths   []jsondecode.Path // what the decoder looks up
	attrs   []attr            // what is asked of objects
	filters []filter
	columns []column // of the last select; nil: the record itself
}

func (p *plan) add(s Step) error {
	switch {
	case s.Filter != "" && s.Select != nil:
		return errors.New(": has both filter and select: make two steps of it")
	case s.Filter != "":
		f, err := p.compile(s.Filter)
		if err != nil {
			return fmt.Errorf(".filter: %w", err)
		}
		p.filters = append(p.filters, f)
	case len(s.Select) > 0:
		c, err := p.selects(s.Select)
		if err != nil {
			return fmt.Errorf(".select: %w", err)
		}
		p.columns = c
	default:
		return errors.New(": is empty: want filter or select")
	}
	return nil
}

func (p *plan) worker() chain.Worker {
	s := &scope{plan: p, values: make([]any, len(p.attrs))}
	records := chain.Decode(func() decode.Decoder[jsondecode.Document] {
		return jsondecode.Documents(p.options.Decode, p.paths...)
	}, p.options.OnError)
	records = chain.Inspect(records, s.bind)
	if len(p.filters) > 0 {
		records = chain.Filter(records, s.keep)
	}
	return chain.Encode(records, p.options.OnError, s.row)()
}
