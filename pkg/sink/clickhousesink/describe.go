package clickhousesink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spate-go/spate/pkg/failure"
)

// Description is a table as the job sees it.
type Description struct {
	Version  string // the server's
	Timezone string // the server's: of DateTime columns that name none
	Database string
	Table    string
	Engine   string
	Columns  []Column // in the table's order
	Findings []Finding
}

// Column is a column of the table.
type Column struct {
	Name string
	Type string
	Kind string // of its default: "", DEFAULT, MATERIALIZED, ALIAS or EPHEMERAL
	Used bool   // rows have it
}

// Fillable reports whether rows have the column unless they are told otherwise: one
// that takes values, and not only from those who name it.
func (c Column) Fillable() bool { return writable(c.Kind) && c.Kind != "EPHEMERAL" }

// Finding is what a person should know before a job starts.
type Finding struct {
	Warning bool // else it is good to know
	Text    string
}

// Zone is the server's time zone.
func (d Description) Zone() (*time.Location, error) {
	zone, err := time.LoadLocation(d.Timezone)
	if err != nil {
		return nil, failure.Errorf(failure.Job, failure.Config,
			"look at %s.%s: the server's time zone: %w: name one in the column's type", d.Database, d.Table, err)
	}
	return zone, nil
}

// look looks at all replicas, at once. Those that answer have to agree.
func (s *Sink) look(ctx context.Context) error {
	type looked struct {
		shard   int
		replica *replica
		found   *found
		err     error
	}
	var all []*looked
	for i, sh := range s.shards {
		for _, r := range sh.replicas {
			all = append(all, &looked{shard: i, replica: r})
		}
	}
	s.place = place{s.o.Database, s.o.Table}
	var g errgroup.Group
	g.SetLimit(8)
	for _, l := range all {
		g.Go(func() error {
			l.found, l.err = s.lookAt(ctx, l.replica)
			return nil
		})
	}
	_ = g.Wait()
	var first *looked
	var unreachable error
	for _, l := range all {
		switch {
		case failure.Is(l.err, failure.Transient):
			unreachable = errors.Join(unreachable, l.err)
			s.warn("%v: it is looked at before its first insert", l.err)
		case l.err != nil:
			return l.err
		case first == nil:
			first = l
			if err := s.choose(l.found); err != nil {
				return err
			}
		}
	}
	if first == nil {
		return failure.Errorf(failure.Transient, failure.RetriesExhausted,
			"%w: check the URL, and that a ClickHouse can be reached there over HTTP", unreachable)
	}
	answered := map[*replica]*found{}
	for _, l := range all {
		if l.found == nil {
			continue
		}
		if err := s.accept(l.replica, l.found); err != nil {
			return err
		}
		answered[l.replica] = l.found
	}
	if err := s.allMayInsert(ctx, answered); err != nil {
		return err
	}
	s.notes(first.found)
	return s.checkDistributed(ctx, first.replica)
}

// found is what one replica says.
type found struct {
	version, timezone string
	place             place
	columns           []Column
	known             map[string]bool // settings
	dedup             dedup
}

func (s *Sink) lookAt(ctx context.Context, to *replica) (*found, error) {
	f := &found{place: s.place, known: map[string]bool{}}
	c := call{"look at", s.place.String(), to.name}
	if err := s.lookInto(ctx, to, f); err != nil {
		return nil, c.classify(ctx, err)
	}
	return f, nil
}

func (s *Sink) lookInto(ctx context.Context, to *replica, f *found) error {
	type server struct{ Version, Timezone, Database string }
	self, err := ask[server](ctx, s, to, "SELECT version() AS version, timezone() AS timezone, currentDatabase() AS database")
	if err != nil {
		return err
	}
	if len(self) != 1 {
		return &exception{status: 404, text: "the answer to SELECT version() has no row"}
	}
	f.version, f.timezone = self[0].Version, self[0].Timezone
	if f.place.database == "" {
		f.place.database = self[0].Database
	}
	if f.columns, err = s.describe(ctx, to, f.place); err != nil {
		return err
	}
	type setting struct{ Name, Value string }
	settings, err := ask[setting](ctx, s, to, "SELECT name, value FROM system.settings WHERE name IN ("+literals(s.o.asked())+")")
	if err != nil {
		return err
	}
	for _, one := range settings {
		f.known[one.Name] = true
		if one.Name == readonly && one.Value != "0" {
			return &exception{status: 403, code: 164, text: "the user has the setting readonly = " + one.Value + ", with which no insert is allowed"}
		}
	}
	if s.o.AsyncInsert == AsyncWait && !f.known["async_insert"] {
		return &exception{status: 400, code: 115, text: "the server, " + f.version + ", does not support async_insert"}
	}
	if err := s.try(ctx, to); err != nil {
		return err
	}
	f.dedup, err = s.lookForWindows(ctx, to, f)
	return err
}

