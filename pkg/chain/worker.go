package chain

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/record"
)

var (
	errShrunk = errors.New("encode row: the encoder returned less than it was given: append to dst")
	// errUnmatched is an error of the record.
	errUnmatched = errors.New("no route takes the record: end the routes with one without a condition, or skip what is unmatched")
)

// worker runs a typed chain. The fields below push are of the record at hand.
type worker struct {
	onUndecoded Policy
	onFailed    Policy
	routed      bool // a row goes to one sink alone
	push        func(b []byte) error
	out         *Output
	batch       *Batch
	traced      bool // rows of some sink are

	ctx       Context
	undecoded bool  // the decoder refused it
	dropped   int64 // values that ended without a row
	rows      int64 // rows that it became
	start     []mark
}

// mark is where one sink's rows stood.
type mark struct{ data, ends int }

func (w *worker) Process(b *Batch, out *Output) error {
	w.out, w.batch = out, b
	w.ctx.Object = b.Object
	out.Routed = w.routed
	w.traced = slices.ContainsFunc(out.Sinks, func(r Rows) bool { return r.Traced })
	defer func() { w.out, w.batch, w.ctx = nil, nil, Context{} }()
	for i := 0; i < len(b.Frames); {
		n, err := w.run(b, i)
		if err != nil {
			return err
		}
		i = n
	}
	return nil
}

// run passes frames from i on and returns the first one not dealt with. A
// panic ends the call and fails its record alone; so the price of a recover is
// paid once per batch, and once more per panic.
func (w *worker) run(b *Batch, i int) (next int, err error) {
	defer func() {
		if p := recover(); p != nil {
			next, err = i+1, w.fail(failure.Operator, w.onFailed, fmt.Errorf("panic: %v%s", p, origin()))
		}
	}()
	for ; i < len(b.Frames); i++ {
		if err := w.record(b, b.Frames[i], b.First+int64(i)); err != nil {
			return i, err
		}
	}
	return i, nil
}

func (w *worker) record(b *Batch, f record.Frame, index int64) error {
	w.begin(index, b.Base+int64(f.Start))
	if f.Oversize {
		return w.fail(failure.Undecodable, w.onUndecoded, errOversize)
	}
	w.ctx.Bytes = b.Buf[f.Start:f.End]
	if err := w.push(w.ctx.Bytes); err != nil {
		if w.undecoded {
			return w.fail(failure.Undecodable, w.onUndecoded, err)
		}
		return w.fail(failure.Operator, w.onFailed, err)
	}
	// Every value ended as a row or dropped, and there was at least one: so the
	// record's own place and the surplus add up to both, whatever the chain.
	if w.traced {
		w.trace(index)
	}
	c := &w.out.Counts
	c.In++
	c.Expanded += w.rows + w.dropped - 1
	c.Out += w.rows
	c.Filtered += w.dropped
	return nil
}

// trace notes whose rows were appended. Only a record that went well has any
// that stay.
func (w *worker) trace(index int64) {
	at := record.At(w.batch.Member, index)
	for i := range w.out.Sinks {
		s := &w.out.Sinks[i]
		for s.Traced && len(s.Records) < len(s.Ends) {
			s.Records = append(s.Records, at)
		}
	}
}

func (w *worker) begin(index, offset int64) {
	w.ctx.Index, w.ctx.Offset, w.ctx.Bytes = index, offset, nil
	w.undecoded, w.dropped, w.rows = false, 0, 0
	w.start = w.start[:0]
	for i := range w.out.Sinks {
		s := &w.out.Sinks[i]
		w.start = append(w.start, mark{len(s.Data), len(s.Ends)})
	}
}

// fail takes the record's rows back and counts it, or ends the batch there.
func (w *worker) fail(r failure.Reason, p Policy, err error) error {
	for i, m := range w.start {
		s := &w.out.Sinks[i]
		s.Data, s.Ends = s.Data[:m.data], s.Ends[:m.ends]
	}
	if p == Fail {
		return recordError(w.ctx.Index, r, err)
	}
	w.out.reject(w.batch, int(w.ctx.Index-w.batch.First), r, err)
	if w.undecoded {
		w.out.Undecoded++
	}
	return nil
}

// origin is the line that panicked, for the error's text.
func origin() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		if f.Function != "" && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf(" at %s:%d", path.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}
