package capturesink_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/capturesink"
	"github.com/spate-go/spate/pkg/sink/sinktest"
)

func TestCapture(t *testing.T) {
	for _, dedup := range []bool{false, true} {
		t.Run(fmt.Sprintf("dedup %v", dedup), func(t *testing.T) {
			sinktest.Run(t, sinktest.Harness{
				Dedup:  dedup,
				Poison: "poison",
				New: func(t *testing.T) (sink.Sink, func() []byte) {
					s := capturesink.New(capturesink.Options{Dedup: dedup, Violation: t.Errorf, Refuses: refusesPoison})
					return s, s.Bytes
				},
				Broken: func(*testing.T) sink.Sink {
					return capturesink.New(capturesink.Options{Script: capturesink.Always(capturesink.Fatal)})
				},
			})
		})
	}
}

func refusesPoison(row []byte) string {
	if string(row) == "poison\n" {
		return "it is poison"
	}
	return ""
}

func block(segment int, rows string) *sink.Block {
	data := []byte(rows)
	return &sink.Block{
		Unit: "u", Segment: segment, Token: sink.Token("u", "test", 0, segment, 0, data),
		Rows: strings.Count(rows, "\n"), Data: data,
	}
}

func TestScripts(t *testing.T) {
	type o = capturesink.Outcome
	const ok, again, lost, refused, fatal, down = capturesink.OK, capturesink.Retryable, capturesink.Lost,
		capturesink.Refused, capturesink.Fatal, capturesink.Down
	for _, c := range []struct {
		name   string
		script capturesink.Script
		want   []o
	}{
		{"no script acks everything", nil, []o{ok, ok, ok}},
		{"steps are played in turn", capturesink.Steps(again, ok, fatal), []o{again, ok, fatal, ok}},
		{"always is for each call", capturesink.Always(refused), []o{refused, refused}},
		{"once is for one call", capturesink.Once(1, lost), []o{ok, lost, ok}},
		{"after is for all later calls", capturesink.After(2, down), []o{ok, ok, down, down}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := capturesink.New(capturesink.Options{Script: c.script})
			for i, want := range c.want {
				err := s.Write(t.Context(), block(i, "a\n"))
				if got := s.Calls()[i].Outcome; got != want || (err == nil) != (want == ok) {
					t.Fatalf("call %d: %v and %v, want %v", i, got, err, want)
				}
			}
		})
	}
	for outcome, want := range map[o]struct {
		scope   failure.Scope
		reason  failure.Reason
		applied int
	}{
		again:   {failure.Transient, failure.RetriesExhausted, 0},
		lost:    {failure.Transient, failure.RetriesExhausted, 1},
		refused: {failure.Unit, failure.SinkRejected, 0},
		fatal:   {failure.Job, failure.Denied, 0},
		down:    {failure.Job, failure.SinkDown, 0},
	} {
		t.Run(fmt.Sprintf("outcome %d is marked and applies or not", outcome), func(t *testing.T) {
			s := capturesink.New(capturesink.Options{Script: capturesink.Always(outcome)})
			err := s.Write(t.Context(), block(0, "a\n"))
			if scope, reason := failure.Of(err); err == nil || scope != want.scope || reason != want.reason {
				t.Errorf("%v is %v, %v", err, scope, reason)
			}
			if got := len(s.Rows()); got != want.applied {
				t.Errorf("%d rows, want %d", got, want.applied)
			}
			if err := s.Commit(t.Context(), "v", 0); !failure.Is(err, want.scope) {
				t.Errorf("commit: %v", err)
			}
		})
	}
	t.Run("an ended context is not a call", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := capturesink.New(capturesink.Options{})
		if err := s.Write(ctx, block(0, "a\n")); !errors.Is(err, context.Canceled) || len(s.Calls()) != 0 {
			t.Fatalf("%v after %d calls", err, len(s.Calls()))
		}
	})
}

