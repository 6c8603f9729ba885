package jsondecode

import (
	"encoding/binary"
	"math/bits"

	"github.com/spate-go/spate/pkg/failure"
)

// maxDepth is how deep arrays and objects may nest; encoding/json's limit too.
const maxDepth = 10_000

// scanner checks one JSON text (RFC 8259), strictly and in one pass, and notes
// where the wanted members lie. Like encoding/json it takes any bytes from 0x20
// on inside strings: whether they are UTF-8 is not looked at.
type scanner struct {
	b     []byte
	spans []span // by slot; of the record at hand
	plain bool   // the string scanned last means what is written: ASCII, no escapes
	key   []byte // scratch for keys with escapes

	alert bool // look for what a library may see otherwise:
	odd   bool // a wanted key stood twice, or one like it in another case

	at   int // of the fault, once one was found
	what string
}

// span is a value's place. No value is empty, so a zero end means absent.
type span struct {
	start, end int
	plain      bool // of a string
}

// text scans the whole of b.
func (s *scanner) text(want *node) error {
	if s.scan(want) < 0 {
		return undecodable(s.what, s.b, s.at)
	}
	return nil
}

// scan scans the whole of b and returns its end, or -1.
func (s *scanner) scan(want *node) int {
	end := s.member(s.space(0), want, 0)
	if end >= 0 {
		if end = s.space(end); end < len(s.b) {
			return s.fail(end, "want the end of the record")
		}
	}
	return end
}

// fail notes the fault and returns what every scan then returns. An offset at
// the end means that the text is cut.
func (s *scanner) fail(at int, what string) int {
	if s.at, s.what = at, what; at >= len(s.b) {
		s.at, s.what = len(s.b), "want more: the text ends early"
	}
	return -1
}

func (s *scanner) space(i int) int {
	for i < len(s.b) && (s.b[i] == ' ' || s.b[i] == '\n' || s.b[i] == '\t' || s.b[i] == '\r') {
		i++
	}
	return i
}

// value scans the value at i and returns its end, or -1.
func (s *scanner) value(i int, want *node, depth int) int {
	if i >= len(s.b) {
		return s.fail(i, "")
	}
	switch c := s.b[i]; {
	case c == '"':
		return s.str(i + 1)
	case c == '-' || c-'0' <= 9:
		return s.number(i)
	case c == '{':
		return s.object(i+1, want, depth+1)
	case c == '[':
		return s.array(i+1, depth+1)
	case c == 't':
		return s.word(i, "true")
	case c == 'f':
		return s.word(i, "false")
	case c == 'n':
		return s.word(i, "null")
	}
	return s.fail(i, "want a value")
}

func (s *scanner) word(i int, w string) int {
	for k := range len(w) {
		if i+k >= len(s.b) || s.b[i+k] != w[k] {
			return s.fail(i+k, "want "+w)
		}
	}
	return i + len(w)
}

func (s *scanner) object(i int, want *node, depth int) int {
	if depth > maxDepth {
		return s.fail(i-1, "nested deeper than 10000")
	}
	if i = s.space(i); i < len(s.b) && s.b[i] == '}' {
		return i + 1
	}
	for k := 0; ; k++ {
		child, end := want.guess(k, s.b[i:])
		if end > 0 {
			i += end - 1
		} else if i, child = s.find(i, k, want); i < 0 {
			return -1
		}
		if i++; i < len(s.b) && s.b[i] <= ' ' {
			i = s.space(i)
		}
		if child != nil {
			i = s.member(i, child, depth)
		} else {
			i = s.value(i, nil, depth)
		}
		if i < 0 {
			return -1
		}
		if i < len(s.b) && s.b[i] <= ' ' {
			i = s.space(i)
		}
		if i >= len(s.b) || s.b[i] != ',' {
			if i < len(s.b) && s.b[i] == '}' {
				return i + 1
			}
			return s.fail(i, "want a comma or }")
		}
		if i++; i < len(s.b) && s.b[i] <= ' ' {
			i = s.space(i)
		}
	}
}

// find scans the key at i and what leads to its colon, whose place it returns,
// or -1, and the child of n that the key names. k is the member's number.
func (s *scanner) find(i, k int, n *node) (colon int, c *node) {
	if i >= len(s.b) || s.b[i] != '"' {
		return s.fail(i, "want a key in quotes"), nil
	}
	start := i
	if i, c = s.name(i+1, n); i < 0 {
		return -1, nil
	}
	if c == nil && s.alert && n != nil && n.resembles(s.b[start+1:i-1]) {
		s.odd = true
	} else if n != nil && i < len(s.b) && s.b[i] == ':' {
		n.learn(k, s.b[start:i+1], c)
	}
	if i >= len(s.b) || s.b[i] != ':' {
		if i = s.space(i); i >= len(s.b) || s.b[i] != ':' {
			return s.fail(i, "want a colon"), nil
		}
	}
	return i, c
}

