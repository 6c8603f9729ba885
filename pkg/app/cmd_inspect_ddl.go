package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spate-go/spate/pkg/clickhouse/ddl"
	"github.com/spate-go/spate/pkg/inspect"
)

// suggestTable is spate inspect --ddl: one table for what is in all the objects.
func suggestTable(ctx context.Context, urls []string, f inspectFlags, std stdio) error {
	for _, url := range urls {
		if _, _, err := objectURL(url); err != nil {
			return err
		}
	}
	var seen ddl.Sample
	for _, url := range urls {
		before := seen.Records()
		found, err := inspectOne(ctx, url, inspect.Options{
			Each: func(record []byte) { _ = seen.Add(record) }, // the statement says how many were none
		})
		switch {
		case ctx.Err() != nil:
			return &exitError{errors.New("inspect was interrupted"), exitInterrupted}
		case err != nil:
			return &exitError{err, exitIncomplete}
		case seen.Records() == before && found.Problem != "":
			return &exitError{fmt.Errorf("%s: %s", url, found.Problem), exitIncomplete}
		case seen.Records() == before:
			return &exitError{fmt.Errorf("%s: no record in its first MiB is a JSON object, which a table needs: its format is %s",
				url, cmp.Or(found.Content.Format, "unknown")), exitIncomplete}
		}
	}
	_, key, _ := objectURL(urls[0]) // tried above
	text, err := seen.Table(cmp.Or(f.table, ddl.Name(key)))
	if err == nil {
		_, err = io.WriteString(std.stdout, text)
	}
	if err != nil {
		return &exitError{err, exitIncomplete}
	}
	return nil
}