func TestRowsAreReadBackAsTheyWereApplied(t *testing.T) {
	s := capturesink.New(capturesink.Options{Dedup: true, Script: capturesink.Once(1, capturesink.Lost)})
	write := func(b *sink.Block) { _ = s.Write(t.Context(), b) }
	write(block(0, "a\nb\n"))
	write(block(1, "b\n")) // its answer is lost
	write(block(1, "b\n"))
	other := block(0, "c\n")
	other.Unit, other.Series, other.Token = "v", 2, "other"
	write(other)
	if got := s.Open(); !slices.Equal(got, []capturesink.Series{{"u", 0}, {"v", 2}}) {
		t.Errorf("open: %v", got)
	}
	for range 2 {
		if err := s.Commit(t.Context(), "u", 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Open(); !slices.Equal(got, []capturesink.Series{{"v", 2}}) {
		t.Errorf("open: %v", got)
	}
	if got := s.Committed(); !slices.Equal(got, []capturesink.Series{{"u", 0}}) {
		t.Errorf("committed: %v", got)
	}
	if got := s.Rows(); !slices.Equal(got, []string{"a", "b", "b", "c"}) {
		t.Errorf("rows: %q", got)
	}
	if got := s.RowsOf("v"); !slices.Equal(got, []string{"c"}) {
		t.Errorf("rows of v: %q", got)
	}
	if got := s.Counts(); len(got) != 3 || got["b"] != 2 {
		t.Errorf("counts: %v", got)
	}
	applied := 0
	for _, c := range s.Calls() {
		if c.Applied {
			applied++
		}
	}
	if len(s.Calls()) != 6 || applied != 3 {
		t.Errorf("%d calls, %d applied", len(s.Calls()), applied)
	}
}

func TestRepeatsAreKeptWithoutDedup(t *testing.T) {
	s := capturesink.New(capturesink.Options{})
	for range 2 {
		if err := s.Write(t.Context(), block(0, "a\n")); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Counts()["a"]; got != 2 {
		t.Fatalf("the row counts %d times, want 2", got)
	}
}

func TestViolations(t *testing.T) {
	with := func(change func(*sink.Block)) *sink.Block {
		b := block(0, "a\n")
		change(b)
		return b
	}
	for _, c := range []struct {
		name string
		do   func(context.Context, *capturesink.Sink)
		want string // "" for none
	}{
		{"a plain delivery", func(ctx context.Context, s *capturesink.Sink) {
			_ = s.Write(ctx, block(0, "a\n"))
			_ = s.Write(ctx, block(1, "b\n"))
			_ = s.Commit(ctx, "u", 0)
		}, ""},
		{"a redelivery after the commit", func(ctx context.Context, s *capturesink.Sink) {
			_ = s.Write(ctx, block(0, "a\n"))
			_ = s.Commit(ctx, "u", 0)
			_ = s.Write(ctx, block(0, "a\n"))
			_ = s.Commit(ctx, "u", 0)
		}, ""},
		{"a write after Close", func(ctx context.Context, s *capturesink.Sink) {
			_ = s.Close()
			_ = s.Write(ctx, block(0, "a\n"))
		}, "write of unit u after Close"},
		{"a commit after Close", func(ctx context.Context, s *capturesink.Sink) {
			_ = s.Close()
			_ = s.Commit(ctx, "u", 0)
		}, "commit of unit u after Close"},
		{"a token with other bytes", func(ctx context.Context, s *capturesink.Sink) {
			_ = s.Write(ctx, block(0, "a\n"))
			_ = s.Write(ctx, with(func(b *sink.Block) { b.Data = []byte("b\n") }))
		}, "came again"},
		{"a token in another place", func(ctx context.Context, s *capturesink.Sink) {
			_ = s.Write(ctx, block(0, "a\n"))
			_ = s.Write(ctx, with(func(b *sink.Block) { b.Segment = 1 }))
		}, "came again"},
		{"a token with another number of rows", func(ctx context.Context, s *capturesink.Sink) {
			_ = s.Write(ctx, block(0, "a\n"))
			_ = s.Write(ctx, with(func(b *sink.Block) { b.Rows = 2 }))
		}, "came again"},
		{"no token", func(ctx context.Context, s *capturesink.Sink) {
			_ = s.Write(ctx, with(func(b *sink.Block) { b.Token = "" }))
		}, "has no token"},
		{"a commit over a block that was not acked", func(ctx context.Context, s *capturesink.Sink) {
			_ = s.Write(ctx, block(0, "fail\n"))
			_ = s.Commit(ctx, "u", 0)
		}, "was not acked"},
		{"a commit over a block that was acked in the end", func(ctx context.Context, s *capturesink.Sink) {
			_ = s.Write(ctx, block(0, "fail\n"))
			_ = s.Write(ctx, block(1, "a\n"))
			_ = s.Commit(ctx, "u", 0)
		}, ""},
		{"a commit of another series than the one that failed", func(ctx context.Context, s *capturesink.Sink) {
			_ = s.Write(ctx, block(0, "fail\n"))
			_ = s.Commit(ctx, "u", 1)
		}, ""},
		{"too many rows", func(ctx context.Context, s *capturesink.Sink) {
			_ = s.Write(ctx, block(0, "a\nb\nc\nd\n"))
		}, "over the limits"},
		{"too many bytes", func(ctx context.Context, s *capturesink.Sink) {
			_ = s.Write(ctx, block(0, "aaaaaaaa\nb\n"))
		}, "over the limits"},
		{"one long row", func(ctx context.Context, s *capturesink.Sink) {
			_ = s.Write(ctx, block(0, "aaaaaaaaaaaaaaaa\n"))
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			s := capturesink.New(capturesink.Options{
				Limits:    sink.Limits{Rows: 3, Bytes: 10},
				Violation: func(format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) },
				Script: func(_ int, c capturesink.Call) capturesink.Outcome {
					if string(c.Block.Data) == "fail\n" {
						return capturesink.Retryable
					}
					return capturesink.OK
				},
			})
			c.do(t.Context(), s)
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("reported: %q", got)
			case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
				t.Errorf("reported %q, want one that says %q", got, c.want)
			}
		})
	}
	t.Run("overlapping calls of one unit, and Close over them", func(t *testing.T) {
		var got []string
		began, end := make(chan struct{}), make(chan struct{})
		s := capturesink.New(capturesink.Options{
			Violation: func(format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) },
			Script: func(n int, _ capturesink.Call) capturesink.Outcome {
				if n == 1 {
					close(began)
					<-end
				}
				return capturesink.OK
			},
		})
		done := make(chan error)
		go func() { done <- s.Write(t.Context(), block(0, "a\n")) }()
		<-began
		other := block(0, "b\n")
		other.Unit, other.Token = "v", "other"
		_ = s.Write(t.Context(), other)
		if len(got) != 0 {
			t.Errorf("another unit's call: %q", got)
		}
		_ = s.Close()
		_ = s.Write(t.Context(), block(1, "b\n"))
		close(end)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if len(got) != 3 || !strings.Contains(got[0], "close while") || !strings.Contains(got[2], "another call") {
			t.Errorf("reported: %q", got)
		}
	})
	t.Run("rows that do not end where the block does", func(t *testing.T) {
		for name, c := range map[string]struct {
			ends []int
			want int
		}{"right": {[]int{12, 14}, 0}, "too few": {[]int{14}, 1}, "elsewhere": {[]int{12, 15}, 1}} {
			n := 0
			s := capturesink.New(capturesink.Options{Violation: func(string, ...any) { n++ }})
			b := block(0, "a\nb\n")
			b.Ends, b.Base = c.ends, 10
			if err := s.Write(t.Context(), b); err != nil || n != c.want {
				t.Errorf("%s: %v, %d violations", name, err, n)
			}
		}
	})
	t.Run("without a callback a violation panics", func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("it did not")
			}
		}()
		s := capturesink.New(capturesink.Options{})
		_ = s.Close()
		_ = s.Write(t.Context(), block(0, "a\n"))
	})
}

