package clickhousesink_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/clickhousesink"
	"github.com/spate-go/spate/pkg/sink/sinktest"
	"github.com/spate-go/spate/pkg/unit"
)

const unitID = unit.ID("s3-AAAAAAAAAAAAAAAAAAAAAA")

// wide are the columns of most tests.
func wide() []column { return []column{{"id", "Int32", ""}, {"name", "String", ""}} }

func options(s *server) clickhousesink.Options {
	return clickhousesink.Options{
		Shards: []clickhousesink.Shard{{Replicas: []string{"http://ch:8123"}}}, Table: "db.events", Transport: s.transport(),
	}
}

func open(t *testing.T, o clickhousesink.Options) *clickhousesink.Sink {
	t.Helper()
	s, err := clickhousesink.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// block makes rows of wide columns, from lo up to hi.
func block(segment, lo, hi int) *sink.Block {
	b := &sink.Block{Unit: unitID, Segment: segment, Rows: hi - lo}
	for i := lo; i < hi; i++ {
		name := fmt.Sprint("name ", i)
		b.Data = binary.LittleEndian.AppendUint32(b.Data, uint32(i))
		b.Data = append(binary.AppendUvarint(b.Data, uint64(len(name))), name...)
		b.Ends = append(b.Ends, len(b.Data))
	}
	b.Token = sink.Token(b.Unit, "ch", 0, segment, 0, b.Data)
	return b
}

// texts are the rows that block makes, as the server shows them.
func texts(lo, hi int, but ...int) []string {
	var rows []string
	for i := lo; i < hi; i++ {
		if !slices.Contains(but, i) {
			rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"name %d"}`, i, i))
		}
	}
	return rows
}

func sorted(rows []string) []string { return slices.Sorted(slices.Values(rows)) }

func write(t *testing.T, s sink.Sink, b *sink.Block) {
	t.Helper()
	if err := s.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, err error, scope failure.Scope, reason failure.Reason, says ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	s, r := failure.Of(err)
	if s != scope || r != reason || !failure.Marked(err) {
		t.Errorf("scope %d, reason %s, want %d, %s: %v", s, r, scope, reason, err)
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not say %q", err, text)
		}
	}
}

func rejected(t *testing.T, err error) []sink.RejectedRow {
	t.Helper()
	r, ok := errors.AsType[*sink.Rejected](err)
	if !ok {
		t.Fatalf("got %v, want rejected rows", err)
	}
	return r.Rows
}

// poison refuses rows as a constraint does.
func poison(bad func(row string) bool) func(string) *fault {
	return func(row string) *fault {
		if bad(row) {
			return &fault{469, "Constraint `c` for table db.events is violated at row 1"}
		}
		return nil
	}
}

func TestSink(t *testing.T) {
	for _, c := range []struct {
		format      clickhousesink.Format
		compression clickhousesink.Compression
	}{
		{"", ""}, {clickhousesink.RowBinary, clickhousesink.Gzip}, {clickhousesink.RowBinary, clickhousesink.LZ4},
		{clickhousesink.Native, clickhousesink.None}, {clickhousesink.Native, clickhousesink.Zstd},
		{clickhousesink.JSONEachRow, clickhousesink.LZ4},
	} {
		t.Run(fmt.Sprintf("%s %s", c.format, c.compression), func(t *testing.T) {
			sinktest.Run(t, sinktest.Harness{
				Dedup: true, Poison: "poison",
				New: func(t *testing.T) (sink.Sink, func() []byte) {
					s := newServer(t, column{"line", "String", ""})
					s.events().window = 10_000
					s.events().refuses = poison(func(row string) bool { return row == "poison" })
					o := options(s)
					o.Format, o.Compression = c.format, c.compression
					return open(t, o), func() []byte {
						rows := s.contents("db.events")
						if len(rows) == 0 {
							return nil
						}
						return []byte(strings.Join(rows, "\n") + "\n")
					}
				},
				Broken: func(t *testing.T) sink.Sink {
					s := newServer(t, column{"line", "String", ""})
					o := options(s)
					o.Format = c.format
					opened := open(t, o)
					delete(s.tables, "db.events")
					return opened
				},
				Encode: func(rows []string) []byte {
					var b []byte
					for _, r := range rows {
						if c.format == clickhousesink.JSONEachRow {
							b = fmt.Appendf(b, "{\"line\":%q}\n", r)
						} else {
							b = append(binary.AppendUvarint(b, uint64(len(r))), r...)
						}
					}
					return b
				},
			})
		})
	}
}

func TestLimitsAreThoseOfAnInsert(t *testing.T) {
	s := newServer(t, wide()...)
	if l := open(t, options(s)).Limits(); l != (sink.Limits{Rows: 1_000_000, Bytes: 128 << 20, Segments: 8, Rejects: true}) {
		t.Errorf("limits %+v", l)
	}
	o := options(s)
	o.MaxRows, o.MaxBytes, o.Segments, o.Rejected = 5, 6, 7, clickhousesink.RejectFail
	if l := open(t, o).Limits(); l != (sink.Limits{Rows: 5, Bytes: 6, Segments: 7}) {
		t.Errorf("limits %+v", l)
	}
}
