package sink

import "fmt"

// Rejected is the error of a Write that stored a block except for some of its
// rows: all others are durable and must not be sent again, and these never will
// be stored.
//
// It is a verdict on rows, never on the sink: a row that another attempt could
// store is not in it. A repeated block gets the same answer, the same rows in
// the same order, so that what is written to the rejects is the same too.
//
// It is not retried and carries no mark: the caller of Write deals with it. If
// refused rows are to fail their unit, or are more than a few, the sink returns
// failure.Unit with sink_rejected instead: their texts are memory that no
// budget has admitted.
type Rejected struct { //nolint:errname // a verdict: the write went well
	// Rows are the refused ones by their index, each once, in rising order. There
	// is at least one.
	Rows []RejectedRow
}

// RejectedRow is a row that a sink refused.
type RejectedRow struct {
	Index  int    // within the block
	Detail string // why, for the person who repairs it
	// Text is the row in readable form, such as JSON, whatever the sink's
	// encoding is. The caller owns it.
	Text []byte
}

func (r *Rejected) Error() string {
	if len(r.Rows) == 0 {
		return "write block: no row was refused"
	}
	first := &r.Rows[0]
	return fmt.Sprintf("write block: %d rows refused, the first of them row %d: %s", len(r.Rows), first.Index, first.Detail)
}
