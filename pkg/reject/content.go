package reject

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/spate-go/spate/pkg/jsontext"
)

var errNoObject = errors.New("it is not one JSON object")

// Content decodes the record of a line in place, as line[start:end]. ok is
// false if the line has none. The line must be one JSON object with at most one
// of the members bytes and bytes_base64, a string; other members may be
// anything, in any order.
func Content(line []byte) (start, end int, ok bool, err error) {
	w := jsontext.Walk(line)
	for {
		name, value := w.Member()
		if value == nil {
			break
		}
		key, good := unquote(name)
		encoded := string(key) == "bytes_base64"
		if !good || !encoded && string(key) != "bytes" {
			continue
		}
		if ok {
			return 0, 0, false, errors.New("it holds the record twice: keep one of bytes and bytes_base64")
		}
		if value[0] != '"' {
			return 0, 0, false, fmt.Errorf("%s is not a string", key)
		}
		record, good := unquote(value)
		if good && encoded {
			record, good = decodeBase64(record)
		}
		if !good {
			return 0, 0, false, fmt.Errorf("%s cannot be decoded", key)
		}
		start = w.Offset() - len(value) + 1
		end, ok = start+len(record), true
	}
	if w.Bad() || len(bytes.TrimLeft(line[w.Offset()+1:], " \t\r\n")) > 0 {
		return 0, 0, false, errNoObject
	}
	return start, end, ok, nil
}

// unquote decodes a JSON string in place, behind its first quote. Bytes that are
// not UTF-8 are the record's: they stay.
func unquote(text []byte) ([]byte, bool) {
	return jsontext.AppendUnescaped(text[1:1], text[1:len(text)-1])
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
