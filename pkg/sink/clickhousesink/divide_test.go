package clickhousesink_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/clickhousesink"
)

// badIDs refuses the rows of these ids.
func badIDs(bad ...int) func(string) *fault {
	texts := map[string]bool{}
	for _, i := range bad {
		texts[fmt.Sprintf(`{"id":%d,"name":"name %d"}`, i, i)] = true
	}
	return poison(func(row string) bool { return texts[row] })
}

func TestPoisonIsFoundAndTheOthersAreInsertedOnce(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		n := 1 + r.IntN(300)
		var bad []int
		for i := range n {
			if r.IntN(40) == 0 {
				bad = append(bad, i)
			}
		}
		format := []clickhousesink.Format{clickhousesink.RowBinary, clickhousesink.Native}[r.IntN(2)]
		t.Run(fmt.Sprintf("%s, %d rows, bad %v", format, n, bad), func(t *testing.T) {
			s := newServer(t, wide()...)
			s.events().window = 10_000
			s.events().refuses = badIDs(bad...)
			o := options(s)
			o.Format = format
			var before []string
			for delivery := range 3 { // the last two by a process that knows nothing of the first
				b := block(0, 0, n)
				err := open(t, o).Write(t.Context(), b)
				if len(bad) == 0 {
					if err != nil {
						t.Fatal(err)
					}
				} else {
					checkRejected(t, err, bad)
				}
				if got := sorted(s.contents("db.events")); !slices.Equal(got, sorted(texts(0, n, bad...))) {
					t.Fatalf("delivery %d: %d rows, want %d", delivery, len(got), n-len(bad))
				}
				tokens := s.tokens()
				if delivery > 0 && !slices.Equal(tokens[:len(tokens)/(delivery+1)], before) {
					t.Fatalf("delivery %d made other inserts", delivery)
				}
				before = tokens[:len(tokens)/(delivery+1)]
				if unique := slices.Compact(slices.Sorted(slices.Values(before))); len(unique) != len(before) {
					t.Fatalf("two of %d inserts have one token", len(before))
				}
			}
		})
	}
}

func checkRejected(t *testing.T, err error, bad []int) {
	t.Helper()
	var got []int
	for _, r := range rejected(t, err) {
		got = append(got, r.Index)
		if want := fmt.Sprintf(`{"id":%d,"name":"name %d"}`, r.Index, r.Index); string(r.Text) != want {
			t.Errorf("row %d is shown as %s", r.Index, r.Text)
		}
		if !strings.HasPrefix(r.Detail, "code 469: Constraint") {
			t.Errorf("row %d was refused for %q", r.Index, r.Detail)
		}
	}
	if !slices.Equal(got, bad) {
		t.Errorf("rows %v were rejected, want %v", got, bad)
	}
}

// TestNoSingleFaultOfADivisionShows fails the first insert, then the second and
// so on, each once not applied and once applied with its answer lost. What the
// Write had settled by then it does not ask again, even of a table that would not
// know it.
func TestNoSingleFaultOfADivisionShows(t *testing.T) {
	bad := []int{3, 21, 22}
	for _, window := range []int{0, 10_000} {
		for _, applied := range []bool{false, true} {
			if window == 0 && applied {
				continue // nothing but a window tells
			}
			for n := 1; ; n++ {
				s := newServer(t, wide()...)
				s.events().window = window
				s.events().refuses = badIDs(bad...)
				s.script = func(seen int, _ *http.Request) step {
					switch {
					case seen != n:
						return step{}
					case applied:
						return step{after: lost}
					}
					return step{before: lost}
				}
				opened := open(t, options(s))
				b := block(0, 0, 40)
				err := opened.Write(t.Context(), b)
				last := s.seen < n
				if !last {
					expect(t, err, failure.Transient, failure.RetriesExhausted, "unexpected EOF")
					err = opened.Write(t.Context(), b)
				}
				checkRejected(t, err, bad)
				if got := sorted(s.contents("db.events")); !slices.Equal(got, sorted(texts(0, 40, bad...))) {
					t.Errorf("window %d, insert %d, applied %t: %d rows of 37", window, n, applied, len(got))
				}
				again := len(s.tokens())
				if unique := len(slices.Compact(slices.Sorted(slices.Values(s.tokens())))); again-unique > 1 {
					t.Errorf("insert %d, applied %t: %d inserts of %d were repeats", n, applied, again-unique, again)
				}
				if last {
					break
				}
			}
		}
	}
}

func TestMoreBadRowsThanPoisonFailTheUnit(t *testing.T) {
	s := newServer(t, wide()...)
	s.events().refuses = poison(func(string) bool { return true })
	o := options(s)
	o.MaxRejected = 7
	opened := open(t, o)
	expect(t, opened.Write(t.Context(), block(0, 0, 1000)), failure.Unit, failure.SinkRejected, "more than 7 rows", "raise max_rejected", "code 469")
	if n := len(s.all()); n > 30 {
		t.Errorf("it took %d inserts", n)
	}
	if got := rejected(t, opened.Write(t.Context(), block(1, 0, 7))); len(got) != 7 {
		t.Errorf("%d rows", len(got))
	}
	expect(t, opened.Write(t.Context(), block(2, 0, 8)), failure.Unit, failure.SinkRejected, "more than 7 rows")
}

