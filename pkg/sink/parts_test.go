package sink_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/sink"
)

type part struct {
	number, rows int
	data         string
}

func cut(t *testing.T, rows []string, l sink.Limits) []part {
	t.Helper()
	var data []byte
	var ends []int
	for _, r := range rows {
		data = append(data, r...)
		ends = append(ends, len(data))
	}
	var parts []part
	if err := sink.Parts(data, ends, l, func(b sink.Block) error {
		parts = append(parts, part{b.Part, b.Rows, string(b.Data)})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return parts
}

func TestParts(t *testing.T) {
	five := []string{"a", "bb", "ccc", "dddd", "e"}
	for _, c := range []struct {
		name string
		rows []string
		l    sink.Limits
		want []part
	}{
		{"without limits a block is one part", five, sink.Limits{}, []part{{0, 5, "abbcccdddde"}}},
		{"no rows are no part", nil, sink.Limits{Rows: 1}, nil},
		{"a block at its limits is whole", five, sink.Limits{Rows: 5, Bytes: 11}, []part{{0, 5, "abbcccdddde"}}},
		{"one row over: halves, the longer first", five, sink.Limits{Rows: 4}, []part{{0, 3, "abbccc"}, {1, 2, "dddde"}}},
		{"one byte over: halves by rows", five, sink.Limits{Bytes: 10}, []part{{0, 3, "abbccc"}, {1, 2, "dddde"}}},
		{"halves are halved until they fit", five, sink.Limits{Rows: 2}, []part{{0, 2, "abb"}, {1, 1, "ccc"}, {2, 2, "dddde"}}},
		{"a row over the byte limit stands alone", five, sink.Limits{Bytes: 3},
			[]part{{0, 2, "abb"}, {1, 1, "ccc"}, {2, 1, "dddd"}, {3, 1, "e"}}},
		{"empty rows count", []string{"", "", ""}, sink.Limits{Rows: 2}, []part{{0, 2, ""}, {1, 1, ""}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := cut(t, c.rows, c.l); !slices.Equal(got, c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
		})
	}
	t.Run("an error of yield ends it", func(t *testing.T) {
		calls, stop := 0, errors.New("stop")
		err := sink.Parts([]byte("abcd"), []int{1, 2, 3, 4}, sink.Limits{Rows: 1}, func(sink.Block) error {
			if calls++; calls == 2 {
				return stop
			}
			return nil
		})
		if err != stop || calls != 2 {
			t.Fatalf("%v after %d calls", err, calls)
		}
	})
	t.Run("appending to a part leaves the next one alone", func(t *testing.T) {
		data := []byte("abcd")
		_ = sink.Parts(data, []int{1, 2, 3, 4}, sink.Limits{Rows: 2}, func(b sink.Block) error {
			_ = append(b.Data, '#')
			return nil
		})
		if string(data) != "abcd" {
			t.Fatalf("data is %q", data)
		}
	})
}

func TestPartsKeepEveryRowInOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 500 {
		rows := make([]string, r.IntN(60))
		for i := range rows {
			rows[i] = string(bytes.Repeat([]byte{byte('a' + i%26)}, r.IntN(12)))
		}
		l := sink.Limits{Rows: r.IntN(8), Bytes: int64(r.IntN(40))}
		parts, next := cut(t, rows, l), 0
		for i, p := range parts {
			want := ""
			for _, row := range rows[next : next+p.rows] {
				want += row
			}
			next += p.rows
			over := l.Rows > 0 && p.rows > l.Rows || l.Bytes > 0 && int64(len(p.data)) > l.Bytes
			if p.number != i || p.data != want || p.rows == 0 || over && p.rows > 1 {
				t.Fatalf("part %d of %q under %+v is %+v", i, rows, l, p)
			}
		}
		if next != len(rows) {
			t.Fatalf("%d of %d rows under %+v", next, len(rows), l)
		}
		if again := cut(t, rows, l); !slices.Equal(again, parts) {
			t.Fatalf("%v, and again %v", parts, again)
		}
	}
}

func TestToken(t *testing.T) {
	t.Run("it names unit, sink, place and bytes", func(t *testing.T) {
		got := sink.Token("s3-xje_MfL-wSNqMCft5ellCg", "main", 1, 22, 3, []byte("a"))
		if want := "s3-xje_MfL-wSNqMCft5ellCg-main-1.22.3-d24ec4f1a98c6e5b"; got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
	t.Run("different blocks have different tokens, equal ones equal", func(t *testing.T) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		of := map[string]string{}
		for range 50_000 {
			u := unitIDs[r.IntN(len(unitIDs))]
			name := []string{"a", "a-1", "a-1.2", "1", ""}[r.IntN(5)]
			series, segment, n := r.IntN(12), r.IntN(12), r.IntN(12)
			data := []byte(fmt.Sprint(r.IntN(100)))
			block := fmt.Sprintf("%q %q %d %d %d %q", u, name, series, segment, n, data)
			token := sink.Token(u, name, series, segment, n, data)
			if other, ok := of[token]; ok && other != block {
				t.Fatalf("%s names %s and %s", token, block, other)
			}
			of[token] = block
			if hash := token[strings.LastIndexByte(token, '-')+1:]; len(hash) != 16 {
				t.Fatalf("the hash in %s has not 16 digits", token)
			}
			if token != sink.Token(u, name, series, segment, n, bytes.Clone(data)) {
				t.Fatalf("%s has two tokens", block)
			}
		}
	})
}

func TestTokensKnowWhatWasAddedAndNothingElse(t *testing.T) {
	var s sink.Tokens
	if s.Has("a") || s.Has("") {
		t.Fatal("an empty set has a token")
	}
	s.Add("a")
	s.Add("a")
	if !s.Has("a") || s.Has("b") || s.Has("") {
		t.Fatal("a set of a is not")
	}
}
