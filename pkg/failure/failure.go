// Package failure classifies errors by what has to happen next.
//
// A driver marks an error once, at the bottom; everything above wraps with %w
// and decides by Of. The outermost mark wins, so a layer may widen a scope. An
// error without a mark is a Unit failure: the unknown goes back to the feed,
// never away.
package failure

import (
	"errors"
	"fmt"
)

// Scope says how far a failure reaches.
type Scope int

// The scopes, narrowest first.
const (
	// Transient may pass by itself: retried in place, then it is a Unit failure.
	Transient Scope = iota + 1
	// Record concerns one record: skipped and counted, or failed, by policy.
	Record
	// Member concerns one object of a unit, whose pinned bytes prove bad: it is
	// recorded in the ledger and the unit's other objects are delivered.
	Member
	// Unit returns the unit to the feed.
	Unit
	// Job halts the job: no unit of it could fare better.
	Job
)

// Reason is why a unit, a job or an event was given up. The set is closed:
// reasons are metric labels and report fields that users build on.
type Reason string

// Reasons of a unit.
const (
	NotFound              Reason = "not_found"
	ETagDrift             Reason = "etag_drift"
	Undecodable           Reason = "undecodable"
	TooLarge              Reason = "too_large"
	Archived              Reason = "archived"
	InvalidKey            Reason = "invalid_key"
	RetriesExhausted      Reason = "retries_exhausted"
	SinkRejected          Reason = "sink_rejected"
	Deadline              Reason = "deadline"
	Operator              Reason = "operator"
	Crashed               Reason = "crashed"
	Missing               Reason = "missing"
	UnsupportedDescriptor Reason = "unsupported_descriptor"
)

// Reasons of a halt.
const (
	Denied      Reason = "denied"
	Config      Reason = "config"
	Schema      Reason = "schema"
	Fingerprint Reason = "fingerprint"
	SinkDown    Reason = "sink_down"
)

// Error is an error with its scope and reason.
type Error struct {
	Scope  Scope
	Reason Reason
	Err    error
}

// New marks err. It returns nil for a nil err.
func New(s Scope, r Reason, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Scope: s, Reason: r, Err: err}
}

// Errorf marks a formatted error; %w wraps as in fmt.Errorf.
func Errorf(s Scope, r Reason, format string, args ...any) error {
	return &Error{Scope: s, Reason: r, Err: fmt.Errorf(format, args...)}
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Of returns the outermost scope and reason of err. An unmarked error is a Unit
// failure whose retries are exhausted.
func Of(err error) (Scope, Reason) {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Scope, e.Reason
	}
	return Unit, RetriesExhausted
}

// Marked reports whether anybody has classified err.
func Marked(err error) bool {
	_, ok := errors.AsType[*Error](err)
	return ok
}

// Is reports whether the outermost mark of err has scope s.
func Is(err error, s Scope) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Scope == s
}
