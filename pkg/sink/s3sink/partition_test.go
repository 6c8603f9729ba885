package s3sink_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/s3sink"
)

// first is a partition of rows by what stands before their first |.
func first(row []byte) (string, error) {
	name, _, _ := strings.Cut(string(row), "|")
	return name, nil
}

// directories write one row for each name and say where it went.
func directories(t *testing.T, names ...string) map[string]string {
	t.Helper()
	s := newStore(t)
	rows := make([]string, len(names))
	for i, n := range names {
		rows[i] = n + "|" + fmt.Sprint(i)
	}
	write(t, open(t, s, s3sink.Options{Partition: first, MaxPartitions: 10_000}), block(0, 0, rows...))
	where := map[string]string{}
	for _, key := range s.keys() {
		dir := key[:strings.LastIndex(key, "/")]
		for row := range strings.Lines(string(s.object(key).data)) {
			name, _ := first([]byte(row))
			where[name] = dir
		}
	}
	return where
}

func TestPartitionsAreNamedAsHiveNamesThem(t *testing.T) {
	for name, want := range map[string]string{
		"":                          "__HIVE_DEFAULT_PARTITION__",
		"eu":                        "eu",
		"region=eu":                 "region=eu",
		"year=2026/region=eu west":  "year=2026/region=eu west",
		"year=":                     "year=__HIVE_DEFAULT_PARTITION__",
		"=x":                        "__HIVE_DEFAULT_PARTITION__=x",
		"a//b":                      "a/__HIVE_DEFAULT_PARTITION__/b",
		"/":                         "__HIVE_DEFAULT_PARTITION__/__HIVE_DEFAULT_PARTITION__",
		"t=12:30":                   "t=12%3A30",
		"a=b=c":                     "a=b%3Dc",
		"100%":                      "100%25",
		`q="x"`:                     "q=%22x%22",
		"tab\there":                 "tab%09here",
		"nul\x00del\x7f":            "nul%00del%7F",
		"..":                        "%2E%2E",
		".":                         "%2E",
		"../x=./...":                "%2E%2E/x=%2E/...",
		"ünï/日本":                    "ünï/日本",
		"bad\xffbytes\xc3":          "bad%FFbytes%C3",
		"\ufffd":                    "\ufffd",
		"a+b&c d~e(f)$g,h;i@j!k_-.": "a+b&c d~e(f)$g,h;i@j!k_-.",
	} {
		if got := directories(t, name)[name]; got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestNamesOfPartitionsCanBeReadBackAndNeverMeet(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	const alphabet = "ab%2F.=:\x01\xff\xc3é\"?"
	names := []string{}
	for range 2000 {
		b := make([]byte, 1+r.IntN(5))
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		if n := string(b); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	dirs := map[string]string{}
	for name, dir := range directories(t, names...) {
		if other, ok := dirs[dir]; ok {
			t.Errorf("%q and %q are both in %q", name, other, dir)
		}
		dirs[dir] = name
		if !utf8.ValidString(dir) || strings.ContainsFunc(dir, func(r rune) bool { return r < ' ' }) {
			t.Errorf("%q is in %q, which is no text", name, dir)
		}
		column, value, hive := strings.Cut(dir, "=")
		column, err := url.PathUnescape(column)
		value, err2 := url.PathUnescape(value)
		back := column
		if hive {
			back += "=" + value
		}
		if back = strings.ReplaceAll(back, s3sink.DefaultPartition, ""); back != name || err != nil || err2 != nil {
			t.Errorf("%q is in %q, which reads %q", name, dir, back)
		}
	}
	if len(dirs) != len(names) {
		t.Errorf("%d names have %d directories", len(names), len(dirs))
	}
}

// Two names of one directory are one object: else one would replace the other.
func TestPartitionsOfOneDirectoryAreOneObject(t *testing.T) {
	s := newStore(t)
	write(t, open(t, s, s3sink.Options{Partition: first}), block(0, 0, "|1", "__HIVE_DEFAULT_PARTITION__|2", "|3"))
	keys := s.keys()
	if len(keys) != 1 {
		t.Fatalf("objects %q", keys)
	}
	if got := string(s.object(keys[0]).data); got != "|1\n__HIVE_DEFAULT_PARTITION__|2\n|3\n" {
		t.Errorf("got %q", got)
	}
}

func TestRowsOfAPartitionKeepTheirOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 50 {
		want := map[string]string{}
		rows := make([]string, 1+r.IntN(200))
		for i := range rows {
			name := fmt.Sprint("p", r.IntN(1+r.IntN(20)))
			rows[i] = fmt.Sprintf("%s|%d %s", name, i, strings.Repeat("x", r.IntN(9)))
			want[name] += rows[i] + "\n"
		}
		s := newStore(t)
		write(t, open(t, s, s3sink.Options{Partition: first}), block(0, 0, rows...))
		keys := s.keys()
		if len(keys) != len(want) {
			t.Fatalf("%d objects, want %d", len(keys), len(want))
		}
		numbers := map[string]bool{}
		for _, key := range keys {
			dir, name, _ := strings.Cut(key, "/")
			if numbers[name] {
				t.Errorf("two objects are called %s", name)
			}
			numbers[name] = true
			if got := string(s.object(key).data); got != want[dir] {
				t.Errorf("%s: got %q, want %q", dir, got, want[dir])
			}
		}
	}
}

func TestABlockHasNoMorePartitionsThanItMay(t *testing.T) {
	rows := make([]string, 300)
	for i := range rows {
		rows[i] = fmt.Sprintf("p%d|", i%101)
	}
	s := newStore(t)
	err := open(t, s, s3sink.Options{Partition: first}).Write(t.Context(), block(0, 0, rows...))
	expect(t, err, failure.Unit, failure.SinkRejected, "101 partitions", "100 may be open", "max_partitions")
	if len(s.calls) != 0 {
		t.Errorf("calls %q", s.calls)
	}
	write(t, open(t, s, s3sink.Options{Partition: first, MaxPartitions: 101}), block(0, 0, rows...))
	if n := len(s.keys()); n != 101 {
		t.Errorf("%d objects", n)
	}
}

func TestWhatCannotBePartitionedIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	broken := errors.New("ts is a number")
	for name, c := range map[string]struct {
		block     *sink.Block
		partition func([]byte) (string, error)
		scope     failure.Scope
		reason    failure.Reason
		says      []string
	}{
		"a row that has no name": {block(0, 0, "a", "b", "c"), func(row []byte) (string, error) {
			if string(row) == "c" {
				return "", broken
			}
			return "x", nil
		}, failure.Unit, failure.SinkRejected, []string{"row 2", "ts is a number"}},
		"a name that is too long": {block(0, 0, "a", "b"), func(row []byte) (string, error) {
			return strings.Repeat(string(row), 1000), nil
		}, failure.Unit, failure.SinkRejected, []string{"bytes, and S3 takes 1024"}},
		"rows of several lines": {
			&sink.Block{Unit: id, Rows: 2, Data: []byte("a\nb\nc\n")}, first,
			failure.Job, failure.Config, []string{"2 rows are not that many lines"},
		},
		"a last row without an end": {
			&sink.Block{Unit: id, Rows: 2, Data: []byte("a\nb")}, first,
			failure.Job, failure.Config, []string{"not that many lines"},
		},
		"a piece behind the rows": {
			&sink.Block{Unit: id, Rows: 2, Data: []byte("a\nb\nc")}, first,
			failure.Job, failure.Config, []string{"not that many lines"},
		},
		"rows that are no lines": {
			&sink.Block{Unit: id, Rows: 2, Data: []byte("ab\n")}, first,
			failure.Job, failure.Config, []string{"not that many lines"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			err := open(t, s, s3sink.Options{Partition: c.partition}).Write(t.Context(), c.block)
			expect(t, err, c.scope, c.reason, c.says...)
			if len(s.calls) != 0 {
				t.Errorf("calls %q", s.calls)
			}
		})
	}
}

func TestAKeyOfTheLongestLengthIsWritten(t *testing.T) {
	s := newStore(t)
	name := strings.Repeat("x", 1024-len("/s3-AAAAAAAAAAAAAAAAAAAAAA-0.0-0.ndjson"))
	o := s3sink.Options{Partition: func([]byte) (string, error) { return name, nil }}
	write(t, open(t, s, o), block(0, 0, "a"))
	name += "x"
	expect(t, open(t, s, o).Write(t.Context(), block(0, 0, "a")), failure.Unit, failure.SinkRejected, "1025 bytes")
}

func TestNoMoreRequestsAreMadeAtOnceThanMayBe(t *testing.T) {
	rows := make([]string, 100)
	for i := range rows {
		rows[i] = fmt.Sprintf("p%d|", i)
	}
	s := newStore(t)
	gate := make(chan struct{})
	s.during = func(string) {
		select { // three come together, or the last of them alone
		case gate <- struct{}{}:
		case <-gate:
		case <-t.Context().Done():
		}
	}
	write(t, open(t, s, s3sink.Options{Partition: first, Concurrency: 4}), block(0, 0, rows...))
	if s.most > 4 || s.most < 2 {
		t.Errorf("%d requests at once", s.most)
	}
}
