// Package sinktest is the suite that defines a sink: every driver runs it, and
// what it does not check is not promised.
//
// It covers single deliveries and plain repeats. What a sink does with other
// rows in a place that it knows is for its own tests.
package sinktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

// Harness is a driver as the suite sees it. The flags say what it cannot do.
type Harness struct {
	// New returns a sink to an empty destination, and what reads back, as lines,
	// all that a reader of the destination sees at that moment. It is called
	// after Close as well.
	New func(t *testing.T) (sink.Sink, func() []byte)
	// Broken returns a sink that cannot write; nil where none can be made.
	Broken func(t *testing.T) sink.Sink
	// Encode makes a block's data of rows, one after the other; nil means
	// lines.
	Encode func(rows []string) []byte
	// Poison is a row that Encode takes and the sink refuses, while the others
	// can be read back. It is required of a sink whose limits say that it
	// rejects rows.
	Poison string

	Dedup     bool // the rows of a token show once however often they come
	AtCommit  bool // rows show at Commit, not before
	Unordered bool // rows are read back in no order
	Discards  bool // rows cannot be read back at all
}

// Run holds a driver to the contract of sink.Sink.
func Run(t *testing.T, h Harness) {
	if h.Encode == nil {
		h.Encode = func(rows []string) []byte { return []byte(strings.Join(rows, "\n") + "\n") }
	}
	for _, c := range []struct {
		law  string
		test func(*testing.T, Harness)
	}{
		{"acked rows are durable", durable},
		{"rows of a unit keep their order", ordered},
		{"a repeated block is recognised by its token", repeated},
		{"equal rows under other tokens are kept", equalRows},
		{"a unit may come again after its commit", again},
		{"blocks of concurrent units stay whole", concurrent},
		{"a write retains nothing of its block", retains},
		{"a series without blocks can be committed", empty},
		{"a commit may be repeated", recommitted},
		{"series are kept apart", seriesApart},
		{"limits are constant", limits},
		{"an ended context fails a write, whole or not at all", ended},
		{"errors are marked", marked},
		{"refused rows are told, and the others are durable", refused},
		{"a block of which rows were refused is answered alike again", refusedAgain},
		{"a refused row leaves the blocks behind it alone", refusedApart},
	} {
		t.Run(c.law, func(t *testing.T) { c.test(t, h) })
	}
}

// fixture is a sink under test and the blocks that are made for it.
type fixture struct {
	t *testing.T
	h Harness
	sink.Sink
	read func() []byte
}

func open(t *testing.T, h Harness) *fixture {
	t.Helper()
	s, read := h.New(t)
	return &fixture{t: t, h: h, Sink: s, read: read}
}

// unitID makes ids that have the shape of real ones.
func unitID(n int) unit.ID {
	u := unit.Unit{Objects: []unit.Object{{Key: fmt.Sprint("unit ", n), ETag: `"1"`}}}
	return u.ID()
}

// block makes a block of n rows that name their place.
func (f *fixture) block(u unit.ID, series, segment, n int) *sink.Block {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf("%s %d.%d %03d", u, series, segment, i)
	}
	return f.blockOf(u, series, segment, rows...)
}

func (f *fixture) blockOf(u unit.ID, series, segment int, rows ...string) *sink.Block {
	f.t.Helper()
	data := f.h.Encode(rows)
	ends, end := make([]int, len(rows)), base
	for i := range rows {
		end += len(f.h.Encode(rows[i : i+1]))
		ends[i] = end
	}
	if end != base+len(data) {
		f.t.Fatalf("%d rows encoded one by one are %d bytes, together %d", len(rows), end-base, len(data))
	}
	return &sink.Block{
		Unit: u, Series: series, Segment: segment,
		Token: sink.Token(u, "suite", series, segment, 0, data),
		Rows:  len(rows), Data: data, Ends: ends, Base: base,
	}
}

// base is where blocks begin in what they are said to be cut from.
const base = 1000

func (f *fixture) write(blocks ...*sink.Block) {
	f.t.Helper()
	for _, b := range blocks {
		if err := f.Write(f.t.Context(), b); err != nil {
			f.t.Fatalf("write %s: %v", b.Token, err)
		}
	}
}

func (f *fixture) commit(u unit.ID, series int) {
	f.t.Helper()
	if err := f.Commit(f.t.Context(), u, series); err != nil {
		f.t.Fatalf("commit %s, series %d: %v", u, series, err)
	}
}

func (f *fixture) close() {
	f.t.Helper()
	if err := f.Close(); err != nil {
		f.t.Fatalf("close: %v", err)
	}
}

func (f *fixture) rows() []string {
	var rows []string
	for line := range bytes.Lines(f.read()) {
		rows = append(rows, strings.TrimSuffix(string(line), "\n"))
	}
	return rows
}

// shows fails the test unless exactly these rows show: in their order, or in
// any where the driver keeps none.
func (f *fixture) shows(when string, want ...string) {
	f.t.Helper()
	if f.h.Discards {
		return
	}
	got := f.rows()
	if f.h.Unordered {
		slices.Sort(got)
		want = slices.Sorted(slices.Values(want))
	}
	if !slices.Equal(got, want) {
		f.t.Fatalf("%s: %d rows show, want %d:\n got %q\nwant %q", when, len(got), len(want), got, want)
	}
}

// showsAtLeast is shows for a driver that does not recognise repeats: each row
// at least once, and no other.
func (f *fixture) showsAtLeast(when string, want ...string) {
	f.t.Helper()
	if f.h.Dedup {
		f.shows(when, want...)
		return
	}
	if f.h.Discards {
		return
	}
	got := slices.Compact(slices.Sorted(slices.Values(f.rows())))
	if want = slices.Compact(slices.Sorted(slices.Values(want))); !slices.Equal(got, want) {
		f.t.Fatalf("%s: the rows that show are\n%q, want\n%q", when, got, want)
	}
}

// names returns the rows that block made.
func names(u unit.ID, series, segment, n int) []string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf("%s %d.%d %03d", u, series, segment, i)
	}
	return rows
}

func join(rows ...[]string) []string { return slices.Concat(rows...) }

// concurrently runs f once for each of n units and waits.
func concurrently(n int, f func(u unit.ID)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(unitID(i)) })
	}
	wg.Wait()
}

// isMarked reports whether an error says what has to happen next. Those of a
// context say it by themselves.
func isMarked(err error) bool {
	_, ok := errors.AsType[*failure.Error](err)
	return ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
