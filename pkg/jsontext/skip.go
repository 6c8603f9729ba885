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
		for i < len(b) && !ends(b[i]) {
			i++
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

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// skipString returns the place after the quote that closes the string whose
// first byte is at i, or -1.
func skipString(b []byte, i int) int {
	// Most are short: the first words are looked at here, and a function that is
	// quick on long ones is not called.
	for words := 0; words < 3 && i+8 <= len(b); words++ {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, escape := x^ones*'"', x^ones*'\\'
		m := ((quote-ones)&^quote | (escape-ones)&^escape) & highs
		if m == 0 {
			i += 8
			continue
		}
		if i += bits.TrailingZeros64(m) / 8; b[i] == '"' {
			return i + 1
		}
		i += 2
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
