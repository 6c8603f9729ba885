// Package jsondecode decodes JSON records: to a Go type, or to a Document of
// which only the wanted members are looked up.
//
// Both take exactly the texts that encoding/json takes: one value and nothing
// after it, nested at most 10,000 deep. Bytes in strings that are not UTF-8 are
// not an error; they become U+FFFD in values and are kept in raw ones.
//
// # Numbers
//
// Nothing here turns a number into another. In a Document, and so in every row
// that is made of one without computing, a number is the bytes that were written:
// integers of any size, 1.10, -0 and 1e400 alike. A type decides for itself: a
// json.Number or json.RawMessage field keeps the bytes, a big.Int every digit, a
// float64 is the nearest one (what was a float64 comes back the same), and an
// integer that does not fit its field is an error. Only a field of type any takes
// every number for a float64, unless Options.ExactNumbers. Value, which
// expressions compute with, makes an int of an integer that fits one, a float64
// of what has a point or an exponent and fits, and a Number of any other;
// ExactValue makes no float64 of what that would round.
//
// It is not a framer: a record that holds two values is refused. An error is
// failure.Record with undecodable, says where, and shows at most 80 bytes of
// text around that place.
package jsondecode

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/goccy/go-json"

	"github.com/spate-go/spate/pkg/decode"
	"github.com/spate-go/spate/pkg/failure"
)

// Options tune a decoder. The zero value is ready.
type Options struct {
	// DisallowDuplicateKeys refuses a record in which an object, at any depth,
	// has a key twice. False: the last one wins.
	DisallowDuplicateKeys bool
	// ExactNumbers makes json.Numbers, as written, of numbers that Typed decodes
	// to type any. It takes the standard library's decoder, which is several
	// times slower. False: they become float64, and digits may be lost. To
	// expressions it makes a Number of every fraction that no float64 is.
	ExactNumbers bool
	// Borrow lets the strings and slices of strings that Typed makes be views of
	// the record and of the decoder's memory, which are others with the next
	// record: for chains that encode a value and keep nothing of it, not even a
	// string as the key of a map. Then a struct of plain fields takes no
	// allocation. False: strings may be kept.
	Borrow bool
}

// Typed returns a decoder to T, by the rules and tags of encoding/json. Types
// with an UnmarshalJSON of their own are given their part of the record. A struct
// without embedded fields and the option string is decoded several times faster
// than others.
func Typed[T any](o Options) decode.Decoder[T] {
	d := &typed[T]{options: o}
	if !o.ExactNumbers {
		d.plan = planOf(reflect.TypeFor[T]())
	}
	if d.plan != nil {
		d.scan = scanner{spans: make([]span, d.plan.count), alert: true}
		d.texts.borrow = o.Borrow
	}
	return d
}

type typed[T any] struct {
	options Options
	keys    keys
	plan    *structPlan // nil: the library decodes
	scan    scanner
	texts   texts
}

func (d *typed[T]) Decode(b []byte, v *T) error {
	// Nothing of an earlier value may stay: the library would reuse its slices,
	// maps and what its pointers lead to.
	var zero T
	*v = zero
	if d.plan == nil || !d.planned(b, unsafe.Pointer(v)) {
		*v = zero
		if err := d.unmarshal(b, v); err != nil {
			return explain(b, err)
		}
	}
	if d.options.DisallowDuplicateKeys {
		return d.keys.check(b)
	}
	return nil
}

// planned sets the fields of the struct at p by the plan; false where the
// library has to say what the record means.
func (d *typed[T]) planned(b []byte, p unsafe.Pointer) bool {
	s := &d.scan
	s.b, s.odd = b, false
	d.texts.next()
	if s.scan(d.plan.root) < 0 || s.odd || b[s.space(0)] != '{' {
		return false
	}
	for i := range d.plan.fields {
		f := &d.plan.fields[i]
		at := s.spans[f.slot]
		if at.end > 0 && !f.set(&d.texts, unsafe.Add(p, f.offset), written{b[at.start:at.end], at.plain}) {
			return false
		}
	}
	return true
}

func (d *typed[T]) unmarshal(b []byte, v *T) error {
	if !d.options.ExactNumbers {
		return json.Unmarshal(b, v)
	}
	if err := Check(b); err != nil { // what follows reads one value of a stream
		return err
	}
	exact := stdjson.NewDecoder(bytes.NewReader(b))
	exact.UseNumber()
	return exact.Decode(v)
}

// explain prefers this package's own account of a fault of syntax, which has
// the place. Errors of the library and of types may quote the record at length.
func explain(b []byte, err error) error {
	if fault := Check(b); fault != nil {
		return fault
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind, _, _ := strings.Cut(e.Value, " ")
		at := min(max(int(e.Offset), 0), len(b))
		return undecodable(fmt.Sprintf("field %q of type %v cannot hold this %s", short(e.Field), e.Type, kind), b, at)
	}
	return failure.Errorf(failure.Record, failure.Undecodable, "decode json: %s", short(err.Error()))
}

// short cuts s so that no record is printed whole.
func short(s string) string { return failure.Excerpt(s, 80) }
