package clickhousesink

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spate-go/spate/pkg/clickhouse"
	"github.com/spate-go/spate/pkg/failure"
)

func (s *Sink) mismatch(format string, args ...any) error {
	return failure.Errorf(failure.Job, failure.Schema, "look at %s: %w: %s", s.place, fmt.Errorf(format, args...), repair)
}

// choose settles which columns rows have, by the first replica that answered.
func (s *Sink) choose(f *found) error {
	s.place = f.place
	s.seen.Version, s.seen.Timezone, s.seen.Database, s.seen.Table = f.version, f.timezone, f.place.database, f.place.table
	s.seen.Engine, s.seen.Columns = f.dedup.engine, slices.Clone(f.columns)
	wanted, err := s.wanted(f.columns)
	if err != nil {
		return err
	}
	if len(wanted) == 0 {
		return s.mismatch("no column is left to write to")
	}
	for _, name := range wanted {
		i := slices.IndexFunc(s.seen.Columns, func(c Column) bool { return c.Name == name })
		if i < 0 {
			return s.mismatch("it has no column %s, but %s", name, strings.Join(names(f.columns), ", "))
		}
		c := &s.seen.Columns[i]
		if !writable(c.Kind) {
			return s.mismatch("column %s is %s and takes no values: leave it out", name, c.Kind)
		}
		c.Used = true
		s.columns = append(s.columns, *c)
	}
	return s.makeColumns()
}

// wanted are the names of a row's columns.
func (s *Sink) wanted(table []Column) (names []string, err error) {
	switch {
	case s.o.Choose != nil:
		if names, s.o.Defaults, err = s.o.Choose(slices.Clone(table)); err != nil {
			return nil, err
		}
		return names, s.o.checkRows(names)
	case s.o.Types != nil:
		return s.o.Types.Names(), nil
	case s.o.Columns != nil:
		return s.o.Columns, nil
	}
	for _, c := range table {
		if c.Fillable() {
			names = append(names, c.Name)
		}
	}
	return names, nil
}

// makeColumns reads the types of the columns that rows have. What JSON becomes is
// the server's business.
func (s *Sink) makeColumns() error {
	s.made.Defaults = s.o.Defaults
	for i, c := range s.columns {
		if strings.HasPrefix(c.Type, "AggregateFunction(") {
			return s.mismatch("column %s is %s, a state that only the server computes: write to a table of engine Null with a materialized view that fills this one, or leave the column out", c.Name, c.Type)
		}
		if s.o.Format == JSONEachRow {
			continue
		}
		t, err := clickhouse.ParseType(c.Type)
		if err != nil {
			return s.mismatch("column %s: %w: leave it out, or use %s", c.Name, err, JSONEachRow)
		}
		if s.o.Types != nil {
			want := s.o.Types[i].Type
			switch {
			case want.Nullable() != t.Nullable():
				return s.mismatch("column %s is %s, and rows have %s, which differs in whether it may be NULL", c.Name, t, want)
			case want.String() != t.String():
				return s.mismatch("column %s is %s, and rows have %s", c.Name, t, want)
			}
		}
		s.made.Columns = append(s.made.Columns, clickhouse.Column{Name: c.Name, Type: t, Default: c.Kind})
	}
	return nil
}

// findings gathers what is found, each thing once: replicas find the same, and
// some are looked at late, in the middle of a Write.
type findings struct {
	mu   sync.Mutex
	list []Finding // guarded by mu
}

func (f *findings) add(one Finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.list, one) {
		f.list = append(f.list, one)
	}
}

func (s *Sink) warn(format string, args ...any) {
	s.findings.add(Finding{true, fmt.Sprintf(format, args...)})
}

func (s *Sink) note(format string, args ...any) {
	s.findings.add(Finding{false, fmt.Sprintf(format, args...)})
}

// notes lists what a person may not expect.
func (s *Sink) notes(f *found) {
	var unset []string
	for _, c := range s.seen.Columns {
		if !c.Used && c.Fillable() {
			unset = append(unset, c.Name)
		}
	}
	if len(unset) > 0 {
		s.note("columns that rows do not have take their defaults: %s", strings.Join(unset, ", "))
	}
	if s.o.AsyncInsert == AsyncWait {
		s.note("async_insert: wait: the server deduplicates these inserts apart from plain ones, and not in materialized views")
	}
	for _, name := range sortedKeys(s.o.Settings) {
		if !f.known[name] {
			s.warn("setting %s is not one of the server's own: only an insert tells whether it is accepted", name)
		}
	}
	if s.untyped(f.known) {
		s.note("inserts do not name the types of their columns, or not all: change no column's type while a job runs")
	}
}
