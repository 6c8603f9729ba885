package sink_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
)

func TestEveryPartKnowsItsRows(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		var data []byte
		var rows [][]byte
		var ends []int
		for i := range 1 + r.IntN(40) {
			row := bytes.Repeat([]byte{byte('a' + i%26)}, r.IntN(9))
			data = append(data, row...)
			rows, ends = append(rows, row), append(ends, len(data))
		}
		l := sink.Limits{Rows: r.IntN(7), Bytes: int64(r.IntN(30))}
		next := 0
		err := sink.Parts(data, ends, l, func(b sink.Block) error {
			own := rows[next : next+b.Rows]
			next += b.Rows
			if len(b.Ends) != b.Rows || cap(b.Ends) != b.Rows {
				t.Fatalf("%d rows end at %v", b.Rows, b.Ends)
			}
			for i, want := range own {
				if got := b.Row(i); !bytes.Equal(got, want) || cap(got) != len(got) {
					t.Fatalf("row %d of part %d under %+v is %q, want %q", i, b.Part, l, got, want)
				}
			}
			i := r.IntN(b.Rows + 1)
			j := i + r.IntN(b.Rows-i+1)
			if got := b.Span(i, j); !bytes.Equal(got, bytes.Join(own[i:j], nil)) {
				t.Fatalf("rows %d to %d of part %d are %q of %q", i, j, b.Part, got, own)
			}
			return nil
		})
		if err != nil || next != len(rows) {
			t.Fatalf("%d of %d rows, %v", next, len(rows), err)
		}
	}
}

func TestAPartCostsNoAllocation(t *testing.T) {
	data, ends := bytes.Repeat([]byte("x"), 1<<10), make([]int, 1<<10)
	for i := range ends {
		ends[i] = i + 1
	}
	allocs := func(l sink.Limits) float64 {
		return testing.AllocsPerRun(20, func() {
			_ = sink.Parts(data, ends, l, func(b sink.Block) error {
				_ = b.Row(0)
				return nil
			})
		})
	}
	if one, many := allocs(sink.Limits{}), allocs(sink.Limits{Rows: 4}); many > one {
		t.Errorf("a block in one part allocates %v times, in 256 %v", one, many)
	}
}

func TestJoinedSegmentsAreAtLeastOne(t *testing.T) {
	for _, c := range []struct{ segments, want int }{{0, 1}, {1, 1}, {8, 8}} {
		if got := (sink.Limits{Segments: c.segments}).Joined(); got != c.want {
			t.Errorf("%d is %d, want %d", c.segments, got, c.want)
		}
	}
}

func TestRejectedSaysHowManyAndWhy(t *testing.T) {
	r := &sink.Rejected{Rows: []sink.RejectedRow{{Index: 3, Detail: "too wide"}, {Index: 5, Detail: "also"}}}
	if got := r.Error(); !strings.Contains(got, "2 rows") || !strings.Contains(got, "row 3: too wide") {
		t.Errorf("%q", got)
	}
	if failure.Marked(r) {
		t.Error("it bears a mark")
	}
	if got := new(sink.Rejected).Error(); !strings.Contains(got, "no row") {
		t.Errorf("%q", got)
	}
}

func TestRetryPassesRejectedRowsAsTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want := &sink.Rejected{Rows: []sink.RejectedRow{{Index: 1}}}
		s := &script{start: time.Now(), errs: []error{transient(), want}}
		err := sink.Retry(s, sink.RetryOptions{}).Write(t.Context(), &sink.Block{})
		if got, ok := errors.AsType[*sink.Rejected](err); !ok || got != want || len(s.at) != 2 || failure.Marked(err) {
			t.Fatalf("%v after %d calls", err, len(s.at))
		}
	})
}