func TestRefusedRowsAreNamedAndNotApplied(t *testing.T) {
	b := block(0, "a\npoison\nb\npoison\n")
	b.Ends = []int{2, 9, 11, 18}
	s := capturesink.New(capturesink.Options{Dedup: true, Refuses: refusesPoison, Script: capturesink.Steps(capturesink.Retryable, capturesink.Lost)})
	if !s.Limits().Rejects {
		t.Error("the limits do not say that rows are refused")
	}
	for i, applied := range []string{"", "a\nb\n", "a\nb\n", "a\nb\n"} {
		err := s.Write(t.Context(), b)
		r, ok := errors.AsType[*sink.Rejected](err)
		if ok != (i > 1) || string(s.Bytes()) != applied {
			t.Fatalf("call %d: %v, %q", i+1, err, s.Bytes())
		}
		if !ok {
			continue
		}
		if len(r.Rows) != 2 || r.Rows[1].Index != 3 || string(r.Rows[1].Text) != "poison" || r.Rows[1].Detail != "it is poison" {
			t.Errorf("refused %+v", r.Rows)
		}
		if c := s.Calls()[i]; !slices.Equal(c.Refused, []int{1, 3}) || string(c.Block.Data) != string(b.Data) {
			t.Errorf("call %+v", c)
		}
	}
	if got := s.RowsOf("u"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("rows %q", got)
	}
}
