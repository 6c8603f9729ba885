package clickhousesink

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// lookTimeout bounds a question: tables of the server's own, which are small.
const lookTimeout = 30 * time.Second

// ask is a SELECT, or the like, whose rows are decoded into Ts by name. Its error
// is not marked yet.
func ask[T any](ctx context.Context, s *Sink, to *replica, sql string) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	a, err := s.client.do(ctx, to.url, statement{sql: sql + " FORMAT JSONEachRow"})
	if err != nil {
		return nil, err
	}
	if e := a.fault(s.client.hide); e != nil {
		return nil, e
	}
	var rows []T
	for d := json.NewDecoder(bytes.NewReader(a.text)); ; {
		var row T
		switch err := d.Decode(&row); {
		case err == io.EOF && !a.long:
			return rows, nil
		case err != nil:
			// It is no ClickHouse: nothing that is asked here is answered otherwise.
			return nil, &exception{status: 404, text: fmt.Sprintf("the answer is no rows: %v", err)}
		}
		rows = append(rows, row)
	}
}

// place is a table.
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

// where is the condition of the system's tables.
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
