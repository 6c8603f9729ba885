// Package chain turns framed records into rows: decode, operators, encode.
//
// A chain is written once, typed in Go or in the pipeline file, and built once
// per worker: no operator runs concurrently with itself. Records pass as plain
// calls; nothing is allocated or sent through a channel per record.
package chain

import (
	"fmt"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/unit"
)

// Batch is a run of consecutive frames of one object.
type Batch struct {
	Object *unit.Object
	Member int    // ordinal of the object in its unit
	Buf    []byte // what the frames are views of
	Frames []record.Frame
	First  int64 // index of the first frame within the object or range
	Base   int64 // offset of Buf in the decoded object
	From   int64 // offset in the decoded object at which the previous batch ended
}

// Output collects rows, in one buffer per sink, and what became of the records.
// The caller empties it between segments.
type Output struct {
	Sinks []Rows // in the order of the pipeline's sinks
	// Counts assume that every row is accepted: whoever writes the rows moves
	// those that a sink refuses to Rejected.
	Counts record.Counts
	// Rejects, if not nil, collects the rejected records of all sinks, each as
	// a line of a rejects file.
	Rejects *Rows
	// Routed: each value has a row in one sink only. The chain sets it.
	// Otherwise row n of a record is the same value in every sink.
	Routed bool
	// Undecoded is the number of records that the decoder refused; they are in
	// Counts.Rejected as well.
	Undecoded int64
}

// Rows are one sink's encoded rows.
type Rows struct {
	Data []byte
	Ends []int // end offset of each row in Data
	// Traced asks for Records to be filled; the caller sets it.
	Traced bool
	// Records holds, for each row, the position of its record; nil unless
	// Traced.
	Records []record.Position
}

// End closes the row that was appended to Data.
func (r *Rows) End() { r.Ends = append(r.Ends, len(r.Data)) }

// Bytes is the memory that the rows take.
func (r *Rows) Bytes() int64 { return int64(len(r.Data)) + int64(len(r.Ends)+len(r.Records))*8 }

// Reset empties r and keeps its memory.
func (r *Rows) Reset() { r.Data, r.Ends, r.Records = r.Data[:0], r.Ends[:0], r.Records[:0] }

// trace records the positions of frames [from, to) of b, each of which became
// one row.
func (r *Rows) trace(b *Batch, from, to int) {
	if !r.Traced {
		return
	}
	for i := from; i < to; i++ {
		r.Records = append(r.Records, b.position(i))
	}
}

// position is the position of frame i's record.
func (b *Batch) position(i int) record.Position { return record.At(b.Member, b.First+int64(i)) }

// Worker processes batches, one at a time, in order.
type Worker interface {
	// Process appends the rows of b to out and counts every frame of b: out's
	// Counts.In rises by their number, oversize ones being rejected. What it
	// appends depends on b alone. If rows are traced, it fills Records.
	//
	// A record that fails under the Skip policy is counted and becomes a row of
	// out.Rejects; under Fail Process returns a *RecordError after the rows of
	// the records before it.
	Process(b *Batch, out *Output) error
}

// Constructor makes a worker. It is called once per worker and may be called
// concurrently.
type Constructor func() Worker

// RecordError ends a member at a record. Its mark, failure.Member, carries
// undecodable or operator.
type RecordError struct {
	Index int64 // within the object or range
	Err   error
}

func (e *RecordError) Error() string { return fmt.Sprintf("record %d: %v", e.Index, e.Err) }

// Unwrap gives the marked cause.
func (e *RecordError) Unwrap() error { return e.Err }

// Policy says what happens to a record that fails.
type Policy int

// The policies.
const (
	Skip Policy = iota // count it and go on
	Fail               // its member is faulty from this record on
)

func recordError(index int64, r failure.Reason, err error) error {
	return &RecordError{index, failure.New(failure.Member, r, err)}
}
