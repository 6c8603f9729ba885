package spatetest

import (
	"context"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// The operations of a ledger.
const (
	OpStart      Op = "Start"
	OpLease      Op = "Lease"
	OpPublish    Op = "Publish"
	OpAdvance    Op = "Advance"
	OpFinish     Op = "Finish"
	OpMeta       Op = "Meta"
	OpJoined     Op = "Joined"
	OpBegin      Op = "Begin"
	OpTouch      Op = "Touch"
	OpFault      Op = "Fault"
	OpRestDone   Op = "RestDone"
	OpRecovered  Op = "Recovered"
	OpPause      Op = "Pause"
	OpDone       Op = "Done"
	OpDead       Op = "Dead"
	OpGiveBack   Op = "GiveBack"
	OpProve      Op = "Prove"
	OpUnfinished Op = "Unfinished"
	OpConclude   Op = "Conclude"
	OpHalt       Op = "Halt"
	OpResume     Op = "Resume"
	OpRedrive    Op = "Redrive"
	OpProgress   Op = "Progress"
)

// Ledger is l with the faults of its operations.
func (f *Faults) Ledger(l ledger.Store) ledger.Store { return &faultyLedger{l, f} }

type faultyLedger struct {
	ledger.Store
	f *Faults
}

func (l *faultyLedger) Start(ctx context.Context, job string, s ledger.Start) (m ledger.Meta, err error) {
	err = l.f.do(OpStart, func() error { m, err = l.Store.Start(ctx, job, s); return err })
	return m, err
}

func (l *faultyLedger) Lease(ctx context.Context, c ledger.Lease) (m ledger.Meta, err error) {
	err = l.f.do(OpLease, func() error { m, err = l.Store.Lease(ctx, c); return err })
	return m, err
}

func (l *faultyLedger) Publish(ctx context.Context, c ledger.Lease, p ledger.Page) (stored ledger.Page, due []unit.ID, err error) {
	err = l.f.do(OpPublish, func() error { stored, due, err = l.Store.Publish(ctx, c, p); return err })
	return stored, due, err
}

func (l *faultyLedger) Advance(ctx context.Context, c ledger.Lease, p ledger.Page) error {
	return l.f.do(OpAdvance, func() error { return l.Store.Advance(ctx, c, p) })
}

func (l *faultyLedger) Finish(ctx context.Context, c ledger.Lease) error {
	return l.f.do(OpFinish, func() error { return l.Store.Finish(ctx, c) })
}

func (l *faultyLedger) Meta(ctx context.Context, job string) (m ledger.Meta, err error) {
	err = l.f.do(OpMeta, func() error { m, err = l.Store.Meta(ctx, job); return err })
	return m, err
}

func (l *faultyLedger) Joined(ctx context.Context, job, pipeline string) error {
	return l.f.do(OpJoined, func() error { return l.Store.Joined(ctx, job, pipeline) })
}

func (l *faultyLedger) Begin(ctx context.Context, r ledger.Ref, receives, limit int) (i ledger.Item, err error) {
	err = l.f.do(OpBegin, func() error { i, err = l.Store.Begin(ctx, r, receives, limit); return err })
	return i, err
}

func (l *faultyLedger) Touch(ctx context.Context, r ledger.Ref) error {
	return l.f.do(OpTouch, func() error { return l.Store.Touch(ctx, r) })
}

func (l *faultyLedger) Fault(ctx context.Context, r ledger.Ref, serial int, f unit.Fault) error {
	return l.f.do(OpFault, func() error { return l.Store.Fault(ctx, r, serial, f) })
}

func (l *faultyLedger) RestDone(ctx context.Context, r ledger.Ref, serial int, c unit.Counts) error {
	return l.f.do(OpRestDone, func() error { return l.Store.RestDone(ctx, r, serial, c) })
}

func (l *faultyLedger) Recovered(ctx context.Context, r ledger.Ref, serial, member int, c unit.Counts) error {
	return l.f.do(OpRecovered, func() error { return l.Store.Recovered(ctx, r, serial, member, c) })
}

func (l *faultyLedger) Pause(ctx context.Context, r ledger.Ref, serial int, cur ledger.Cursor, c unit.Counts) error {
	return l.f.do(OpPause, func() error { return l.Store.Pause(ctx, r, serial, cur, c) })
}

func (l *faultyLedger) Done(ctx context.Context, r ledger.Ref, c unit.Counts) (t ledger.Tally, err error) {
	err = l.f.do(OpDone, func() error { t, err = l.Store.Done(ctx, r, c); return err })
	return t, err
}

func (l *faultyLedger) Dead(ctx context.Context, r ledger.Ref, serial int, c ledger.Cause) (t ledger.Tally, err error) {
	err = l.f.do(OpDead, func() error { t, err = l.Store.Dead(ctx, r, serial, c); return err })
	return t, err
}

func (l *faultyLedger) GiveBack(ctx context.Context, r ledger.Ref, serial int) error {
	return l.f.do(OpGiveBack, func() error { return l.Store.GiveBack(ctx, r, serial) })
}

func (l *faultyLedger) Progress(ctx context.Context, job string, run int) (p ledger.Progress, err error) {
	err = l.f.do(OpProgress, func() error { p, err = l.Store.Progress(ctx, job, run); return err })
	return p, err
}

func (l *faultyLedger) Prove(ctx context.Context, job string, run int) (c ledger.Census, err error) {
	err = l.f.do(OpProve, func() error { c, err = l.Store.Prove(ctx, job, run); return err })
	return c, err
}

func (l *faultyLedger) Unfinished(ctx context.Context, job string, run int, yield func(ledger.Item) error) error {
	return l.f.do(OpUnfinished, func() error { return l.Store.Unfinished(ctx, job, run, yield) })
}

func (l *faultyLedger) Conclude(ctx context.Context, job string, run, generation int, s ledger.State) error {
	return l.f.do(OpConclude, func() error { return l.Store.Conclude(ctx, job, run, generation, s) })
}

func (l *faultyLedger) Halt(ctx context.Context, job string, h ledger.Halt) (won bool, err error) {
	err = l.f.do(OpHalt, func() error { won, err = l.Store.Halt(ctx, job, h); return err })
	return won, err
}

func (l *faultyLedger) Resume(ctx context.Context, job string, r failure.Reason) (cleared bool, err error) {
	err = l.f.do(OpResume, func() error { cleared, err = l.Store.Resume(ctx, job, r); return err })
	return cleared, err
}

func (l *faultyLedger) Redrive(ctx context.Context, job string, run int) (n int, err error) {
	err = l.f.do(OpRedrive, func() error { n, err = l.Store.Redrive(ctx, job, run); return err })
	return n, err
}
