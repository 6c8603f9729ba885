package sinktest

import (
	"errors"
	"slices"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

// poisoned makes a block of rows that name their place, except for those at,
// which the sink refuses, and returns the good ones.
func (f *fixture) poisoned(u unit.ID, segment, n int, at ...int) (b *sink.Block, good []string) {
	rows := names(u, 0, segment, n)
	for i, row := range rows {
		if !slices.Contains(at, i) {
			good = append(good, row)
		}
	}
	for _, i := range at {
		rows[i] = f.h.Poison
	}
	return f.blockOf(u, 0, segment, rows...), good
}

// refuses fails the test unless the sink takes b except for the rows at.
func (f *fixture) refuses(b *sink.Block, at ...int) []sink.RejectedRow {
	f.t.Helper()
	err := f.Write(f.t.Context(), b)
	r, ok := errors.AsType[*sink.Rejected](err)
	if !ok {
		f.t.Fatalf("write %s with rows that are refused: %v", b.Token, err)
	}
	if failure.Marked(err) {
		f.t.Fatalf("%v bears a mark: it would be taken for a failed write", err)
	}
	var got []int
	for _, row := range r.Rows {
		got = append(got, row.Index)
		if row.Detail == "" || len(row.Text) == 0 {
			f.t.Fatalf("row %d is refused as %q, for %q", row.Index, row.Text, row.Detail)
		}
	}
	if !slices.Equal(got, at) {
		f.t.Fatalf("rows %v are refused, want %v", got, at)
	}
	return r.Rows
}

func refused(t *testing.T, h Harness) {
	for _, at := range [][]int{{0}, {6}, {3}, {2, 3}, {0, 2, 4, 6}, {0, 1, 2, 3, 4, 5, 6}} {
		if h.Poison == "" {
			return
		}
		f := open(t, h)
		u := unitID(1)
		b, good := f.poisoned(u, 0, 7, at...)
		f.refuses(b, at...)
		f.commit(u, 0)
		f.shows("after the commit", good...)
		f.close()
		f.shows("after Close", good...)
	}
}

func refusedAgain(t *testing.T, h Harness) {
	if h.Poison == "" {
		return
	}
	f := open(t, h)
	u := unitID(1)
	b, good := f.poisoned(u, 0, 5, 1, 4)
	first := f.refuses(b, 1, 4)
	for range 2 {
		for i, row := range f.refuses(b, 1, 4) {
			if row.Detail != first[i].Detail || string(row.Text) != string(first[i].Text) {
				t.Fatalf("row %d was refused as %q, for %q, and is as %q, for %q", row.Index, first[i].Text, first[i].Detail, row.Text, row.Detail)
			}
		}
		f.commit(u, 0)
	}
	f.close()
	f.showsAtLeast("after three writes", good...)
}

func refusedApart(t *testing.T, h Harness) {
	if h.Poison == "" {
		return
	}
	f := open(t, h)
	u := unitID(1)
	b, good := f.poisoned(u, 1, 4, 2)
	f.write(f.block(u, 0, 0, 3))
	f.refuses(b, 2)
	for i := range b.Data { // nothing of it is retained
		b.Data[i] = '#'
	}
	f.write(f.block(u, 0, 2, 3))
	f.commit(u, 0)
	f.close()
	f.shows("after three blocks", join(names(u, 0, 0, 3), good, names(u, 0, 2, 3))...)
}