// Other cuts in a later version would insert what was inserted already.
func TestBlocksAreHalvedTheLongerHalfFirst(t *testing.T) {
	s := newServer(t, wide()...)
	s.events().refuses = badIDs(1, 4)
	b := block(0, 0, 5)
	checkRejected(t, open(t, options(s)).Write(t.Context(), b), []int{1, 4})
	var places []string
	for _, token := range s.tokens() {
		place, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(token, b.Token), "-"), "-")
		places = append(places, place)
	}
	if want := []string{"", "0.3", "0.2", "0.1", "1.2", "2.3", "3.5", "3.4", "4.5"}; !slices.Equal(places, want) {
		t.Errorf("inserts %q, want %q", places, want)
	}
}

func TestUnderFailNothingIsDivided(t *testing.T) {
	s := newServer(t, wide()...)
	s.events().refuses = badIDs(5)
	o := options(s)
	o.Rejected = clickhousesink.RejectFail
	expect(t, open(t, o).Write(t.Context(), block(0, 0, 10)), failure.Unit, failure.SinkRejected, "code 469", "rejected: skip")
	if n := len(s.all()); n != 1 || len(s.contents("db.events")) != 0 {
		t.Errorf("%d inserts, %d rows", n, len(s.contents("db.events")))
	}
}

// A table has its rows by the time that a view of it fails.
func TestWhatAViewRefusesIsNotSentUnderOtherTokens(t *testing.T) {
	view := fault{395, "Value passed to throwIf is non-zero: while pushing to view db.view"}
	refuse := func(string) *fault { return &view }
	s := newServer(t, wide()...)
	s.tables["db.view"] = &table{engine: "MaterializedView", create: "CREATE MATERIALIZED VIEW db.view TO db.target (`id` Int32) AS SELECT id FROM db.events"}
	s.tables["db.target"] = mergeTree(100, wide()...)
	s.events().views, s.events().refuses = []string{"view"}, refuse
	expect(t, open(t, options(s)).Write(t.Context(), block(0, 0, 10)), failure.Unit, failure.SinkRejected, "code 395", "view")
	if n := len(s.all()); n != 1 {
		t.Errorf("%d inserts", n)
	}
	s.events().engine = "Null" // which has none
	if got := rejected(t, open(t, options(s)).Write(t.Context(), block(0, 0, 10))); len(got) != 10 {
		t.Errorf("%d rows", len(got))
	}
	other := newServer(t, wide()...) // views are a replica's own
	other.tables = maps.Clone(s.tables)
	more := *s.events()
	more.views = []string{"view", "second"} // one of which may have
	other.tables["db.events"], other.tables["db.second"] = &more, s.tables["db.view"]
	o := options(s)
	replicas(&o, s, other)
	opened := open(t, o)
	if got := rejected(t, opened.Write(t.Context(), block(1, 0, 1))); len(got) != 1 {
		t.Errorf("%d rows", len(got))
	}
	expect(t, opened.Write(t.Context(), block(0, 0, 10)), failure.Unit, failure.SinkRejected, "b:8123", "fix the view")
}

// The texts of refused rows are memory that nobody has asked for.
func TestBadRowsThatAreLongAreFewer(t *testing.T) {
	s := newServer(t, column{"line", "String", ""})
	s.events().refuses = poison(func(string) bool { return true })
	o := options(s)
	o.Format = clickhousesink.JSONEachRow
	long := func(token string, rows, size int) *sink.Block {
		b := &sink.Block{Unit: unitID, Token: token, Rows: rows}
		for range rows {
			b.Data = append(append(append(b.Data, '{'), strings.Repeat("x", size)...), '\n')
			b.Ends = append(b.Ends, len(b.Data))
		}
		return b
	}
	opened := open(t, o)
	for _, b := range []*sink.Block{long("few", 2, 7<<20), long("one", 1, 20<<20)} {
		if got := rejected(t, opened.Write(t.Context(), b)); len(got) != b.Rows {
			t.Errorf("%s: %d rows", b.Token, len(got))
		}
	}
	expect(t, opened.Write(t.Context(), long("many", 3, 7<<20)), failure.Unit, failure.SinkRejected, "more than 16 MiB")
}

