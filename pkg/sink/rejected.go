package sink

import "fmt"

// Rejected is the error of a Write that took a block but for some of its rows:
// all others are durable and will not be given again, and these never will be.
//
// It is a verdict on rows, never on the sink: what another attempt could mend
// is not in it. A block that comes again is answered alike, its rows being
// refused again and in the same order, so that what is written down of them
// comes again the same.
//
// It is not retried and bears no mark: who asked for the write deals with it.
// Where refused rows are to fail their unit, the sink returns failure.Unit with
// sink_rejected instead, and so it does with more of them than a few: their
// texts are memory that nobody has asked for.
type Rejected struct { //nolint:errname // a verdict: the write went well
	// Rows are the refused ones by their index, each once, in rising order. There
	// is at least one.
	Rows []RejectedRow
}

// RejectedRow is a row that a sink refused.
type RejectedRow struct {
	Index  int    // within the block
	Detail string // why, as for the person who mends it
	// Text is the row as a person reads it, such as JSON: what the sink's encoding
	// says in bytes of its own. It is the caller's from now on.
	Text []byte
}

func (r *Rejected) Error() string {
	if len(r.Rows) == 0 {
		return "write block: no row was refused"
	}
	first := &r.Rows[0]
	return fmt.Sprintf("write block: %d rows refused, the first of them row %d: %s", len(r.Rows), first.Index, first.Detail)
}
