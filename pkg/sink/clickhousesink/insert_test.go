package clickhousesink_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/clickhousesink"
)

func TestABlockIsOneInsertThatSaysWhatItsAckMeans(t *testing.T) {
	s := newServer(t, append(wide(), column{"odd `name\\", "UInt64", "DEFAULT"})...)
	o := options(s)
	o.Columns, o.User, o.Password, o.MaxRows, o.Quorum = []string{"id", "name"}, "writer", "sesame", 5000, "auto"
	o.Settings = map[string]string{"max_threads": "3"}
	b := block(0, 0, 1000)
	write(t, open(t, o), b)
	got := s.all()
	if len(got) != 1 || len(got[0].rows) != 1000 {
		t.Fatalf("%d inserts", len(got))
	}
	i := got[0]
	if want := "INSERT INTO `db`.`events` (`id`, `name`) FORMAT RowBinaryWithNamesAndTypes"; i.sql != want {
		t.Errorf("got %s, want %s", i.sql, want)
	}
	for name, want := range map[string]string{
		"insert_deduplication_token": b.Token, "insert_deduplicate": "1", "wait_end_of_query": "1", "async_insert": "0",
		"deduplicate_blocks_in_dependent_materialized_views": "1", "deduplicate_insert": "enable",
		"max_insert_block_size": "5000", "min_insert_block_size_rows": "5000", "min_insert_block_size_bytes": "0",
		"max_insert_block_size_bytes": "0", "input_format_max_block_size_bytes": "0", "input_format_with_types_use_header": "1",
		"insert_distributed_sync": "1", "insert_quorum": "auto", "insert_quorum_timeout": "135000", "max_threads": "3", "materialized_views_ignore_errors": "0",
	} {
		if got := i.parameters.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if i.header.Get("X-ClickHouse-User") != "writer" || i.header.Get("X-ClickHouse-Key") != "sesame" {
		t.Errorf("header %v", i.header)
	}
	if head := "\x02\x02id\x04name\x05Int32\x06String"; i.body != head+string(b.Data) {
		t.Errorf("the body begins with %.40q", i.body)
	}
}

func TestNamesAreQuoted(t *testing.T) {
	s := newServer(t)
	s.tables["db.events"].columns = []column{{"id", "Int32", ""}, {"na`me\\", "String", ""}}
	s.script = func(_ int, r *http.Request) step {
		if sql := r.URL.Query().Get("query"); !strings.Contains(sql, "(`id`, `na\\`me\\\\`)") {
			t.Errorf("got %s", sql)
		}
		return step{before: func(http.ResponseWriter, *http.Request) {}}
	}
	write(t, open(t, options(s)), block(0, 0, 1))
}

func TestServersGetOnlySettingsThatTheyKnow(t *testing.T) {
	s := newServer(t, wide()...)
	s.knows = []string{"insert_deduplicate", "max_insert_block_size", "min_insert_block_size_rows", "min_insert_block_size_bytes"}
	opened := open(t, options(s))
	write(t, opened, block(0, 0, 10)) // else the server refuses it
	if i := s.all()[0]; i.err != nil || !strings.HasSuffix(i.sql, "FORMAT RowBinary") || i.token != "" {
		t.Errorf("%s, token %q: %v", i.sql, i.token, i.err)
	}
	finds(t, opened, true, "does not support deduplication tokens")
	finds(t, opened, false, "change no column's type")
}

func TestFormatsAndCompressionsArriveAlike(t *testing.T) {
	for _, format := range []clickhousesink.Format{clickhousesink.RowBinary, clickhousesink.Native} {
		for _, c := range []clickhousesink.Compression{clickhousesink.None, clickhousesink.Gzip, clickhousesink.Zstd, clickhousesink.LZ4} {
			for _, level := range []int{0, 3} {
				if level > 0 && (c == clickhousesink.None || c == clickhousesink.LZ4) {
					continue
				}
				t.Run(fmt.Sprintf("%s %s %d", format, c, level), func(t *testing.T) {
					s := newServer(t, wide()...)
					o := options(s)
					o.Format, o.Compression, o.Level = format, c, level
					opened := open(t, o)
					for segment := range 2 { // the second with what the first has left
						write(t, opened, block(segment, 66_000*segment, 66_000+10*segment))
					}
					got, want := s.contents("db.events"), texts(0, 66_010)
					if len(got) != len(want) || strings.Join(got, "") != strings.Join(want, "") {
						t.Errorf("%d rows, want %d", len(got), len(want))
					}
					if body := s.all()[0].body; c != clickhousesink.None && len(body) > 800_000 {
						t.Errorf("%d bytes", len(body))
					}
				})
			}
		}
	}
}

// A block is admitted to memory; what an insert holds beside it is not, so it is
// little whatever the rows are (INV-6).
func TestAnInsertHoldsLittleBesideItsBlock(t *testing.T) {
	for name, v := range map[string]struct {
		columns []column
		block   *sink.Block
	}{
		"short rows":           {wide(), named(400_000, 100)},
		"long rows":            {wide(), named(1000, 60_000)},
		"NULL of long text":    {[]column{{"v", "Nullable(FixedString(1000))", ""}}, repeated([]byte{1}, 60_000)},
		"arrays of such NULLs": {[]column{{"v", "Array(Nullable(FixedString(1000)))", ""}}, repeated([]byte{3, 1, 1, 1}, 20_000)},
	} {
		for _, format := range []clickhousesink.Format{clickhousesink.RowBinary, clickhousesink.Native} {
			for _, c := range []clickhousesink.Compression{clickhousesink.None, clickhousesink.Gzip, clickhousesink.Zstd, clickhousesink.LZ4} {
				s := newServer(t, v.columns...)
				s.script = func(int, *http.Request) step {
					return step{before: func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }}
				}
				o := options(s)
				o.Format, o.Compression = format, c
				opened := open(t, o)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				write(t, opened, v.block)
				runtime.ReadMemStats(&after)
				if n := after.TotalAlloc - before.TotalAlloc; n > 12<<20 {
					t.Errorf("%s, %s, %s: %d bytes for a block of %d", name, format, c, n, len(v.block.Data))
				}
			}
		}
	}
}

