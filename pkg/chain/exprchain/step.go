package exprchain

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spate-go/spate/pkg/chain"
)

// Step is one step of a chain: exactly one field is set, not counting the
// options of explode and route.
type Step struct {
	// Filter keeps the records that the expression is true for.
	Filter string
	// Select makes an object of members, in this order: "path", called by the
	// path's last key, or "name: path". object and record are in scope. What is
	// not there becomes null.
	Select []string
	// Rename gives members, all at once, another name: From and To are paths.
	Rename []Pair
	// Drop removes members.
	Drop []string
	// Set gives members values, one after the other: the path is on the left,
	// an expression on the right.
	Set []Pair
	// Flatten lifts the members of objects to the top level.
	Flatten *Flatten
	// Explode makes a record of each element of the array at this path.
	Explode string
	// Merge is an option of Explode: elements are objects, and their members
	// become the record's in place of the array.
	Merge bool
	// Parse makes values of a member that is text.
	Parse *Parse
	// Route is the last step: the first route whose condition holds, or that
	// has none, says which sink the row goes to.
	Route []Route
	// Unmatched is an option of Route, for records that no route takes: "skip"
	// counts them as filtered; "fail", or "", makes it an error of the record.
	Unmatched string
}

// Pair is an entry of Rename or Set.
type Pair struct{ Name, Value string }

// Flatten tunes a flatten step. The zero value flattens all, with "_" between
// the names.
type Flatten struct {
	Separator string   // between the names of levels; "": "_"
	Fields    []string // top-level members; nil: all
	Depth     int      // levels to lift; 0: all
}

// Parse is a parse step. Field and As are required.
type Parse struct {
	Field   string // path of the text
	As      string // json, key_value, query, regex or timestamp
	Pattern string // of regex, with named groups
	Layout  string // of timestamp; "": rfc3339
	Zone    string // of timestamp, where the text has none; "": UTC
	// Into is the path of the result. "" is the top level of the record for
	// objects, and Field itself for a timestamp.
	Into string
}

// Route leads records to a sink.
type Route struct {
	To   string // name of the sink
	When string // condition; "": all
}

// StepError is what is wrong with one value of a chain.
type StepError struct {
	Path string // of the value in the pipeline file, as chain[2].set.total
	Err  error
}

func (e *StepError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *StepError) Unwrap() error { return e.Err }

// errs collects what is wrong with a chain.
type errs []error

func (e *errs) add(path string, err error) { *e = append(*e, &StepError{path, err}) }

func (e *errs) addf(path, format string, args ...any) { e.add(path, fmt.Errorf(format, args...)) }

// names are the steps that s has.
func (s *Step) names() []string {
	var names []string
	for _, k := range []struct {
		name string
		set  bool
	}{
		{"filter", s.Filter != ""}, {"select", s.Select != nil}, {"rename", s.Rename != nil}, {"drop", s.Drop != nil},
		{"set", s.Set != nil}, {"flatten", s.Flatten != nil}, {"explode", s.Explode != ""}, {"parse", s.Parse != nil},
		{"route", s.Route != nil},
	} {
		if k.set {
			names = append(names, k.name)
		}
	}
	return names
}

const stepNames = "drop, explode, filter, flatten, parse, rename, route, select, set"

// check finds what is wrong with the form of s.
func (s *Step) check(path string, e *errs) (name string, ok bool) {
	names := s.names()
	switch len(names) {
	case 0:
		e.addf(path, "needs one of: %s", stepNames)
		return "", false
	case 1:
	default:
		e.addf(path, "has %s: keep one", strings.Join(names, " and "))
		return "", false
	}
	before := len(*e)
	if s.Merge && s.Explode == "" {
		e.addf(path+".merge", "is an option of explode only")
	}
	if s.Unmatched != "" && s.Route == nil {
		e.addf(path+".unmatched", "is an option of route only")
	}
	return names[0], len(*e) == before
}

func policy(text string) (chain.Policy, error) {
	switch text {
	case "", "fail":
		return chain.Fail, nil
	case "skip":
		return chain.Skip, nil
	}
	return 0, errors.New(`want "fail" or "skip"`)
}

// below is the path of a key in the pipeline file.
func below(path, key string) string {
	if key == "" || strings.ContainsAny(key, ".[]\"=\n\r\t ") {
		return path + "[" + strconv.Quote(key) + "]"
	}
	return path + "." + key
}

func item(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
