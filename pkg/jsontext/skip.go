package jsontext

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// space is the first place from i on that is not white space.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skip returns the end of the value at i: i itself or -1 where there is none.
func skip(b []byte, i int) int {
	if i == len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i+1)
	case '{', '[':
	default: // a number or a word ends where something else begins
		for ; i < len(b); i++ {
			if c := b[i]; c-'0' > 9 && ends(c) {
				break
			}
		}
		return i
	}
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			if i = skipString(b, i+1); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// ends reports whether c ends a number or a word.
func ends(c byte) bool {
	return c <= ' ' || c == ',' || c == ':' || c == '"' || c|0x20 == '{' || c|0x20 == '}'
}

// skipString returns the place after the quote that closes the string whose
// first byte is at i, or -1. Most keys end within a word, which is quicker to see
// than to call what is quick on longer strings.
func skipString(b []byte, i int) int {
	if i+8 <= len(b) {
		const ones, highs = 0x0101010101010101, 0x8080808080808080
		x := binary.LittleEndian.Uint64(b[i:])
		quote, escape := x^ones*'"', x^ones*'\\'
		m := ((quote-ones)&^quote | (escape-ones)&^escape) & highs
		if m == 0 {
			i += 8
		} else if at := bits.TrailingZeros64(m) &^ 7; byte(x>>at) == '"' { // at is in bits
			return i + at/8 + 1
		}
	}
	for i < len(b) {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		escapes := 0
		for k := i + n - 1; k >= i && b[k] == '\\'; k-- {
			escapes++
		}
		if i += n + 1; escapes%2 == 0 {
			return i
		}
	}
	return -1
}
