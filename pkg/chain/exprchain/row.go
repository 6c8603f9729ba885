package exprchain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

var errNoObject = errors.New("select: the record is not an object")

// column is a member of a select's result.
type column struct {
	source
	name string
	key  []byte // as it stands in the row, colon included
}

func (p *plan) selects(entries []string) ([]column, error) {
	var columns []column
	for _, entry := range entries {
		c, err := p.column(entry)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", entry, err)
		}
		if slices.ContainsFunc(columns, func(o column) bool { return o.name == c.name }) {
			return nil, fmt.Errorf("%q: %s is there already: give it another name, as \"name: path\"", entry, c.name)
		}
		columns = append(columns, c)
	}
	return columns, nil
}

func (p *plan) column(entry string) (column, error) {
	name, path, renamed := strings.Cut(entry, ": ")
	if !renamed {
		path = entry
	}
	keys, err := parsePath(strings.TrimSpace(path))
	if err != nil {
		return column{}, err
	}
	if !renamed {
		name = keys[len(keys)-1]
	}
	if name = strings.TrimSpace(name); name == "" {
		return column{}, errors.New("the name is empty")
	}
	f, err := p.resolve(keys[0], keys[1:])
	if err != nil {
		return column{}, err
	}
	return column{f, name, append(quoted(name), ':')}, nil
}

// parsePath reads keys with dots between, or as ["key"].
func parsePath(s string) ([]string, error) {
	var keys []string
	for rest := s; rest != "" || keys == nil; {
		if quotedKey, ok := strings.CutPrefix(rest, "["); ok {
			q, err := strconv.QuotedPrefix(quotedKey)
			if err != nil || q[0] != '"' || !strings.HasPrefix(quotedKey[len(q):], "]") {
				return nil, errors.New(`want a key in quotes between brackets, as ["odd.key"] (elements of arrays cannot be selected)`)
			}
			key, _ := strconv.Unquote(q)
			keys, rest = append(keys, key), quotedKey[len(q)+1:]
		} else {
			n := strings.IndexAny(rest, ".[")
			if n < 0 {
				n = len(rest)
			}
			if n == 0 || strings.ContainsAny(rest[:n], "\"]: \t\n,()") {
				return nil, errors.New(`want keys with dots between; write odd ones as ["odd key"]`)
			}
			keys, rest = append(keys, rest[:n]), rest[n:]
		}
		if after, ok := strings.CutPrefix(rest, "."); ok {
			if rest = after; rest == "" || rest[0] == '[' {
				return nil, errors.New("want a key after the dot")
			}
		} else if rest != "" && rest[0] != '[' {
			return nil, errors.New("want a dot between keys")
		}
	}
	return keys, nil
}

// row appends the record's row.
func (s *scope) row(dst []byte, d *jsondecode.Document) ([]byte, error) {
	if s.plan.columns == nil {
		return append(appendLine(dst, d.Bytes()), '\n'), nil
	}
	if !d.IsObject() {
		return dst, errNoObject
	}
	for i := range s.plan.columns {
		c := &s.plan.columns[i]
		dst = append(dst, ',')
		if i == 0 {
			dst[len(dst)-1] = '{'
		}
		dst = s.appendValue(append(dst, c.key...), c.source)
	}
	return append(dst, '}', '\n'), nil
}

func (s *scope) appendValue(dst []byte, f source) []byte {
	if f.kind == member {
		if raw := s.doc.Raw(f.n); raw != nil {
			return appendLine(dst, raw)
		}
		return append(dst, "null"...)
	}
	switch v := s.value(f).(type) {
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case string:
		return append(dst, quoted(v)...)
	case time.Time:
		return v.AppendFormat(append(dst, '"'), time.RFC3339Nano+`"`)
	}
	return append(dst, "null"...)
}

// appendLine appends valid JSON without its line breaks: they stand between
// tokens, as strings have none.
func appendLine(dst, raw []byte) []byte {
	for {
		n := bytes.IndexByte(raw, '\n')
		if n < 0 {
			return append(dst, raw...)
		}
		dst, raw = append(dst, raw[:n]...), raw[n+1:]
	}
}

// quoted is s as a JSON string.
func quoted(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic("exprchain: encode a string: " + err.Error()) // json cannot fail on one
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
