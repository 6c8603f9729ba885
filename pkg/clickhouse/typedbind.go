package clickhouse

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"time"
	"unsafe"
)

// bind returns what appends values of the Go type g as a t. Whatever can be
// found wrong in advance is an error here, and not of a row.
func bind(g reflect.Type, t *Type) (appender, error) {
	a, err := bound(g, t)
	if err == nil && a == nil {
		err = fmt.Errorf("%s cannot hold a %v", t, g)
	}
	return a, err
}

// bound is bind, but nil for types that do not go together.
func bound(g reflect.Type, t *Type) (appender, error) {
	switch {
	case t.name == "LowCardinality" || t.name == "SimpleAggregateFunction":
		return bind(g, t.args[0])
	case t.name == "Nullable":
		return bindNullable(g, t.args[0])
	}
	switch g {
	case reflect.TypeFor[time.Time]():
		return timeAppender(t.coder), nil
	case reflect.TypeFor[time.Duration]():
		if c, ok := t.coder.(clock); ok {
			return durationAppender(c), nil
		}
	case reflect.TypeFor[netip.Addr]():
		return addressAppender(t.coder), nil
	case reflect.TypeFor[big.Int](), reflect.TypeFor[*big.Int]():
		return bigAppender(t.coder, g.Kind() == reflect.Pointer), nil
	case reflect.TypeFor[json.RawMessage]():
		return func(dst []byte, p unsafe.Pointer) ([]byte, error) {
			return appendValue(t.coder, dst, *(*[]byte)(p))
		}, nil
	}
	switch g.Kind() {
	case reflect.String:
		return stringAppender(t.coder), nil
	case reflect.Bool:
		return func(dst []byte, p unsafe.Pointer) ([]byte, error) { return t.coder.boolean(dst, *(*bool)(p)) }, takes(t.coder, g)
	case reflect.Slice:
		if g.Elem().Kind() == reflect.Uint8 && !isArray(t) {
			return bytesAppender(t.coder), nil
		}
		return bindSlice(g, t)
	case reflect.Array:
		return bindArray(g, t)
	case reflect.Map:
		return bindMap(g, t)
	case reflect.Struct:
		return bindStruct(g, t)
	}
	return numberAppender(g, t.coder), nil
}

// takes returns an error where a coder refuses what a kind has.
func takes(c coder, g reflect.Type) error {
	if _, err := c.boolean(nil, true); err != nil {
		return fmt.Errorf("the type cannot hold a %v: %w", g, err)
	}
	return nil
}

func bindNullable(g reflect.Type, t *Type) (appender, error) {
	if g.Kind() != reflect.Pointer || g == reflect.TypeFor[*big.Int]() {
		of, err := bind(g, t)
		if err != nil {
			return nil, err
		}
		pointer := g.Kind() == reflect.Pointer
		return func(dst []byte, p unsafe.Pointer) ([]byte, error) {
			if pointer && *(*unsafe.Pointer)(p) == nil {
				return append(dst, 1), nil
			}
			return of(append(dst, 0), p)
		}, nil
	}
	of, err := bind(g.Elem(), t)
	if err != nil {
		return nil, err
	}
	return func(dst []byte, p unsafe.Pointer) ([]byte, error) {
		if p = *(*unsafe.Pointer)(p); p == nil {
			return append(dst, 1), nil
		}
		return of(append(dst, 0), p)
	}, nil
}

// bytesOf is a view of a string.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

func stringAppender(c coder) appender {
	switch c.(type) {
	case text:
		return func(dst []byte, p unsafe.Pointer) ([]byte, error) {
			s := *(*string)(p)
			if n := len(s); n < 0x80 {
				return append(append(dst, byte(n)), s...), nil
			}
			return appendBytes(dst, bytesOf(s)), nil
		}
	case document:
		return func(dst []byte, p unsafe.Pointer) ([]byte, error) {
			return appendValue(c, dst, bytesOf(*(*string)(p)))
		}
	case array, dictionary, tuple, boolean:
		return nil
	}
	return func(dst []byte, p unsafe.Pointer) ([]byte, error) { return c.text(dst, bytesOf(*(*string)(p))) }
}

func bytesAppender(c coder) appender {
	switch c.(type) {
	case text, fixedText:
		return func(dst []byte, p unsafe.Pointer) ([]byte, error) { return c.text(dst, *(*[]byte)(p)) }
	case document:
		return func(dst []byte, p unsafe.Pointer) ([]byte, error) { return appendValue(c, dst, *(*[]byte)(p)) }
	}
	return nil
}

func addressAppender(c coder) appender {
	switch c := c.(type) {
	case ipv4:
		return func(dst []byte, p unsafe.Pointer) ([]byte, error) { return c.append(dst, *(*netip.Addr)(p)) }
	case ipv6:
		return func(dst []byte, p unsafe.Pointer) ([]byte, error) { return c.append(dst, *(*netip.Addr)(p)) }
	}
	return nil
}