// named makes rows of wide columns whose names have so many bytes.
func named(rows, size int) *sink.Block {
	row := binary.AppendUvarint([]byte{1, 0, 0, 0}, uint64(size))
	return repeated(append(row, strings.Repeat("0123456789", size/10)...), rows)
}

func repeated(row []byte, rows int) *sink.Block {
	b := &sink.Block{Unit: unitID, Token: "token", Rows: rows, Data: bytes.Repeat(row, rows)}
	for i := range rows {
		b.Ends = append(b.Ends, (i+1)*len(row))
	}
	return b
}

// An answer counts when it is whole and says nothing.
func TestOnlyAWholeEmptyAnswerIsAnAck(t *testing.T) {
	exception := "Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED) (version 26.9)"
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"an exception in the body under status 200": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, exception) }, "code 241: Memory limit exceeded"},
		"an exception behind other text": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "1\t2\n__exception__\r\ntag\r\n"+exception)
		}, "code 241"},
		"an exception in a header under status 200": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-ClickHouse-Exception-Code", "241") }, "code 241"},
		"an exception in a trailer":                 {trailer, "code 241"},
		"an exception that the status tells":        {func(w http.ResponseWriter, _ *http.Request) { refuse(w, 500, fault{241, "Memory"}) }, "code 241: Memory"},
		"an exception of an old server": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			_, _ = io.WriteString(w, "Code: 241, e.displayText() = DB::Exception: Memory, e.what() = DB::Exception\n")
		}, "code 241: Memory"},
		"a page of somebody else":          {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>hello</html>") }, "<html>"},
		"an empty answer of somebody else": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Del("X-ClickHouse-Query-Id") }, "not ClickHouse's"},
		"a server that is away":            {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, "status 503"},
		"too many requests":                {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, "status 429"},
		"an answer that is cut":            {cut, "the answer is cut"},
		"a connection that ends":           {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, wide()...)
			h := httptest.NewUnstartedServer(s)
			h.Config.ErrorLog = log.New(io.Discard, "", 0)
			h.Start()
			defer h.Close()
			s.script = func(n int, _ *http.Request) step {
				if n == 1 {
					return step{after: c.answer}
				}
				return step{}
			}
			o := options(s)
			o.Shards, o.Transport = []clickhousesink.Shard{{Replicas: []string{h.URL}}}, nil
			opened := open(t, o)
			expect(t, opened.Write(t.Context(), block(0, 0, 10)), failure.Transient, failure.RetriesExhausted, c.says, "db.events", strings.TrimPrefix(h.URL, "http://"))
			write(t, opened, block(0, 0, 10))
			if got := s.contents("db.events"); len(got) != 10 {
				t.Errorf("%d rows", len(got))
			}
		})
	}
}

func trailer(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Trailer", "X-ClickHouse-Exception-Code")
	w.WriteHeader(200)
	w.(http.Flusher).Flush()
	w.Header().Set("X-ClickHouse-Exception-Code", "241")
}

func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "10")
	_, _ = io.WriteString(w, "\n")
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func TestAServerThatAnswersTooLateIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, wide()...)
		s.script = func(n int, _ *http.Request) step {
			if n == 1 {
				return step{after: hangs} // it has the rows, and the client has gone
			}
			return step{}
		}
		opened := open(t, options(s))
		start := time.Now()
		expect(t, opened.Write(t.Context(), block(0, 0, 10)), failure.Transient, failure.RetriesExhausted, "no answer within", "deadline exceeded")
		if d := time.Since(start); d != 3*time.Minute {
			t.Errorf("it took %v", d)
		}
		write(t, opened, block(0, 0, 10))
		if got := s.contents("db.events"); len(got) != 10 {
			t.Errorf("%d rows", len(got))
		}
	})
}

