// Package exprchain makes a chain of the steps in a pipeline file, for people
// who write no Go. docs/CHAINS.md has an example of each.
//
//	filter   keeps the records that an expression of expr-lang is true for
//	select   makes an object of members
//	rename   gives members other names, or other places
//	drop     removes members
//	set      gives members the values of expressions
//	flatten  lifts the members of objects to the top level
//	explode  makes a record of each element of an array
//	parse    makes values of a text: JSON, key=value, a query, a pattern, a time
//	route    says which sink a record goes to; without it each goes to all
//
// It is not a language for what needs state or other records: that is a chain
// written in Go.
//
// A record is checked as JSON once. As long as there are only filters and
// selects, the members in use are looked up in that pass and nothing else is
// touched. The first other step takes the record apart to a list of members;
// from there on it is edited: names are looked up in that list, and what is
// below the top level is spliced. What no step changes is copied as it is
// written, numbers and strings byte for byte. Every row is one line: line breaks
// between a record's tokens go.
//
// # Names
//
// A name is a member of the record as the steps before left it; a dot or ["odd
// name"] leads further down. A member that is not there is nil, and so is
// everything of a record that is not an object. Also in scope, in expressions
// and selects: object.key, object.size, object.etag, object.last_modified,
// object.partition["year"] (of key elements like year=2026, percent-decoded),
// record.offset (of its first byte in the decoded object), record.index (within
// the object or, where it is cut, the range), and this, the whole record:
// this.object is a member named object. After a select it is known what is there, and any other name is an
// error of the configuration.
//
// A place that is written to is a path too: what leads to it is made where it is
// not there or null, and must be an object.
//
// # What is not there
//
// rename, drop, flatten, explode and parse do nothing where their member is not
// there or null. select and set make null of it. An array without elements
// explodes to nothing, which counts as filtered.
//
// # Order
//
// Members keep their places, and a value that changes keeps its member's. What
// is new goes to the end, in the order of the file. Of members called the same
// the last has the value and the first the place; so the members that a flatten,
// a parse or a merge adds win over those that were there. A rename goes by the
// record as it was before any of it, and the member that had the new name goes. Objects that
// expressions make have their members by name.
//
// # Comparisons
//
// In a filter or a route's condition, comparing nil or unlike types is false, !=
// too, and so are in, contains, startsWith, endsWith and matches; each
// comparison for itself, so that `a > 5 || b == "x"` still asks b and `not (a >
// 5)` holds without an a. Where a truth is wanted nil is false. In a set all of
// that is an error of the record. `a == nil` and `a != nil` ask whether a is
// there and not null; `a ?? 0` is a, or 0 without one. Numbers compare exactly,
// whatever their size; so an integer beyond 2^53 is never equal to its
// neighbour. All else that does not fit (nil + 1, an overflow, lower(5), a
// filter that gives 7) is an error of the record, reason operator.
//
// # Laws
//
// What a chain makes of a record depends on the record and its place alone:
// there is no clock, no randomness, no local zone, and nothing that walks a map.
// A record is all or nothing: when a step fails on it, none of its rows stay.
// Memory is bounded: expressions have a bound on nodes and on the values that
// they make, and all that steps make of one record one by its length.
package exprchain
