package clickhouse

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/spate-go/spate/pkg/jsontext"
)

// text is String: the text of a JSON string, and any other value as it is
// written.
type text struct{ refuses }

func appendBytes(dst, s []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func (text) text(dst, s []byte) ([]byte, error)     { return appendBytes(dst, s), nil }
func (text) number(dst, s []byte) ([]byte, error)   { return appendBytes(dst, s), nil }
func (text) array(dst, raw []byte) ([]byte, error)  { return appendBytes(dst, raw), nil }
func (text) object(dst, raw []byte) ([]byte, error) { return appendBytes(dst, raw), nil }

func (text) boolean(dst []byte, v bool) ([]byte, error) {
	if v {
		return append(dst, "\x04true"...), nil
	}
	return append(dst, "\x05false"...), nil
}

func (text) zero(dst []byte) []byte { return append(dst, 0) }

func (text) render(dst, b []byte) (out, rest []byte) {
	s, rest := cutBytes(b)
	return jsontext.AppendQuoted(dst, s), rest
}

// cutBytes cuts a text off a row.
func cutBytes(b []byte) (s, rest []byte) {
	n, i := uvarint(b, 0)
	return b[i : i+int(n)], b[i+int(n):]
}

// fixedText is FixedString.
type fixedText struct {
	refuses
	width int
}

func fixedString(n *node) (*Type, error) {
	args, err := n.numbers(1)
	if err != nil {
		return nil, err
	}
	if args[0] < 1 || args[0] > 1<<24 {
		return nil, errors.New("want a number of bytes")
	}
	return &Type{text: fmt.Sprintf("FixedString(%d)", args[0]), coder: fixedText{width: args[0]}, shape: fixed(args[0])}, nil
}

func (c fixedText) text(dst, s []byte) ([]byte, error) {
	if len(s) > c.width {
		return dst, fmt.Errorf("it has %d bytes", len(s))
	}
	return appendZeros(append(dst, s...), c.width-len(s)), nil
}

func appendZeros(dst []byte, n int) []byte {
	var zeros [64]byte
	for ; n > len(zeros); n -= len(zeros) {
		dst = append(dst, zeros[:]...)
	}
	return append(dst, zeros[:n]...)
}

func (c fixedText) number(dst, s []byte) ([]byte, error)   { return c.text(dst, s) }
func (c fixedText) array(dst, raw []byte) ([]byte, error)  { return c.text(dst, raw) }
func (c fixedText) object(dst, raw []byte) ([]byte, error) { return c.text(dst, raw) }

func (c fixedText) boolean(dst []byte, v bool) ([]byte, error) {
	return c.text(dst, strconv.AppendBool(nil, v))
}

func (c fixedText) zero(dst []byte) []byte { return appendZeros(dst, c.width) }

// render leaves out the zeros that fill the text up.
func (c fixedText) render(dst, b []byte) (out, rest []byte) {
	return jsontext.AppendQuoted(dst, bytes.TrimRight(b[:c.width], "\x00")), b[c.width:]
}

// document is JSON, which travels as text.
type document struct{ refuses }

func (document) object(dst, raw []byte) ([]byte, error) { return appendBytes(dst, raw), nil }

// text is what a Go string and the key of a map are read by; a JSON string is
// no document.
func (document) text(dst, _ []byte) ([]byte, error) { return dst, errIsText }

func (document) zero(dst []byte) []byte { return append(dst, "\x02{}"...) }

func (document) render(dst, b []byte) (out, rest []byte) {
	s, rest := cutBytes(b)
	return append(dst, s...), rest
}
