package jsondecode

import "fmt"

const (
	nearBefore = 12
	nearAfter  = 20
)

// near shows the record around at, in at most 80 bytes of which no more than 32
// are the record's: a record's data does not belong into an error.
func near(b []byte, at int) string {
	from, to := max(at-nearBefore, 0), min(at+nearAfter, len(b))
	q := fmt.Sprintf(", near %q", b[from:to])
	for len(q) > 80 { // escapes quadruple some bytes
		from, to = from+(at-from)/2, to-(to-at+1)/2
		q = fmt.Sprintf(", near %q", b[from:to])
	}
	return q
}
