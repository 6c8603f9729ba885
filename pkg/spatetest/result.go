package spatetest

import (
	"fmt"
	"slices"
	"strings"
)

// Text is all rows of the first sink as one string.
func (r Result) Text() string { return strings.Join(r.Rows, "") }

func same(a, b Result) bool {
	return slices.EqualFunc(a.Sinks, b.Sinks, slices.Equal[[]string]) &&
		a.Counts == b.Counts && a.Undecoded == b.Undecoded && a.At == b.At && (a.Err == nil) == (b.Err == nil)
}

func (r Result) text() string {
	return fmt.Sprintf("%q, counts %+v, error %v", r.Sinks, r.Counts, r.Err)
}
