package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Error is one problem of a file. Several come joined, by line.
type Error struct {
	File string
	Line int    // 0: not in the file, or all of it
	Path string // dotted; empty for the file itself
	Text string // what is wrong, and what would be right
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Text)
	return b.String()
}

// problems collects what is wrong, so that one run shows it all.
type problems []*Error

func (p *problems) add(at pos, path, format string, args ...any) {
	*p = append(*p, at.errorf(path, format, args...))
}

func (p problems) err() error {
	errs := make([]error, len(p))
	for i, e := range p {
		errs[i] = e
	}
	return Join(errs...)
}

// Join makes one error of those of a file's parts, with all problems in the
// order of the file and other errors last; nil if there are none.
func Join(errs ...error) error {
	var flat []error
	for _, err := range errs {
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			flat = append(flat, many.Unwrap()...)
		} else if err != nil {
			flat = append(flat, err)
		}
	}
	slices.SortStableFunc(flat, func(a, b error) int { return cmp.Compare(lineOf(a), lineOf(b)) })
	return errors.Join(flat...)
}

func lineOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Line
	}
	return math.MaxInt
}
