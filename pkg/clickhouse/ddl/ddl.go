// Package ddl suggests a table for JSON records: a CREATE TABLE whose columns
// take every record that it was shown.
//
// It is a suggestion and not a schema: it cannot know what a sample does not
// show, such as a value that is absent for the first time in a million records.
// So it is generous where that costs little (integers have 32 bits at least)
// and names what it left out.
//
// The law: the text depends on the records and their order alone.
package ddl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxDepth is how deep columns are taken apart; what lies deeper is JSON.
const maxDepth = 6

// Sample is what was seen of some records. Its zero value is empty.
type Sample struct {
	root   values
	others int // records that are not objects
}

// Add looks at a record. One that is not a JSON object is counted and skipped;
// the error says so.
func (s *Sample) Add(record []byte) error {
	if text := bytes.TrimLeft(record, " \t\r\n"); len(text) == 0 || text[0] != '{' || !json.Valid(text) {
		s.others++
		return errors.New("it is not a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(record))
	d.UseNumber()
	if err := s.root.read(d, 0); err != nil {
		s.others++
		return fmt.Errorf("read record: %w", err)
	}
	return nil
}

// Records is the number of objects that were seen.
func (s *Sample) Records() int { return s.root.objects }

// values are what was seen at one place in the records.
type values struct {
	nulls, bools, floats, arrays, objects, deep int

	ints  integers
	texts texts

	element *values // of the arrays
	names   []string
	members map[string]*values // of the objects, by names
}

// total is how many values there were.
func (v *values) total() int {
	return v.nulls + v.bools + v.floats + v.arrays + v.objects + v.deep + v.ints.n + v.texts.n
}

// read takes in the next value of d.
func (v *values) read(d *json.Decoder, depth int) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	switch t := t.(type) {
	case nil:
		v.nulls++
	case bool:
		v.bools++
	case json.Number:
		if !v.ints.add(t.String()) {
			v.floats++
		}
	case string:
		v.texts.add(t)
	case json.Delim:
		return v.compound(d, t, depth)
	}
	return nil
}

func (v *values) compound(d *json.Decoder, open json.Delim, depth int) error {
	if depth == maxDepth {
		v.deep++
		return skip(d)
	}
	if open == '[' {
		v.arrays++
		if v.element == nil {
			v.element = new(values)
		}
	} else {
		v.objects++
		if v.members == nil {
			v.members = map[string]*values{}
		}
	}
	for d.More() {
		into := v.element
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return err
			}
			into = v.member(name.(string)) // names are strings: the text is valid
		}
		if err := into.read(d, depth+1); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func (v *values) member(name string) *values {
	m, ok := v.members[name]
	if !ok {
		m = new(values)
		v.members[name] = m
		v.names = append(v.names, name)
	}
	return m
}

// skip reads to the end of the array or object that d is in.
func skip(d *json.Decoder) error {
	for depth := 1; depth > 0; {
		t, err := d.Token()
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
	}
	return nil
}