// name scans the key whose first byte is at i and returns the offset after its
// closing quote, or -1, and the child of n that it names.
func (s *scanner) name(i int, n *node) (end int, c *node) {
	if i+8 <= len(s.b) {
		x := binary.LittleEndian.Uint64(s.b[i:])
		at := bits.TrailingZeros64(special(x)) &^ 7 // in bits; 64: not in x
		if w := x & (1<<at - 1); byte(x>>at) == '"' && w&highs == 0 {
			return i + at/8 + 1, n.short(w, at/8)
		}
	}
	if end = s.str(i); end >= 0 && n != nil {
		raw := s.b[i : end-1]
		if !plain(raw) {
			s.key = appendUnquoted(s.key[:0], raw)
			raw = s.key
		}
		c = n.find(raw)
	}
	return end, c
}

// member scans a member's value. A key that stands twice has its last value,
// so what was found below an earlier one is forgotten.
func (s *scanner) member(i int, n *node, depth int) int {
	if n == nil {
		return s.value(i, nil, depth)
	}
	if s.alert && n.slot >= 0 && s.spans[n.slot].end > 0 {
		s.odd = true
	}
	if n.list != nil {
		clear(s.spans[n.first:n.last])
	}
	end := s.value(i, n, depth)
	if end >= 0 && n.slot >= 0 {
		s.spans[n.slot] = span{i, end, s.plain}
	}
	return end
}

func (s *scanner) array(i, depth int) int {
	if depth > maxDepth {
		return s.fail(i-1, "nested deeper than 10000")
	}
	if i = s.space(i); i < len(s.b) && s.b[i] == ']' {
		return i + 1
	}
	for {
		if i = s.value(i, nil, depth); i < 0 {
			return -1
		}
		if i = s.space(i); i >= len(s.b) || s.b[i] != ',' {
			if i < len(s.b) && s.b[i] == ']' {
				return i + 1
			}
			return s.fail(i, "want a comma or ]")
		}
		i = s.space(i + 1)
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special has the high bit set in the first byte of x that is a quote, a
// backslash or below 0x20; bits above the first are not to be trusted. With bit
// 1 turned, the quote is the next byte after those below 0x20, so that one
// comparison finds both.
func special(x uint64) uint64 {
	c, e := x^ones*0x02, x^ones*'\\'
	return ((c-ones*0x21)&^c | (e-ones)&^e) & highs
}

// str scans the string whose first byte is at i and returns the offset after
// its closing quote.
func (s *scanner) str(i int) int {
	b := s.b
	all := uint64(0) // bytes of the string on top of each other
	for {
		for i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			if m := special(x); m != 0 {
				all |= x & (m - 1) // before it: further bits of m are in no high byte
				i += bits.TrailingZeros64(m) / 8
				break
			}
			all |= x
			i += 8
		}
		if i < len(b) && b[i] == '"' {
			s.plain = all&highs == 0
			return i + 1
		}
		for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
			all |= uint64(b[i])
			i++
		}
		switch {
		case i < len(b) && b[i] == '"':
			s.plain = all&highs == 0
			return i + 1
		case i >= len(b) || b[i] != '\\':
			return s.fail(i, "want an escape for a control character")
		}
		all |= highs
		if i = s.escape(i + 1); i < 0 {
			return -1
		}
	}
}

func (s *scanner) escape(i int) int {
	if i >= len(s.b) {
		return s.fail(i, "")
	}
	switch s.b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		for k := i + 1; k < i+5; k++ {
			if k >= len(s.b) || !isHex(s.b[k]) {
				return s.fail(k, "want four hex digits")
			}
		}
		return i + 5
	}
	return s.fail(i, "want an escape that JSON knows")
}

func isHex(c byte) bool { return c-'0' <= 9 || c|0x20-'a' <= 5 }

func (s *scanner) number(i int) int {
	b := s.b
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = s.digits(i); i < 0 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = s.digits(i + 1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return s.digits(i)
	}
	return i
}

// noDigits has the high bit set in the first byte of x that is not a digit;
// bits above it are not to be trusted.
func noDigits(x uint64) uint64 {
	x ^= ones * '0'
	return (x + ones*(0x80-10) | x) & highs
}

// digits scans one or more.
func (s *scanner) digits(i int) int {
	start := i
	for i+8 <= len(s.b) {
		if m := noDigits(binary.LittleEndian.Uint64(s.b[i:])); m != 0 {
			i += bits.TrailingZeros64(m) / 8
			break
		}
		i += 8
	}
	for i < len(s.b) && s.b[i]-'0' <= 9 {
		i++
	}
	if i == start {
		return s.fail(i, "want a digit")
	}
	return i
}

// Check returns an error unless b is one JSON text and nothing else.
func Check(b []byte) error {
	s := scanner{b: b}
	return s.text(nil)
}

func undecodable(what string, b []byte, at int) error {
	return failure.Errorf(failure.Record, failure.Undecodable, "decode json: %s at offset %d%s", what, at, near(b, at))
}
