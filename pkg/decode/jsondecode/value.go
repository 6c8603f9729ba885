package jsondecode

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/spate-go/spate/pkg/jsontext"
)

// Value makes a Go value of a JSON value as written, which must be valid: nil,
// bool, int, float64, Number, string, []any or map[string]any. No bytes give
// nil. An integer that fits is an int; one that does not, and a fraction out of
// float64's range, is a Number. The value refers to nothing of raw.
func Value(raw []byte) any { return value(raw, false) }

// ExactValue is Value, except that a fraction that no float64 equals is a
// Number too.
func ExactValue(raw []byte) any { return value(raw, true) }

func value(raw []byte, exact bool) any {
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case 'n':
		return nil
	case 't', 'f':
		return raw[0] == 't'
	case '"':
		return Text(raw)
	case '[', '{':
		v, _ := compound(raw, 0, exact)
		return v
	}
	return numeric(raw, exact)
}

func numeric(raw []byte, exact bool) any {
	if n, ok := Int(raw); ok {
		return n
	}
	// ParseFloat does not report an underflow.
	if bytes.ContainsAny(raw, ".eE") {
		f, err := strconv.ParseFloat(string(raw), 64)
		if err == nil && (f != 0 || zero(raw)) && !(exact && CompareFloat(raw, f) != 0) {
			return f
		}
	}
	return Number(raw)
}

// Int reads an integer that fits 64 bits.
func Int(raw []byte) (int, bool) {
	digits, limit := raw, uint64(1<<63-1)
	neg := len(raw) > 0 && raw[0] == '-'
	if neg {
		digits, limit = raw[1:], 1<<63
	}
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	var n uint64
	for _, c := range digits {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	if n > limit {
		return 0, false
	}
	if neg {
		return int(-n), true
	}
	return int(n), true
}

// compound reads the array or object at i of a valid text. It goes through all
// levels at once: a jsontext.Walker would look through a value again at each level
// that it is in.
func compound(b []byte, i int, exact bool) (any, int) {
	s := scanner{b: b}
	if b[i] == '[' {
		list := []any{}
		for i = s.space(i + 1); b[i] != ']'; {
			var v any
			v, i = element(&s, i, exact)
			list = append(list, v)
			if i = s.space(i); b[i] == ',' {
				i = s.space(i + 1)
			}
		}
		return list, i + 1
	}
	members := map[string]any{}
	for i = s.space(i + 1); b[i] != '}'; {
		end := s.str(i + 1)
		key := Text(b[i:end])
		i = s.space(s.space(end) + 1)
		members[key], i = element(&s, i, exact)
		if i = s.space(i); b[i] == ',' {
			i = s.space(i + 1)
		}
	}
	return members, i + 1
}

func element(s *scanner, i int, exact bool) (any, int) {
	if c := s.b[i]; c == '[' || c == '{' {
		return compound(s.b, i, exact)
	}
	end := s.value(i, nil, 0)
	return value(s.b[i:end], exact), end
}

// Text is the string that a JSON string means, quotes included in raw. As with
// encoding/json, bytes that are not UTF-8 and unpaired surrogates become
// U+FFFD.
func Text(raw []byte) string { return string(AppendText(nil, raw)) }

// AppendText appends the string that a JSON string means.
func AppendText(dst, raw []byte) []byte {
	raw = raw[1 : len(raw)-1]
	if plain(raw) {
		return append(dst, raw...)
	}
	return appendUnquoted(dst, raw)
}

// appendUnquoted appends what the inside of a valid JSON string means.
func appendUnquoted(dst, raw []byte) []byte {
	start := len(dst)
	if !utf8.Valid(raw) {
		for len(raw) > 0 {
			r, n := utf8.DecodeRune(raw)
			dst, raw = utf8.AppendRune(dst, r), raw[n:]
		}
		raw = dst[start:]
	}
	dst, _ = jsontext.AppendUnescaped(dst[:start], raw)
	return dst
}