func TestAStopIsNoFaultOfTheServer(t *testing.T) {
	s := newServer(t, wide()...)
	ctx, cancel := context.WithCancel(t.Context())
	s.script = func(int, *http.Request) step { cancel(); return step{before: hangs} }
	err := open(t, options(s)).Write(ctx, block(0, 0, 10))
	if !errors.Is(err, context.Canceled) || failure.Marked(err) {
		t.Errorf("got %v", err)
	}
}

// A transport may read a body after it has failed its request. By then the rows
// are the caller's again.
func TestABodyIsNotReadOnceItsRequestHasFailed(t *testing.T) {
	for _, c := range []clickhousesink.Compression{clickhousesink.None, clickhousesink.LZ4} {
		for _, f := range []clickhousesink.Format{clickhousesink.RowBinary, clickhousesink.Native} {
			s := newServer(t, wide()...)
			o := options(s)
			late := &late{trip: s.transport(), started: make(chan struct{}), ended: make(chan int, 1)}
			o.Transport, o.Compression, o.Format = late, c, f
			b := block(0, 0, 200_000)
			if err := open(t, o).Write(t.Context(), b); err == nil {
				t.Error("no error")
			}
			for i := range b.Data {
				b.Data[i] = '#' // the race detector looks on
			}
			close(late.started)
			if n := <-late.ended; n > 0 {
				t.Errorf("%d bytes were read", n)
			}
		}
	}
}

// late fails inserts, and reads their bodies after that.
type late struct {
	trip
	started chan struct{}
	ended   chan int
}

func (l *late) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.URL.Query().Get("query"), "INSERT") {
		return l.trip.RoundTrip(r)
	}
	go func() {
		<-l.started
		n, _ := io.Copy(io.Discard, r.Body)
		l.ended <- int(n)
	}()
	return nil, io.ErrUnexpectedEOF
}

// A transport may be at a piece of a body while its request fails: the next
// insert must not be made in the same memory.
func TestAPieceStaysAsItIsWhileAConnectionTakesIt(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // what goes into a pool comes out next
	none := clickhousesink.None
	for _, c := range []clickhousesink.Compression{none, none, none, clickhousesink.Gzip, clickhousesink.Zstd, clickhousesink.LZ4} {
		s := newServer(t, wide()...)
		o := options(s)
		stuck := &stuck{trip: s.transport(), taking: make(chan struct{}), on: make(chan struct{}), same: make(chan bool, 1)}
		o.Transport, o.Compression, o.Format = stuck, c, clickhousesink.Native
		opened := open(t, o)
		if err := opened.Write(t.Context(), block(0, 0, 50_000)); err == nil {
			t.Errorf("%s: no error", c)
		}
		write(t, opened, block(1, 50_000, 80_000))
		close(stuck.on)
		if !<-stuck.same {
			t.Errorf("%s: the piece changed", c)
		}
	}
}

// stuck fails the first insert once a piece of it is being taken, which it is
// until on is closed.
type stuck struct {
	trip
	taking, on chan struct{}
	same       chan bool
	failed     bool
}

func (s *stuck) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.failed || !strings.HasPrefix(r.URL.Query().Get("query"), "INSERT") {
		return s.trip.RoundTrip(r)
	}
	s.failed = true
	go func() { _, _ = io.Copy(s, r.Body) }()
	<-s.taking
	return nil, io.ErrUnexpectedEOF
}

func (s *stuck) Write(p []byte) (int, error) {
	was := bytes.Clone(p)
	close(s.taking)
	<-s.on
	s.same <- bytes.Equal(p, was)
	return 0, io.ErrClosedPipe
}

func TestAsyncInsertsWaitAndAreAskedPlainlyWhoseRowWasRefused(t *testing.T) {
	s := newServer(t, wide()...)
	s.script = func(n int, r *http.Request) step {
		if n == 2 { // the flush held somebody else's poison
			return step{before: refusing(469, "Constraint is violated")}
		}
		return step{}
	}
	o := options(s)
	o.AsyncInsert = clickhousesink.AsyncWait
	opened := open(t, o)
	write(t, opened, block(0, 0, 10))
	write(t, opened, block(1, 10, 20))
	got := s.all()
	if len(got) != 2 || got[0].parameters.Get("async_insert") != "1" || got[0].parameters.Get("wait_for_async_insert") != "1" ||
		got[0].parameters.Get("deduplicate_blocks_in_dependent_materialized_views") != "0" {
		t.Fatalf("%d inserts, the first %v", len(got), got[0].parameters)
	}
	if p := got[1].parameters; p.Get("async_insert") != "0" || got[1].token != block(1, 10, 20).Token {
		t.Errorf("the second was repeated as %v", p)
	}
	finds(t, opened, false, "async_insert")
}

func finds(t *testing.T, s *clickhousesink.Sink, warning bool, text string) {
	t.Helper()
	for _, f := range s.Description().Findings {
		if f.Warning == warning && strings.Contains(f.Text, text) {
			return
		}
	}
	t.Errorf("nothing says %q in %+v", text, s.Description().Findings)
}

var _ sink.Sink = (*clickhousesink.Sink)(nil)
