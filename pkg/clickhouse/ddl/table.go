package ddl

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// longestKey is the length of names that people look up; longer ones are texts
// that people read.
const longestKey = 32

// window is how many parts a suggested table remembers: as many as a replicated
// one does by itself, which holds hours of inserts where a unit comes again within
// minutes.
const window = 10_000

// Table is the statement that makes a table of that name for the records.
func (s *Sample) Table(name string) (string, error) {
	if len(s.root.names) == 0 {
		return "", errors.New("suggest a table: no record has members: it takes JSON objects")
	}
	var columns, notes []string
	for _, member := range s.root.names {
		m := s.root.members[member]
		if member == "" {
			notes = append(notes, "a member without a name has no column")
			continue
		}
		if strings.Contains(member, ".") {
			notes = append(notes, fmt.Sprintf("%s is the member of that name; in a pipeline file it is columns: {%q: '[%q]'}", oneLine(member), member, member))
		}
		columns = append(columns, "    "+identifier(member)+" "+m.column(m.total() < s.root.objects))
	}
	if s.others > 0 {
		notes = append(notes, fmt.Sprintf("%d records are not JSON objects, and make no rows", s.others))
	}
	if len(columns) == 0 {
		return "", errors.New("suggest a table: no member has a name")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "-- Suggested from %d records. What they do not show, such as larger numbers or\n-- members that may be absent, is yours to add.\n", s.root.objects)
	for _, n := range notes {
		fmt.Fprintf(&b, "-- Note: %s.\n", n)
	}
	fmt.Fprintf(&b, "CREATE TABLE %s\n(\n%s\n)\nENGINE = MergeTree\nORDER BY %s\n", identifier(name), strings.Join(columns, ",\n"), s.order())
	fmt.Fprintf(&b, "SETTINGS non_replicated_deduplication_window = %d;\n", window)
	return b.String(), nil
}

// oneLine is text for a comment.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 {
			return ' '
		}
		return r
	}, text)
}

// order is a key by which most queries find rows: what repeats most first, then
// the time. A key is of what no record lacks.
func (s *Sample) order() string {
	type part struct {
		name     string
		distinct int
	}
	var few []part
	when := ""
	for _, name := range s.root.names {
		m := s.root.members[name]
		of := m.column(m.total() < s.root.objects)
		switch {
		case name == "" || strings.Contains(of, "Nullable"):
		case strings.HasPrefix(of, "LowCardinality") && m.texts.longest <= longestKey:
			few = append(few, part{name, len(m.texts.distinct)})
		case when == "" && strings.HasPrefix(of, "Date"):
			when = name
		}
	}
	slices.SortStableFunc(few, func(a, b part) int { return cmp.Compare(a.distinct, b.distinct) })
	var key []string
	for _, p := range few[:min(len(few), 2)] {
		key = append(key, identifier(p.name))
	}
	if when != "" {
		key = append(key, identifier(when))
	}
	switch len(key) {
	case 0:
		return "tuple()"
	case 1:
		return key[0]
	}
	return "(" + strings.Join(key, ", ") + ")"
}

var unfit = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// Name is what the table of the object at key may be called.
func Name(key string) string {
	base, _, _ := strings.Cut(path.Base(key), ".")
	base = strings.Trim(unfit.ReplaceAllString(base, "_"), "_")
	switch {
	case base == "":
		return "rows"
	case base[0] >= '0' && base[0] <= '9':
		return "t_" + base
	}
	return base
}
