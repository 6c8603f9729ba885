package reject

import (
	"encoding/base64"
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// Content finds the record in a line and makes it whole where it stands, as
// line[start:end]. ok is false where the line has none. Of the line it wants one
// JSON object in which at most one of bytes and bytes_base64 stands, as a
// string; other members may be anything, in any order.
func Content(line []byte) (start, end int, ok bool, err error) {
	s := scan{b: line}
	for m, err := range s.members() {
		if err != nil {
			return 0, 0, false, err
		}
		key, _ := Unquote(m.key)
		encoded := string(key) == "bytes_base64"
		if !encoded && string(key) != "bytes" {
			continue
		}
		if ok {
			return 0, 0, false, errors.New("the record stands in it twice: keep one of bytes and bytes_base64")
		}
		text, isString := m.text()
		if !isString {
			return 0, 0, false, fmt.Errorf("%s is not a string", key)
		}
		record, good := Unquote(text)
		if good && encoded {
			record, good = decodeBase64(record)
		}
		if !good {
			return 0, 0, false, fmt.Errorf("%s cannot be decoded", key)
		}
		start, end, ok = m.at+1, m.at+1+len(record), true
	}
	return start, end, ok, nil
}

// decodeBase64 decodes b in place, piece by piece: a piece is read whole before
// it is written over.
func decodeBase64(b []byte) ([]byte, bool) {
	var piece [768]byte
	const encoded = len(piece) / 3 * 4
	n := 0
	for rest := b; len(rest) > 0; rest = rest[min(encoded, len(rest)):] {
		k, err := base64.StdEncoding.Decode(piece[:], rest[:min(encoded, len(rest))])
		if err != nil || k < len(piece) && len(rest) > encoded {
			return nil, false
		}
		n += copy(b[n:], piece[:k])
	}
	return b[:n], true
}

// Unquote makes of the inside of a JSON string, in place, what it means. Bytes
// that are not UTF-8 stay what they are; half a surrogate pair becomes U+FFFD.
// It is false where an escape is none of JSON's.
func Unquote(b []byte) ([]byte, bool) {
	n, i := 0, 0
	for i < len(b) {
		if b[i] != '\\' {
			b[n] = b[i]
			n, i = n+1, i+1
			continue
		}
		if i+1 == len(b) {
			return nil, false
		}
		c := unescaped(b[i+1])
		if c == 0 {
			r, size := surrogates(b[i:])
			if size == 0 {
				return nil, false
			}
			n += utf8.EncodeRune(b[n:], r)
			i += size
			continue
		}
		b[n] = c
		n, i = n+1, i+2
	}
	return b[:n], true
}

// unescaped is what a letter behind a backslash means, or 0.
func unescaped(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return 0
}

// surrogates reads \uXXXX, or two that are a pair, and how long that is; 0:
// neither.
func surrogates(b []byte) (rune, int) {
	r, ok := hex4(b)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if low, ok := hex4(b[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
	}
	return r, 6 // EncodeRune makes U+FFFD of half a pair
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c-'0' <= 9:
			r = r<<4 | rune(c-'0')
		case c|0x20-'a' <= 5:
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
