package clickhouse

import (
	"fmt"
	"strconv"
	"strings"
)

// ValueError says that a value does not fit its column. It concerns the record.
type ValueError struct {
	Column string
	Type   *Type
	// Value is how the value is written, cut short and without control
	// characters; "" where there is none.
	Value string
	Err   error
}

func (e *ValueError) Error() string {
	value := e.Value
	if value == "" {
		value = "a missing value"
	}
	return fmt.Sprintf("column %s cannot take %s as %s: %v", strconv.Quote(e.Column), value, e.Type, e.Err)
}

// Unwrap gives the cause.
func (e *ValueError) Unwrap() error { return e.Err }

// shown bounds what an error shows of a value.
func shown(raw []byte) string {
	s := cut(string(raw[:min(len(raw), 128)]))
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
