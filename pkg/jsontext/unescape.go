package jsontext

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendUnescaped appends what s, the inside of a JSON string, means; false for an
// escape that JSON does not have. What a string means is no longer than s, and s is
// read before it is written over: s may begin where dst ends, or after that.
func AppendUnescaped(dst, s []byte) ([]byte, bool) {
	for {
		n := bytes.IndexByte(s, '\\')
		if n < 0 {
			return append(dst, s...), true
		}
		r, size := escape(s[n:])
		if size == 0 {
			return dst, false
		}
		dst = utf8.AppendRune(append(dst, s[:n]...), r)
		s = s[n+size:]
	}
}

// escape is what the escape that s begins with means, and its length; 0: it is
// none.
func escape(s []byte) (r rune, size int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch c := s[1]; c {
	case '"', '\\', '/':
		return rune(c), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	}
	r = hex4(s)
	switch {
	case r < 0:
		return 0, 0
	case !utf16.IsSurrogate(r):
		return r, 6
	}
	if r = utf16.DecodeRune(r, hex4(s[6:])); r == utf8.RuneError {
		return r, 6
	}
	return r, 12
}

// hex4 reads the \uXXXX that s begins with, or returns -1.
func hex4(s []byte) (r rune) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	for _, c := range s[2:6] {
		switch {
		case c-'0' <= 9:
			r = r<<4 | rune(c-'0')
		case c|0x20-'a' <= 5:
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return -1
		}
	}
	return r
}
