package config

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
)

// read parses the scalar n into out. An error of parse must not repeat the
// value, which may be a secret.
func read[T any](d *decoder, n *node, path string, parse func(string) (T, error), out *T) {
	if !d.expect(n, scalar, path) {
		return
	}
	v, err := parse(n.text)
	if err != nil {
		d.add(n.pos, path, "%s %s", n.show(), err)
		return
	}
	*out = v
}

// text leaves a scalar to its type's own parser.
func (d *decoder) text(t encoding.TextUnmarshaler, n *node, path string) {
	if !d.expect(n, scalar, path) {
		return
	}
	err := t.UnmarshalText([]byte(n.text))
	if err == nil {
		return
	}
	if w, ok := errors.AsType[wrong](err); ok {
		d.add(n.pos, path, "%s %s", n.show(), w)
		return
	}
	// A parser from outside this package may repeat the value.
	if len(n.vars) > 0 {
		d.add(n.pos, path, "%s does not fit here", n.show())
		return
	}
	d.add(n.pos, path, "%s", err)
}

// wrong is what a parser of this package says of a value without repeating it.
type wrong string

func (w wrong) Error() string { return string(w) }

func (d *decoder) scalar(v reflect.Value, n *node, path string) {
	if !d.expect(n, scalar, path) {
		return
	}
	if err := setScalar(v, n.text); err != nil {
		d.add(n.pos, path, "%s %s", n.show(), err)
	}
}

// setScalar gives v, which is text, a boolean or an integer, the value that text
// stands for.
func setScalar(v reflect.Value, text string) error {
	switch k := v.Kind(); {
	case k == reflect.String:
		v.SetString(text)
	case k == reflect.Bool:
		b, err := parseBool(text)
		if err != nil {
			return err
		}
		v.SetBool(b)
	case v.CanInt():
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		if err != nil {
			top := uint64(math.MaxInt64) >> (64 - v.Type().Bits())
			return notInteger(err, fmt.Sprintf("-%d to %d", top+1, top))
		}
		v.SetInt(n)
	default:
		return wrong("cannot be read into a Go " + v.Type().String())
	}
	return nil
}

func parseBool(text string) (bool, error) {
	switch text {
	case "true", "True", "TRUE":
		return true, nil
	case "false", "False", "FALSE":
		return false, nil
	}
	return false, wrong("is neither true nor false")
}

func notInteger(err error, bounds string) error {
	if errors.Is(err, strconv.ErrRange) {
		return wrong("is out of range: " + bounds)
	}
	return wrong("is not a whole number")
}
