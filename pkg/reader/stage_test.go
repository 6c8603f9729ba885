package reader_test

import (
	"context"
	"errors"

	"github.com/spate-go/spate/pkg/ledger"
)

var errAway = errors.New("no answer")

// step is asked about every call that a reader makes, and makes it, or not.
type step func(call string, apply func() error) error

// stage puts a step in front of each call of a ledger.
type stage struct {
	ledger.Worker
	step step
}

func through[T any](s step, call string, apply func() (T, error)) (v T, err error) {
	err = s(call, func() (err error) {
		v, err = apply()
		return err
	})
	if err != nil {
		return *new(T), err // an answer that is lost says nothing
	}
	return v, nil
}

func (s stage) Meta(ctx context.Context, job string) (ledger.Meta, error) {
	return through(s.step, "meta", func() (ledger.Meta, error) { return s.Worker.Meta(ctx, job) })
}

func (s stage) Joined(ctx context.Context, job, pipeline string) error {
	return s.step("joined", func() error { return s.Worker.Joined(ctx, job, pipeline) })
}

func (s stage) Begin(ctx context.Context, r ledger.Ref, receives, limit int) (ledger.Item, error) {
	return through(s.step, "begin", func() (ledger.Item, error) { return s.Worker.Begin(ctx, r, receives, limit) })
}

func (s stage) Touch(ctx context.Context, r ledger.Ref) error {
	return s.step("touch", func() error { return s.Worker.Touch(ctx, r) })
}

func (s stage) Fault(ctx context.Context, r ledger.Ref, serial int, f ledger.Fault) error {
	return s.step("fault", func() error { return s.Worker.Fault(ctx, r, serial, f) })
}

func (s stage) RestDone(ctx context.Context, r ledger.Ref, serial int, c ledger.Counts) error {
	return s.step("rest done", func() error { return s.Worker.RestDone(ctx, r, serial, c) })
}

func (s stage) Recovered(ctx context.Context, r ledger.Ref, serial, member int, c ledger.Counts) error {
	return s.step("recovered", func() error { return s.Worker.Recovered(ctx, r, serial, member, c) })
}

func (s stage) Pause(ctx context.Context, r ledger.Ref, serial int, cur ledger.Cursor, c ledger.Counts) error {
	return s.step("pause", func() error { return s.Worker.Pause(ctx, r, serial, cur, c) })
}

func (s stage) Done(ctx context.Context, r ledger.Ref, c ledger.Counts) (ledger.Tally, error) {
	return through(s.step, "done", func() (ledger.Tally, error) { return s.Worker.Done(ctx, r, c) })
}

func (s stage) Dead(ctx context.Context, r ledger.Ref, serial int, c ledger.Cause) (ledger.Tally, error) {
	return through(s.step, "dead", func() (ledger.Tally, error) { return s.Worker.Dead(ctx, r, serial, c) })
}

func (s stage) GiveBack(ctx context.Context, r ledger.Ref, serial int) error {
	return s.step("give back", func() error { return s.Worker.GiveBack(ctx, r, serial) })
}

func (s stage) Halt(ctx context.Context, job string, h ledger.Halt) (bool, error) {
	return through(s.step, "halt", func() (bool, error) { return s.Worker.Halt(ctx, job, h) })
}
