package spatetest

import (
	"errors"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/unit"
)

// Result is what a chain made of its input.
type Result struct {
	// Rows are those of the first sink, in order, each as it was encoded: with
	// its delimiter.
	Rows []string
	// Sinks are the rows of every sink.
	Sinks [][]string
	// Counts say what became of the records: in, out, filtered, rejected.
	Counts record.Counts
	// Undecoded is how many of the rejected ones the decoder refused.
	Undecoded int64
	// Err ended the chain, under a policy of Fail; nil: it took all records. As
	// in a job, the rows of the records before it stand.
	Err error
	// At is the index of the record that Err is about, -1 without one.
	At int64
}

// Chain runs the chain that newWorker makes over records and returns the
// result. A record is one string, without its delimiter. newWorker is called
// once for it, as for one unit.
//
// Rows must not depend on how records are grouped into batches. So Chain runs a
// second worker over the records one by one, and a difference fails the test:
// it reveals a chain that keeps memory which the next record overwrites.
func Chain(t testing.TB, newWorker chain.Constructor, records ...string) Result {
	t.Helper()
	return ChainOf(t, newWorker, 1, records...)
}

// ChainOf is [Chain] for a chain that writes to several sinks.
func ChainOf(t testing.TB, newWorker chain.Constructor, sinks int, records ...string) Result {
	t.Helper()
	together := process(newWorker(), sinks, records, len(records))
	single := process(newWorker(), sinks, records, 1)
	if !same(together, single) {
		t.Errorf("the chain depends on how records are batched:\ntogether   %s\none by one %s", together.text(), single.text())
	}
	return together
}

// process hands records to w, size at a time.
func process(w chain.Worker, sinks int, records []string, size int) Result {
	o := unit.Object{
		Key: "test/records.ndjson", ETag: `"test"`,
		LastModified: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	out := chain.Output{Sinks: make([]chain.Rows, sinks)}
	r := Result{At: -1}
	for first := 0; first < len(records) && r.Err == nil; first += size {
		b := batch(&o, records[first:min(first+size, len(records))])
		b.First = int64(first)
		r.Err = w.Process(b, &out)
		for i := range b.Buf {
			b.Buf[i] = '!' // the buffer is filled again: nothing may refer to it any more
		}
	}
	if e, ok := errors.AsType[*chain.RecordError](r.Err); ok {
		r.At = e.Index
	}
	for i := range out.Sinks {
		r.Sinks = append(r.Sinks, rows(&out.Sinks[i]))
	}
	r.Rows, r.Counts, r.Undecoded = r.Sinks[0], out.Counts, out.Undecoded
	return r
}

func batch(o *unit.Object, records []string) *chain.Batch {
	b := &chain.Batch{Object: o}
	for _, r := range records {
		start := len(b.Buf)
		b.Buf = append(append(b.Buf, r...), '\n')
		b.Frames = append(b.Frames, record.Frame{Start: start, End: len(b.Buf) - 1, Next: len(b.Buf)})
	}
	return b
}

func rows(r *chain.Rows) []string {
	var all []string
	start := 0
	for _, end := range r.Ends {
		all = append(all, string(r.Data[start:end]))
		start = end
	}
	return all
}
