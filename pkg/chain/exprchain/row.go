package exprchain

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
	"github.com/spate-go/spate/pkg/jsontext"
)

// column is a member of a select's result.
type column struct {
	source
	name string
	key  []byte // as it stands in the row, colon included
}

func (p *plan) addSelect(entries []string, at string) {
	if len(entries) == 0 {
		p.errs.addf(at, "is empty: want a list of members")
		return
	}
	before := len(p.errs)
	var columns []column
	named := map[string]int{}
	for i, entry := range entries {
		c, err := p.column(entry)
		if _, twice := named[c.name]; err == nil && twice {
			err = fmt.Errorf("%s is already taken: give it another name, as \"name: path\"", c.name)
		}
		if err != nil {
			p.errs.addf(item(at, i), "%q: %w", entry, err)
			continue
		}
		named[c.name] = len(columns)
		columns = append(columns, c)
	}
	if len(p.errs) > before {
		columns = nil // what follows is checked against what was meant to be there
		p.known = nil
		return
	}
	if !p.edited {
		p.columns, p.named, p.selected = columns, named, at
		return
	}
	p.known = nil
	for i := range columns {
		p.known = append(p.known, columns[i].name)
	}
	number := p.seeker(columns)
	p.do(at, func(s *scope) (bool, error) {
		m, k := s.members(), s.seekers[number]
		s.seek(k)
		s.spare = s.appendColumns(s.spare[:0], columns, k)
		*m, s.spare = s.spare, *m
		return true, nil
	})
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
	return column{f, name, append(jsontext.AppendQuoted(nil, name), ':')}, nil
}

// row appends the record's row.
func (s *scope) row(dst []byte, d *jsondecode.Document) ([]byte, error) {
	switch {
	case s.plan.edited:
		return append(appendObject(dst, *s.members()), '\n'), nil
	case s.plan.columns == nil:
		return append(appendLine(dst, d.Bytes()), '\n'), nil
	case !d.IsObject():
		return dst, &StepError{s.plan.selected, errNoObject}
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

// appendObject appends an object on one line.
func appendObject(dst []byte, m []jsondecode.Member) []byte {
	dst = append(dst, '{')
	for i := range m {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, m[i].Key...), ':')
		dst = appendLine(dst, m[i].Value)
	}
	return append(dst, '}')
}

func (s *scope) appendValue(dst []byte, f source) []byte {
	if f.inRecord() {
		if raw := s.raw(f); raw != nil {
			return appendLine(dst, raw)
		}
		return append(dst, "null"...)
	}
	switch v := s.value(f).(type) {
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case string:
		return jsontext.AppendQuoted(dst, v)
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
