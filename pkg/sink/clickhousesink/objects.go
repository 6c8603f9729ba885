package clickhousesink

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
)

var errNoObject = errors.New("it is not a JSON object")

// objects are the rows of a block that are JSON objects, and their token; the
// others are rejected. A server would refuse most of those itself, but takes [] and
// ; for no row at all, without a word.
func (s *Sink) objects(w *writing) (rows, string, error) {
	b := w.block
	if s.o.Format != JSONEachRow {
		return all(b), b.Token, nil
	}
	var good []int // nil: all so far
	for i := range b.Rows {
		object := isObject(b.Row(i))
		if !object {
			if err := s.rejectUnsent(w, i); err != nil {
				return rows{}, "", err
			}
			if good == nil {
				good = count(i)
			}
		} else if good != nil {
			good = append(good, i)
		}
	}
	if good == nil {
		return all(b), b.Token, nil
	}
	r := rows{block: b, index: good, hi: len(good)}
	return r, r.token(b.Token, "objects"), nil
}

func isObject(row []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(row, " \t\r\n"), []byte("{")) }

// count is the numbers below n, and not nil.
func count(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// rejectUnsent notes a row that is not an object.
func (s *Sink) rejectUnsent(w *writing, row int) error {
	err := fmt.Errorf("insert into %s: row %d of %s: %w", s.place, row, w.block.Token, errNoObject)
	if s.o.Rejected == RejectFail {
		return failure.Errorf(failure.Unit, failure.SinkRejected, "%w: correct the row, or set rejected: skip", err)
	}
	return s.reject(w, sink.RejectedRow{Index: row, Detail: errNoObject.Error(), Text: s.text(w.block.Row(row))}, err)
}
