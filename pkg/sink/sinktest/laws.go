package sinktest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/unit"
)

func durable(t *testing.T, h Harness) {
	f := open(t, h)
	u := unitID(1)
	for segment := range 3 {
		f.write(f.block(u, 0, segment, 4))
		if h.AtCommit {
			f.shows("before the commit")
			continue
		}
		var want []string
		for i := range segment + 1 {
			want = append(want, names(u, 0, i, 4)...)
		}
		f.shows("after an ack", want...)
	}
	all := join(names(u, 0, 0, 4), names(u, 0, 1, 4), names(u, 0, 2, 4))
	f.commit(u, 0)
	f.shows("after the commit", all...)
	f.close()
	f.shows("after Close", all...)
}

func ordered(t *testing.T, h Harness) {
	f := open(t, h)
	u := unitID(1)
	var want []string
	for segment := range 30 {
		f.write(f.block(u, 0, segment, segment%5+1))
		want = append(want, names(u, 0, segment, segment%5+1)...)
	}
	f.commit(u, 0)
	f.close()
	f.shows("after Close", want...)
}

func repeated(t *testing.T, h Harness) {
	f := open(t, h)
	u := unitID(1)
	first, second := f.block(u, 0, 0, 3), f.block(u, 0, 1, 3)
	f.write(first, first, second, first, second)
	f.commit(u, 0)
	f.close()
	f.showsAtLeast("after five writes of two blocks", join(names(u, 0, 0, 3), names(u, 0, 1, 3))...)
}

func equalRows(t *testing.T, h Harness) {
	f := open(t, h)
	u, v := unitID(1), unitID(2)
	f.write(f.blockOf(u, 0, 0, "same"), f.blockOf(u, 0, 1, "same"), f.blockOf(u, 1, 0, "same"), f.blockOf(v, 0, 0, "same"))
	f.commit(u, 0)
	f.commit(u, 1)
	f.commit(v, 0)
	f.close()
	f.shows("after four blocks of one row", "same", "same", "same", "same")
}

func again(t *testing.T, h Harness) {
	f := open(t, h)
	u := unitID(1)
	blocks := []int{0, 1, 2}
	for _, from := range []int{0, 0, 1} { // the last time from a cursor
		for _, segment := range blocks[from:] {
			f.write(f.block(u, 0, segment, 3))
		}
		f.commit(u, 0)
	}
	f.close()
	f.showsAtLeast("after three deliveries", join(names(u, 0, 0, 3), names(u, 0, 1, 3), names(u, 0, 2, 3))...)
}

func concurrent(t *testing.T, h Harness) {
	const units, blocks, rows = 6, 8, 40
	f := open(t, h)
	concurrently(units, func(u unit.ID) {
		for segment := range blocks {
			if err := f.Write(t.Context(), f.block(u, 0, segment, rows)); err != nil {
				t.Errorf("write: %v", err)
			}
		}
		if err := f.Commit(t.Context(), u, 0); err != nil {
			t.Errorf("commit: %v", err)
		}
	})
	f.close()
	if h.Discards {
		return
	}
	got := f.rows()
	var want []string
	for i := range units {
		for segment := range blocks {
			want = append(want, names(unitID(i), 0, segment, rows)...)
		}
	}
	if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Fatalf("%d rows show, want each of %d once", len(got), len(want))
	}
	if h.Unordered {
		return
	}
	next := map[string]int{} // by unit: the segment that comes next
	for i := 0; i < len(got); i += rows {
		name, _, _ := strings.Cut(got[i], " ")
		if !slices.Equal(got[i:i+rows], names(unit.ID(name), 0, next[name], rows)) {
			t.Fatalf("rows from %d on are not block %d of unit %s", i, next[name], name)
		}
		next[name]++
	}
}

func retains(t *testing.T, h Harness) {
	f := open(t, h)
	u := unitID(1)
	var want []string
	for segment := range 3 {
		b := f.block(u, 0, segment, 3)
		f.write(b)
		for i := range b.Data {
			b.Data[i] = '#'
		}
		b.Token, b.Unit = "#", "#"
		want = append(want, names(u, 0, segment, 3)...)
	}
	f.commit(u, 0)
	f.close()
	f.shows("after the buffers were used for something else", want...)
}

func empty(t *testing.T, h Harness) {
	f := open(t, h)
	f.commit(unitID(1), 0)
	f.commit(unitID(1), 0)
	f.commit(unitID(1), 5)
	f.close()
	f.shows("without a block")
}

func recommitted(t *testing.T, h Harness) {
	f := open(t, h)
	u := unitID(1)
	f.write(f.block(u, 0, 0, 3))
	for range 3 {
		f.commit(u, 0)
		f.shows("after a commit", names(u, 0, 0, 3)...)
	}
	f.close()
	f.shows("after Close", names(u, 0, 0, 3)...)
}

func seriesApart(t *testing.T, h Harness) {
	f := open(t, h)
	u := unitID(1)
	f.write(f.block(u, 0, 0, 2), f.block(u, 0, 1, 2))
	f.commit(u, 0)
	f.write(f.block(u, 2, 0, 2))
	f.commit(u, 2)
	f.write(f.block(u, 7, 0, 2))
	f.commit(u, 7)
	f.close()
	f.h.Unordered = true // where series stand to each other is not promised
	f.shows("after three series", join(names(u, 0, 0, 2), names(u, 0, 1, 2), names(u, 2, 0, 2), names(u, 7, 0, 2))...)
}

func limits(t *testing.T, h Harness) {
	f := open(t, h)
	before := f.Limits()
	u := unitID(1)
	f.write(f.block(u, 0, 0, 1))
	f.commit(u, 0)
	if after := f.Limits(); after != before {
		t.Fatalf("limits were %+v and are %+v", before, after)
	}
	if before.Rejects != (h.Poison != "") {
		t.Fatalf("limits %+v, and the row that is refused is %q", before, h.Poison)
	}
	if before.Rows < 0 || before.Bytes < 0 || before.Segments < 0 {
		t.Fatalf("limits %+v are negative", before)
	}
	f.close()
}

func ended(t *testing.T, h Harness) {
	f := open(t, h)
	u := unitID(1)
	f.write(f.block(u, 0, 0, 3))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	want := names(u, 0, 0, 3)
	switch err := f.Write(ctx, f.block(u, 0, 1, 3)); {
	case err == nil:
		t.Fatal("a write whose context had ended was acked")
	case !errors.Is(err, context.Canceled):
		t.Fatalf("the error of an ended context is lost in %v", err)
	}
	f.write(f.block(u, 0, 1, 3))
	f.commit(u, 0)
	f.close()
	f.showsAtLeast("after the write was tried again", join(want, names(u, 0, 1, 3))...)
}

func marked(t *testing.T, h Harness) {
	if h.Broken == nil {
		return
	}
	f := &fixture{t: t, h: h, Sink: h.Broken(t)}
	u := unitID(1)
	err := f.Write(t.Context(), f.block(u, 0, 0, 3))
	if err == nil {
		err = f.Commit(t.Context(), u, 0)
	}
	if err == nil {
		t.Fatal("the broken sink acked rows")
	}
	if !isMarked(err) {
		t.Fatalf("%v has no mark", err)
	}
	_ = f.Close() // it may say once more what is broken
}
