package boltledger_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/boltledger"
	"github.com/spate-go/spate/pkg/unit"
)

func TestRecordsKeepEveryFieldAndTheirLength(t *testing.T) {
	object := unit.Object{Key: "k\xff", Size: 7, ETag: `"e"`, Version: "v", LastModified: time.Unix(1_800_000_000, 5).UTC()}
	item := ledger.Item{
		Planned: ledger.Planned{FirstKey: "k\xff", Objects: 3}, Run: 4, State: ledger.Dead, Serial: 5, Attempts: 6, Last: true,
		Cursor:   &ledger.Cursor{Series: 1, Segment: 2, Member: 3, Record: 4, Offset: 5, Undecoded: 6},
		Faults:   []ledger.Fault{{Member: 1, Record: 2, Framed: 3, Reason: failure.NotFound, Detail: "gone"}, {Member: 9}},
		RestDone: true, Counts: counts,
		Cause: &ledger.Cause{Reason: failure.Undecodable, Detail: "bad", Objects: []unit.Object{object, {Key: "z"}}, Faults: []ledger.Fault{{Member: 2}}, Record: -1},
	}
	it, itemBytes, err := boltledger.RoundtripItem(item)
	if d := cmp.Diff(item, it); d != "" || err != nil {
		t.Errorf("item, %v (-want +got):\n%s", err, d)
	}
	meta := ledger.Meta{
		Run: 1, State: ledger.Running, Halt: &ledger.Halt{Reason: failure.Denied, Detail: "d", At: time.Unix(3, 4).UTC()},
		Digests: ledger.Digests{Plan: "p", Read: "r"}, Generation: 2, Page: "k\xff",
		Source: "s", Callback: "c", Pipelines: []string{"a", "b"}, Ask: 9,
		Inventory: ledger.Inventory{Objects: 1, Bytes: 2, Empty: 3, Directory: 4, Archived: 5, Excluded: 6, ArchivedBytes: 7},
		Planned:   8, Listed: true, Started: time.Unix(5, 6).UTC(), Ended: time.Unix(7, 8).UTC(),
	}
	m, metaBytes, err := boltledger.RoundtripMeta(meta)
	if d := cmp.Diff(meta, m); d != "" || err != nil {
		t.Errorf("meta, %v (-want +got):\n%s", err, d)
	}
	want := page(3, 5)
	p, pageBytes, err := boltledger.RoundtripPage(want)
	for i := range want.Units {
		want.Units[i].Body = nil
	}
	if d := cmp.Diff(want, p); d != "" || err != nil {
		t.Errorf("page, %v (-want +got):\n%s", err, d)
	}
	for what, c := range map[string]struct {
		b  []byte
		is func([]byte) bool
	}{"item": {itemBytes, boltledger.IsItem}, "meta": {metaBytes, boltledger.IsMeta}, "page": {pageBytes, boltledger.IsPage}} {
		if !c.is(c.b) || c.is(append(slices.Clone(c.b), 0)) {
			t.Errorf("%s: bytes behind it go unnoticed", what)
		}
		for n := range c.b {
			if c.is(c.b[:n]) {
				t.Errorf("%s: %d of %d bytes are read as one", what, n, len(c.b))
			}
		}
	}
}

func FuzzRecords(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{2, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add(bytes.Repeat([]byte{0xff}, 40))
	f.Add([]byte{0x7e})                  // a text that is longer than the record
	f.Add([]byte{2, 0x7e})               // likewise
	f.Add(append(make([]byte, 8), 0x7e)) // a list of 63 sinks
	f.Add(append([]byte{2, 0, 0, 0, 0, 0, 0, 0}, 2, 2, 'a', 2, 2, 2))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, same := range boltledger.Roundtrip(b) {
			again := boltledger.Roundtrip(same)
			if !slices.ContainsFunc(again, func(a []byte) bool { return bytes.Equal(a, same) }) {
				t.Errorf("%x was read as a record, written as %x, and read as another", b, same)
			}
		}
	})
}
