package chain

import (
	"github.com/spate-go/spate/pkg/decode"
	"github.com/spate-go/spate/pkg/unit"
)

// Context is what an operator may ask about the record at hand. It belongs to
// the worker and changes with the next record.
type Context struct {
	Object *unit.Object
	Index  int64  // of the record within the object or range
	Offset int64  // of the record's first byte in the decoded object
	Bytes  []byte // the record as it was framed
}

// Stream is a typed chain without its end: records decoded and passed through
// operators. Encode or Split ends it.
//
// A Stream is a recipe, and every worker composes its own decoder, values and
// calls from it. What a closure holds is shared by those workers; a chain with
// state of its own is written as a Constructor that declares the state first:
//
//	func() chain.Worker {
//		seen := map[string]bool{}
//		s := chain.Decode(newDecoder, chain.Skip)
//		s = chain.Filter(s, func(_ *chain.Context, e *Event) (bool, error) { … seen … })
//		return chain.Encode(s, chain.Skip, encode)()
//	}
//
// Values are passed by pointer, are owned by the stream and are valid during
// the call. An error of an operator concerns the record: the policy given to
// Encode says what becomes of it, whatever the error's own mark.
type Stream[T any] struct {
	// compose returns the first call of the chain, next being the last.
	compose func(w *worker, next func(*T) error) func(b []byte) error
}

// Decode begins a chain. newDecoder is called once per worker; onError is for
// the records that the decoder refuses.
func Decode[T any](newDecoder func() decode.Decoder[T], onError Policy) Stream[T] {
	return Stream[T]{func(w *worker, next func(*T) error) func([]byte) error {
		w.onUndecoded = onError
		d, v := newDecoder(), new(T)
		return func(b []byte) error {
			if err := d.Decode(b, v); err != nil {
				w.undecoded = true
				return err
			}
			return next(v)
		}
	}}
}

// Map makes one value of another. *out is the zero value when f is called.
func Map[T, U any](s Stream[T], f func(c *Context, in *T, out *U) error) Stream[U] {
	return Stream[U]{func(w *worker, next func(*U) error) func([]byte) error {
		var zero U
		out := new(U)
		return s.compose(w, func(in *T) error {
			*out = zero
			if err := f(&w.ctx, in, out); err != nil {
				return err
			}
			return next(out)
		})
	}}
}

// Filter drops the values that keep is false for; they count as filtered.
func Filter[T any](s Stream[T], keep func(c *Context, v *T) (bool, error)) Stream[T] {
	return Stream[T]{func(w *worker, next func(*T) error) func([]byte) error {
		return s.compose(w, func(v *T) error {
			ok, err := keep(&w.ctx, v)
			if err != nil {
				return err
			}
			if !ok {
				w.dropped++
				return nil
			}
			return next(v)
		})
	}}
}

// FlatMap makes any number of values of one. None counts as filtered, n count
// as n-1 expanded. It is all or nothing: when f fails, or anything after emit
// does, the record is one rejected record and none of its rows stay. emit
// returns that later error, and f may pass it on or not. The value is emit's
// during the call only.
func FlatMap[T, U any](s Stream[T], f func(c *Context, in *T, emit func(*U) error) error) Stream[U] {
	return Stream[U]{func(w *worker, next func(*U) error) func([]byte) error {
		var emitted int
		var failed error
		emit := func(v *U) error {
			emitted++
			if failed == nil {
				failed = next(v)
			}
			return failed
		}
		return s.compose(w, func(in *T) error {
			emitted, failed = 0, nil
			if err := f(&w.ctx, in, emit); err != nil {
				return err
			}
			if emitted == 0 {
				w.dropped++
			}
			return failed
		})
	}}
}

// Inspect shows every value to f, which must not change it.
func Inspect[T any](s Stream[T], f func(c *Context, v *T)) Stream[T] {
	return Stream[T]{func(w *worker, next func(*T) error) func([]byte) error {
		return s.compose(w, func(v *T) error {
			f(&w.ctx, v)
			return next(v)
		})
	}}
}

// Encode ends a chain: enc appends the row of v, delimiter included, to dst.
// Every sink is given every row; they are encoded once. onError is for records
// that an operator or enc refuses, or that make one panic. What a failing enc
// appended is cut off again.
func Encode[T any](s Stream[T], onError Policy, enc func(dst []byte, v *T) ([]byte, error)) Constructor {
	return func() Worker {
		w := &worker{onFailed: onError}
		w.push = s.compose(w, func(v *T) error {
			first := &w.out.Sinks[0]
			start := len(first.Data)
			if err := appendRow(first, enc, v); err != nil {
				return err
			}
			for i := 1; i < len(w.out.Sinks); i++ {
				rows := &w.out.Sinks[i]
				rows.Data = append(rows.Data, first.Data[start:]...)
				rows.End()
			}
			w.rows++
			return nil
		})
		return w
	}
}

func appendRow[T any](rows *Rows, enc func(dst []byte, v *T) ([]byte, error), v *T) error {
	row, err := enc(rows.Data, v)
	if err != nil {
		return err
	}
	if len(row) < len(rows.Data) {
		return errShrunk
	}
	rows.Data = row
	rows.End()
	return nil
}
