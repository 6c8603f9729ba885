package s3sink_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/s3url"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/s3sink"
	"github.com/spate-go/spate/pkg/sink/sinktest"
	"github.com/spate-go/spate/pkg/unit"
)

const id unit.ID = "s3-AAAAAAAAAAAAAAAAAAAAAA"

// lastByte is a partition of rows by their last byte.
func lastByte(row []byte) (string, error) { return "last=" + string(row[len(row)-1:]), nil }

func open(t *testing.T, api s3sink.API, o s3sink.Options) *s3sink.Sink {
	t.Helper()
	s, err := s3sink.New(api, "bucket", o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// block is of rows, in a place.
func block(segment, part int, rows ...string) *sink.Block {
	data := []byte(strings.Join(rows, "\n") + "\n")
	return &sink.Block{
		Unit: id, Segment: segment, Part: part, Rows: len(rows), Data: data,
		Token: sink.Token(id, "s3", 0, segment, part, data),
	}
}

func write(t *testing.T, s sink.Sink, blocks ...*sink.Block) {
	t.Helper()
	for _, b := range blocks {
		if err := s.Write(t.Context(), b); err != nil {
			t.Fatalf("write %s: %v", b.Token, err)
		}
	}
}

// expect checks an error's mark and words.
func expect(t *testing.T, err error, scope failure.Scope, reason failure.Reason, says ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if s, r := failure.Of(err); s != scope || r != reason {
		t.Errorf("marked %v %s, want %v %s: %v", s, r, scope, reason, err)
	}
	for _, want := range says {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
}

// variants are the ways to write.
func variants() map[string]s3sink.Options {
	return map[string]s3sink.Options{
		"plain":                 {},
		"gzip":                  {Compression: s3sink.Gzip, Prefix: "a/b/"},
		"zstd":                  {Compression: s3sink.Zstd},
		"plain and partitioned": {Partition: lastByte, Prefix: "x/"},
		"gzip and partitioned":  {Partition: lastByte, Compression: s3sink.Gzip},
		"zstd and partitioned":  {Partition: lastByte, Compression: s3sink.Zstd},
	}
}

func TestConformance(t *testing.T) {
	for name, o := range variants() {
		t.Run(name, func(t *testing.T) {
			sinktest.Run(t, sinktest.Harness{
				Dedup: true, Unordered: o.Partition != nil,
				New: func(t *testing.T) (sink.Sink, func() []byte) {
					s := newStore(t)
					return open(t, s, o), s.all
				},
				Broken: func(t *testing.T) sink.Sink {
					s := newStore(t)
					s.fails = "put"
					return open(t, s, o)
				},
			})
		})
	}
}

func TestKeysNameTheBlock(t *testing.T) {
	for name, c := range map[string]struct {
		opt    s3sink.Options
		blocks []*sink.Block
		want   []string
	}{
		"at the top": {s3sink.Options{}, []*sink.Block{block(0, 0, "a"), block(12, 3, "b")}, []string{
			"s3-AAAAAAAAAAAAAAAAAAAAAA-0.0-0.ndjson", "s3-AAAAAAAAAAAAAAAAAAAAAA-0.12-3.ndjson",
		}},
		"under a prefix": {s3sink.Options{Prefix: "p/q-", Compression: s3sink.Gzip}, []*sink.Block{block(0, 0, "a")}, []string{
			"p/q-s3-AAAAAAAAAAAAAAAAAAAAAA-0.0-0.ndjson.gz",
		}},
		"with an extension": {s3sink.Options{Extension: "csv", Compression: s3sink.Zstd}, []*sink.Block{block(0, 0, "a")}, []string{
			"s3-AAAAAAAAAAAAAAAAAAAAAA-0.0-0.csv.zst",
		}},
		"of a later series": {s3sink.Options{}, []*sink.Block{{Unit: id, Series: 8, Segment: 1, Rows: 1, Data: []byte("a\n")}}, []string{
			"s3-AAAAAAAAAAAAAAAAAAAAAA-8.1-0.ndjson",
		}},
		"with partitions": {s3sink.Options{Prefix: "p/", Partition: lastByte}, []*sink.Block{block(0, 0, "1b", "2a", "3b"), block(0, 1, "4a")}, []string{
			"p/last=a/s3-AAAAAAAAAAAAAAAAAAAAAA-0.0-1.ndjson", "p/last=a/s3-AAAAAAAAAAAAAAAAAAAAAA-0.0-10000.ndjson",
			"p/last=b/s3-AAAAAAAAAAAAAAAAAAAAAA-0.0-0.ndjson",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			write(t, open(t, s, c.opt), c.blocks...)
			if got := s.keys(); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestObjectsSayWhatTheyAre(t *testing.T) {
	for compression, mediaType := range map[s3sink.Compression]string{
		s3sink.None: "application/x-ndjson", s3sink.Gzip: "application/gzip", s3sink.Zstd: "application/zstd",
	} {
		for _, rows := range []string{"a", strings.Repeat("b", 6<<20)} {
			t.Run(fmt.Sprint(compression, ", ", len(rows), " bytes"), func(t *testing.T) {
				s := newStore(t)
				write(t, open(t, s, s3sink.Options{
					Compression: compression, PartSize: 5 << 20, ExpectedBucketOwner: "111122223333", KMSKey: "key-1",
				}), block(0, 0, rows))
				for _, key := range s.keys() {
					if o := s.object(key); o.mediaType != mediaType || o.owner != "111122223333" || o.kms != "key-1" {
						t.Errorf("%s: %s, owner %s, key %s", key, o.mediaType, o.owner, o.kms)
					}
				}
			})
		}
	}
}

// noise is NDJSON that compresses by about a half.
func noise(r *rand.Rand, rows int) []string {
	out := make([]string, rows)
	for i := range out {
		out[i] = fmt.Sprintf(`{"n":%d,"v":"%016x","part":%d}`, i, r.Uint64(), r.IntN(7))
	}
	return out
}

// A block's bytes depend on nothing but its rows: not on the sink that writes
// them, nor on what that wrote before.
func TestARepeatedBlockReplacesItsObjectsByTheSameBytes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for name, o := range variants() {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			used := open(t, s, o)
			var blocks []*sink.Block
			for segment := range 10 {
				blocks = append(blocks, block(segment, 0, noise(r, 1+r.IntN(1000))...))
			}
			write(t, used, blocks...)
			first := map[string]string{}
			for _, key := range s.keys() {
				first[key] = s.object(key).etag
			}
			r.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
			for i, b := range blocks {
				w := used
				if i%2 == 0 {
					w = open(t, s, o)
				}
				write(t, w, b)
			}
			if n := len(s.keys()); n != len(first) {
				t.Errorf("%d objects, and there were %d", n, len(first))
			}
			for key, want := range first {
				if got := s.object(key).etag; got != want {
					t.Errorf("%s: its bytes changed", key)
				}
			}
		})
	}
}

func TestCompressedObjectsNameNoTimeAndNeedNoLargeWindow(t *testing.T) {
	rows := strings.Repeat(strings.Repeat("0123456789abcde", 1<<12)+"\n", 160) // 9.4 MiB
	b := &sink.Block{Unit: id, Rows: 160, Data: []byte(rows)}
	for _, level := range []int{0, 9} {
		s := newStore(t)
		write(t, open(t, s, s3sink.Options{Compression: s3sink.Gzip, Level: level}), b, block(1, 0, "a"), block(2, 0, "b"))
		for _, key := range s.keys() {
			got := s.object(key).data
			if flags, mtime := got[3], got[4:8]; flags != 0 || !bytes.Equal(mtime, make([]byte, 4)) {
				t.Errorf("gzip: flags %x, time %x", flags, mtime)
			}
		}
	}
	for _, level := range []int{0, 10} {
		s := newStore(t)
		write(t, open(t, s, s3sink.Options{Compression: s3sink.Zstd, Level: level}), b)
		var h zstd.Header
		if err := h.Decode(s.object(s.keys()[0]).data); err != nil || h.WindowSize > 8<<20 || h.SingleSegment {
			t.Errorf("zstd: level %d: %+v, %v", level, h, err)
		}
		if got := s.all(); string(got) != rows {
			t.Errorf("zstd: level %d: %d bytes came back", level, len(got))
		}
	}
}

func TestLevelsMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]string, 2000)
	for i := range rows {
		for range 12 {
			rows[i] += fmt.Sprintf("word-%d ", r.IntN(300))
		}
	}
	for _, c := range []s3sink.Compression{s3sink.Gzip, s3sink.Zstd} {
		size := func(level int) int {
			s := newStore(t)
			write(t, open(t, s, s3sink.Options{Compression: c, Level: level}), block(0, 0, rows...))
			return len(s.object(s.keys()[0]).data)
		}
		if fast, best := size(1), size(9); best >= fast {
			t.Errorf("%s: %d bytes at level 1, %d at level 9", c, fast, best)
		}
	}
}

func TestOptionsThatCannotBeAreRefused(t *testing.T) {
	for says, o := range map[string]s3sink.Options{
		`"lz4" is not one of`:       {Compression: "lz4"},
		"level 3: compression none": {Level: 3},
		"level 10: gzip":            {Compression: s3sink.Gzip, Level: 10},
		"level -1":                  {Compression: s3sink.Zstd, Level: -1},
		"level 23":                  {Compression: s3sink.Zstd, Level: 23},
		"10001 partitions":          {MaxPartitions: 10_001},
		"-1 partitions":             {MaxPartitions: -1},
		"10001 requests":            {Concurrency: 10_001},
		"parts cannot":              {PartSize: 5<<20 - 1},
		"by less than 0":            {MaxBlock: -1},
		"prefix":                    {Prefix: "\xff"},
		"inside":                    {Prefix: "in/x/", Source: s3url.Place{Bucket: "bucket", Prefix: "in/"}},
	} {
		_, err := s3sink.New(newStore(t), "bucket", o)
		expect(t, err, failure.Job, failure.Config, says, "s3://bucket/")
	}
	_, err := s3sink.New(newStore(t), "", s3sink.Options{})
	expect(t, err, failure.Job, failure.Config, "no name")
}

func TestBlocksAreBoundedByBytes(t *testing.T) {
	if got := open(t, newStore(t), s3sink.Options{}).Limits(); got != (sink.Limits{Bytes: 64 << 20}) {
		t.Errorf("got %+v", got)
	}
	if got := open(t, newStore(t), s3sink.Options{MaxBlock: 1 << 20}).Limits(); got != (sink.Limits{Bytes: 1 << 20}) {
		t.Errorf("got %+v", got)
	}
}

// INV-8.
func TestASinkInsideItsSourceIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		sink, source s3url.Place
		inside       bool
	}{
		"elsewhere":               {s3url.Place{Bucket: "a", Prefix: "out/"}, s3url.Place{Bucket: "a", Prefix: "in/"}, false},
		"in another bucket":       {s3url.Place{Bucket: "b", Prefix: "in/"}, s3url.Place{Bucket: "a", Prefix: "in/"}, false},
		"the same":                {s3url.Place{Bucket: "a", Prefix: "in/"}, s3url.Place{Bucket: "a", Prefix: "in/"}, true},
		"below":                   {s3url.Place{Bucket: "a", Prefix: "in/x/"}, s3url.Place{Bucket: "a", Prefix: "in/"}, true},
		"under a whole bucket":    {s3url.Place{Bucket: "a", Prefix: "x/"}, s3url.Place{Bucket: "a"}, true},
		"beside, by its name":     {s3url.Place{Bucket: "a", Prefix: "in-2/"}, s3url.Place{Bucket: "a", Prefix: "in"}, true},
		"beside, by its slash":    {s3url.Place{Bucket: "a", Prefix: "in-2/"}, s3url.Place{Bucket: "a", Prefix: "in/"}, false},
		"above":                   {s3url.Place{Bucket: "a"}, s3url.Place{Bucket: "a", Prefix: "in/"}, false},
		"behind a source of dirs": {s3url.Place{Bucket: "a", Prefix: "in/"}, s3url.Place{}, false},
	} {
		err := s3sink.Outside(c.sink, c.source)
		if !c.inside {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		expect(t, err, failure.Job, failure.Config, c.sink.String(), c.source.String())
	}
}

func TestAPartitionThatLiesInTheSourceIsRefused(t *testing.T) {
	s := newStore(t)
	o := s3sink.Options{
		Prefix: "data/", Source: s3url.Place{Bucket: "bucket", Prefix: "data/in/"},
		Partition: func(row []byte) (string, error) { return string(row), nil },
	}
	write(t, open(t, s, o), block(0, 0, "in2", "out", "i"))
	err := open(t, s, o).Write(t.Context(), block(1, 0, "out", "in"))
	expect(t, err, failure.Job, failure.Config, "data/in/s3-", "s3://bucket/data/in/")
	if len(s.keys()) != 3 {
		t.Errorf("objects %q", s.keys())
	}
	o.Source.Bucket = "another"
	write(t, open(t, s, o), block(2, 0, "in"))
}

func TestABlockWithoutRowsIsNothing(t *testing.T) {
	for _, o := range variants() {
		s := newStore(t)
		write(t, open(t, s, o), &sink.Block{Unit: id})
		if len(s.calls) != 0 {
			t.Errorf("calls %q", s.calls)
		}
	}
}