// A server takes [] and ; for no row, and two rows of an array: what is no object is
// not sent.
func TestALineThatIsNoObjectIsRejectedAndNotSent(t *testing.T) {
	all := []string{`{"line":"a"}`, "[]", ";", ` {"line":"b"}`, `[{"line":"c"}]`, "5"}
	for _, shards := range []int{1, 3} {
		o := clickhousesink.Options{Table: "db.events"}
		servers := cluster(t, &o, []int{1, 1, 1}[:shards]...)
		for _, s := range servers {
			s.events().columns = []column{{"line", "String", ""}}
		}
		o.Format = clickhousesink.JSONEachRow
		b := &sink.Block{Unit: unitID, Token: "token", Rows: len(all), Data: []byte(strings.Join(all, "\n"))}
		var tokens, rows []string
		for range 2 {
			var bad []int
			for _, r := range rejected(t, open(t, o).Write(t.Context(), b)) {
				if bad = append(bad, r.Index); string(r.Text) != all[r.Index] || r.Detail != "it is not a JSON object" {
					t.Errorf("row %d is %q: %s", r.Index, r.Text, r.Detail)
				}
			}
			if !slices.Equal(bad, []int{1, 2, 4, 5}) {
				t.Errorf("rows %v were rejected", bad)
			}
		}
		for _, s := range servers {
			tokens, rows = append(tokens, s.tokens()...), append(rows, s.contents("db.events")...)
		}
		if !slices.Equal(rows, []string{"a", "b"}) || len(tokens) != 2 || tokens[0] != tokens[1] || tokens[0] == b.Token {
			t.Errorf("rows %q under tokens %q", rows, tokens)
		}
		none := &sink.Block{Unit: unitID, Token: "none", Rows: 1, Data: []byte("[]\n")}
		if got := rejected(t, open(t, o).Write(t.Context(), none)); len(got) != 1 {
			t.Errorf("%d rows", len(got))
		}
		for _, s := range servers {
			for _, token := range s.tokens() {
				if !slices.Contains(tokens, token) {
					t.Errorf("no rows were sent under %q", token)
				}
			}
		}
		o.Rejected = clickhousesink.RejectFail
		expect(t, open(t, o).Write(t.Context(), b), failure.Unit, failure.SinkRejected, "row 1 of token: it is not a JSON object", "rejected: skip")
	}
}

// Nobody but who made them can mend rows that are none, and no repeat does.
func TestRowsThatAreNotThoseOfTheColumnsFailTheirUnit(t *testing.T) {
	h := httptest.NewServer(newServer(t, wide()...))
	defer h.Close()
	o := clickhousesink.Options{Shards: []clickhousesink.Shard{{Replicas: []string{h.URL}}}, Table: "db.events", Format: clickhousesink.Native}
	b := block(0, 0, 3)
	b.Data[4] = 0x7F // the length of a name
	expect(t, open(t, o).Write(t.Context(), b), failure.Unit, failure.SinkRejected, "its bytes are not those of its columns")
}

func TestABlockMadeByHandIsDividedToo(t *testing.T) {
	for _, format := range []clickhousesink.Format{clickhousesink.RowBinary, clickhousesink.JSONEachRow} {
		s := newServer(t, column{"line", "String", ""})
		s.events().refuses = poison(func(row string) bool { return row == "b" })
		o := options(s)
		o.Format = format
		b := &sink.Block{Unit: unitID, Token: "token", Rows: 3, Data: []byte("\x01a\x01b\x01c")}
		if format == clickhousesink.JSONEachRow {
			b.Data = []byte("{\"line\":\"a\"}\n{\"line\":\"b\"}\n{\"line\":\"c\"}") // the last line ends with the block
		}
		got := rejected(t, open(t, o).Write(t.Context(), b))
		if len(got) != 1 || got[0].Index != 1 {
			t.Errorf("%s: %+v", format, got)
		}
		b.Rows = 4
		expect(t, open(t, o).Write(t.Context(), b), failure.Unit, failure.SinkRejected, "3 rows, not 4")
	}
	s := newServer(t, wide()...)
	b := &sink.Block{Unit: unitID, Token: "token", Rows: 1, Data: []byte("\x01\x02")}
	if err := open(t, options(s)).Write(t.Context(), b); !failure.Is(err, failure.Unit) || errors.Is(err, &sink.Rejected{}) {
		t.Errorf("got %v", err)
	}
}

// A message may be long, and says at its end that it is a view's.
func TestAViewIsTheOneThatRefusedHoweverLongItsMessage(t *testing.T) {
	s := newServer(t, wide()...)
	s.view("v", "db.target", mergeTree(100, wide()...))
	s.events().refuses = func(string) *fault {
		return &fault{469, "Constraint `c` for table db.target is violated at row 1. Column values: " + strings.Repeat("name = 'yyyy', ", 600) + ": while pushing to view db.v"}
	}
	expect(t, open(t, options(s)).Write(t.Context(), block(0, 0, 10)), failure.Unit, failure.SinkRejected, "a materialized view failed")
	if n := len(s.all()); n != 1 {
		t.Errorf("%d inserts", n)
	}
}

// By the time that one shard refuses a row, others may have theirs.
func TestThroughADistributedTableNothingIsDivided(t *testing.T) {
	s := newServer(t, wide()...)
	s.events().engine, s.events().refuses = "Distributed", badIDs(5)
	expect(t, open(t, options(s)).Write(t.Context(), block(0, 0, 10)), failure.Unit, failure.SinkRejected, "code 469", "name the shards")
	if n := len(s.all()); n != 1 {
		t.Errorf("%d inserts", n)
	}
}
