package clickhousesink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/failure"
)

// lookTimeout bounds a question: tables of the server's own, which are small.
const lookTimeout = 30 * time.Second

// ask is a SELECT, or the like, whose rows are decoded into Ts by name. Its error
// is not marked yet.
func ask[T any](ctx context.Context, s *Sink, to *replica, sql string) ([]T, error) {
	// The status is to be that of the whole answer.
	whole := url.Values{"wait_end_of_query": {"1"}}
	a, err := s.query(ctx, to, statement{sql: sql + " FORMAT JSONEachRow", parameters: whole})
	if err != nil {
		return nil, err
	}
	var rows []T
	for d := json.NewDecoder(bytes.NewReader(a.text)); ; {
		var row T
		switch err := d.Decode(&row); {
		case err == io.EOF && !a.long:
			return rows, nil
		case err != nil:
			// It is no ClickHouse: nothing that is asked here is answered otherwise.
			return nil, &exception{status: 404, text: fmt.Sprintf("the answer is not rows: %v", err)}
		}
		rows = append(rows, row)
	}
}

// query is the answer to a statement; a refusal is an *exception.
func (s *Sink) query(ctx context.Context, to *replica, st statement) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	a, err := s.client.do(ctx, to.url, st)
	if err != nil {
		return nil, err
	}
	if e := a.besideRows().fault(s.client.hide); e != nil {
		return nil, e
	}
	return a, nil
}

// besideRows is the answer without its rows, in which a comment or a default of
// the table may look like an exception. A real one has a line of its own.
func (a *answer) besideRows() *answer {
	b := *a
	b.text = nil
	for line := range bytes.Lines(a.text) {
		if line[0] != '{' || bytes.HasPrefix(line, []byte(`{"exception"`)) {
			b.text = append(b.text, line...)
		}
	}
	return &b
}

// try makes a query with the user's settings. An invalid value of one has the
// code of an invalid value in a row: the first insert would blame its rows.
func (s *Sink) try(ctx context.Context, to *replica) error {
	if len(s.o.Settings) == 0 {
		return nil
	}
	given := url.Values{}
	for name, value := range s.o.Settings {
		given.Set(name, value)
	}
	_, err := s.query(ctx, to, statement{sql: "SELECT 1", parameters: given})
	if e, is := errors.AsType[*exception](err); is && codes[e.code] == values {
		return failure.Errorf(failure.Job, failure.Config, "try settings %s: %w: correct them, then resume the job",
			strings.Join(sortedKeys(s.o.Settings), ", "), e)
	}
	return err
}

// place is the full name of a table.
type place struct{ database, table string }

func (p place) String() string {
	if p.database == "" {
		return p.table
	}
	return p.database + "." + p.table
}

// quoted is the table in a statement.
func (p place) quoted() string {
	if p.database == "" {
		return identifier(p.table)
	}
	return identifier(p.database) + "." + identifier(p.table)
}

// where selects the table in the system's tables.
func (p place) where() string {
	return "database = " + literal(p.database) + " AND name = " + literal(p.table)
}

func identifier(name string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(name) + "`"
}

func literal(text string) string {
	return "'" + strings.NewReplacer("\\", "\\\\", "'", "\\'").Replace(text) + "'"
}

func identifiers(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = identifier(n)
	}
	return strings.Join(quoted, ", ")
}

func literals(texts []string) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = literal(t)
	}
	return strings.Join(quoted, ", ")
}
