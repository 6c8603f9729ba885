package clickhouse

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape appends what the inside of a JSON string means. Half a surrogate
// pair becomes U+FFFD; other bytes are not looked at.
func unescape(dst, s []byte) []byte {
	for {
		n := bytes.IndexByte(s, '\\')
		if n < 0 || n+1 == len(s) {
			return append(dst, s...)
		}
		dst, s = append(dst, s[:n]...), s[n+1:]
		c := s[0]
		s = s[1:]
		if c != 'u' {
			if i := bytes.IndexByte([]byte("bfnrt"), c); i >= 0 {
				c = "\b\f\n\r\t"[i]
			}
			dst = append(dst, c)
			continue
		}
		r := hex4(s)
		s = s[min(4, len(s)):]
		if utf16.IsSurrogate(r) {
			var low rune = -1
			if len(s) > 2 && s[0] == '\\' && s[1] == 'u' {
				low = hex4(s[2:])
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				s = s[6:]
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
}

// hex4 reads four hex digits, or returns -1.
func hex4(s []byte) rune {
	if len(s) < 4 {
		return -1
	}
	n, err := strconv.ParseUint(string(s[:4]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// appendQuoted appends text as a JSON string. What is no UTF-8 becomes U+FFFD.
func appendQuoted(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for len(s) > 0 {
		switch c := s[0]; {
		case c == '"' || c == '\\':
			dst, s = append(dst, '\\', c), s[1:]
		case c < ' ':
			dst, s = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15]), s[1:]
		case c < utf8.RuneSelf:
			dst, s = append(dst, c), s[1:]
		default:
			r, n := utf8.DecodeRune(s)
			dst, s = utf8.AppendRune(dst, r), s[n:]
		}
	}
	return append(dst, '"')
}