func (s *Sink) describe(ctx context.Context, to *replica, p place) ([]Column, error) {
	type described struct {
		Name string
		Type string
		Kind string `json:"default_type"`
	}
	rows, err := ask[described](ctx, s, to, "DESCRIBE TABLE "+p.quoted())
	columns := make([]Column, len(rows))
	for i, r := range rows {
		columns[i] = Column{Name: r.Name, Type: oneLine(r.Type), Kind: r.Kind}
	}
	return columns, err
}

// oneLine is a type as servers take it: they describe nested ones over several
// lines.
func oneLine(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], " ")
		if i > 0 && strings.HasSuffix(lines[i-1], ",") {
			lines[i] = " " + lines[i]
		}
	}
	return strings.Join(lines, "")
}

// accept notes of a replica what its inserts need, if it agrees with the others.
func (s *Sink) accept(r *replica, f *found) error {
	if f.place != s.place {
		return wrong("the user's default database is %s at %s and %s elsewhere: name the table's", f.place.database, r.name, s.place.database)
	}
	if diff := s.differences(f.columns); diff != "" {
		return failure.Errorf(failure.Job, failure.Schema, "look at %s at %s: it differs from other replicas or from the rows: %s: %s",
			s.place, r.name, diff, repair)
	}
	if err := s.judge(r, f); err != nil {
		return err
	}
	if f.timezone != s.seen.Timezone {
		s.warn("%s is in time zone %s, and others in %s: times without a zone differ between them", r.name, f.timezone, s.seen.Timezone)
	}
	r.looked = time.Now()
	r.known = &known{
		parameters: s.parameters(f.known), token: f.known["insert_deduplication_token"],
		divisible: f.dedup.divisible(), untyped: s.untyped(f.known),
	}
	format := map[Format]string{RowBinary: "RowBinary", Native: "Native", JSONEachRow: "JSONEachRow"}[s.o.Format]
	switch {
	case s.o.Defaults:
		format = withDefaults
	case s.o.Format == RowBinary && f.known["input_format_with_types_use_header"]:
		format = "RowBinaryWithNamesAndTypes"
		r.known.header = header(s.columns)
	}
	r.known.insert = fmt.Sprintf("INSERT INTO %s (%s) FORMAT %s", s.place.quoted(), identifiers(names(s.columns)), format)
	return nil
}

// fresh is for how long a look at columns is good where rows do not name their
// types: the server would read those of other types as something.
const fresh = time.Second

// ready looks at a replica that did not answer when the sink was opened, or, with
// rows that name no types, at one whose columns may have changed since.
func (s *Sink) ready(ctx context.Context, r *replica) error {
	select {
	case r.lock <- struct{}{}:
		defer func() { <-r.lock }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if r.known != nil {
		if !r.known.untyped || time.Since(r.looked) < fresh {
			return nil
		}
		at := time.Now()
		if err := s.explain(ctx, r, nil); err != nil {
			return err
		}
		r.looked = at
		return nil
	}
	f, err := s.lookAt(ctx, r)
	if err != nil {
		return err
	}
	if err := s.mayInsert(ctx, r, f); err != nil {
		return err
	}
	return s.accept(r, f)
}

// explain looks why an insert may have failed: columns that are others by now are
// an error of the job, which names them. Else it returns err.
func (s *Sink) explain(ctx context.Context, r *replica, err error) error {
	now, e := s.describe(ctx, r, s.place)
	if e != nil {
		if ctx.Err() != nil || err != nil {
			return err // what is known already says it
		}
		return call{"look at", s.place.String(), r.name}.classify(ctx, e)
	}
	diff := s.differences(now)
	if diff == "" {
		return err
	}
	return failure.Errorf(failure.Job, failure.Schema, "insert into %s at %s: the table has changed: %s: %s", s.place, r.name, diff, repair)
}

func names(columns []Column) []string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.Name
	}
	return list
}

// differences are those of a table from the columns that rows are made for, "" if
// there are none. Other columns may come and go.
func (s *Sink) differences(table []Column) string {
	var diffs []string
	for _, want := range s.columns {
		i := slices.IndexFunc(table, func(c Column) bool { return c.Name == want.Name })
		switch {
		case i < 0:
			diffs = append(diffs, fmt.Sprintf("column %s is missing", want.Name))
		case table[i].Type != want.Type:
			diffs = append(diffs, fmt.Sprintf("column %s is %s, not %s", want.Name, table[i].Type, want.Type))
		case !writable(table[i].Kind):
			diffs = append(diffs, fmt.Sprintf("column %s is %s and takes no values", want.Name, table[i].Kind))
		}
	}
	return strings.Join(diffs, "; ")
}

func writable(kind string) bool { return kind != "MATERIALIZED" && kind != "ALIAS" }
