package app

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed/memfeed"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/s3url"
	"github.com/spate-go/spate/pkg/sink/capturesink"
	"github.com/spate-go/spate/pkg/spatetest"
)

// operations are those of a whole job that may fail. Only a job with a bad
// object comes by the last three.
var operations = []spatetest.Op{
	spatetest.OpStart, spatetest.OpLease, spatetest.OpPublish, spatetest.OpAdvance, spatetest.OpFinish,
	spatetest.OpMeta, spatetest.OpJoined, spatetest.OpBegin, spatetest.OpDone, spatetest.OpProve, spatetest.OpConclude, spatetest.OpUnfinished,
	spatetest.OpList, spatetest.OpReadRange, spatetest.OpSend, spatetest.OpWrite, spatetest.OpCommit,
	spatetest.OpFault, spatetest.OpRestDone, spatetest.OpDead,
}

// TestNoSingleFaultOfAnyOperationShows fails the first call of every operation
// of a whole job, then the second, the third … until none is left to fail, each
// once not applied and once applied with its answer lost. Whatever it hits,
// every row is there once, and the verdict is that of the run without a fault
// (INV-1, INV-5, INV-7).
func TestNoSingleFaultOfAnyOperationShows(t *testing.T) {
	for _, bad := range []bool{false, true} {
		data := newDataSet(t, bad)
		for _, applied := range []bool{false, true} {
			t.Run(fmt.Sprintf("bad object %t, applied %t", bad, applied), func(t *testing.T) {
				calls := 0
				for _, op := range operations {
					for n := 1; ; n++ {
						f := &spatetest.Faults{Op: op, At: n, Applied: applied}
						synctest.Test(t, func(t *testing.T) { sweep(t, f, data) })
						if t.Failed() {
							t.Fatalf("call %d of %s", n, op)
						}
						if f.Seen() < n {
							if n == 1 && (bad || !slices.Contains(operations[len(operations)-3:], op)) {
								t.Errorf("%s was never called", op)
							}
							break
						}
						calls++
					}
				}
				t.Logf("%d calls failed", calls)
			})
		}
	}
}

// dataSet is a bucket's content and the rows that it becomes.
type dataSet struct {
	objects map[string][]byte
	rows    map[string]bool
	bad     bool
}

func newDataSet(t *testing.T, bad bool) *dataSet {
	t.Helper()
	d := &dataSet{map[string][]byte{}, map[string]bool{}, bad}
	for i := range 20 {
		data := d.ndjson(i, 1+i*3)
		if i%3 == 0 {
			data = zip(t, data)
		}
		d.objects[fmt.Sprintf("k-%02d", i)] = data
	}
	d.objects["large"] = d.ndjson(99, 20_000) // cut into ranges
	if bad {
		d.objects["k-07-broken"] = zip(t, d.objects["large"])[:20] // no record of it decodes
	}
	return d
}

// ndjson returns n records of a file and adds the rows that they become.
func (d *dataSet) ndjson(file, n int) []byte {
	var b bytes.Buffer
	for i := range n {
		row := fmt.Sprintf(`{"file":%d,"n":%d,"pad":"%040d"}`, file, i, i)
		d.rows[row] = true
		b.WriteString(row + "\n")
	}
	return b.Bytes()
}

func sweep(t *testing.T, f *spatetest.Faults, data *dataSet) {
	bucket := &memobject.Bucket{PageSize: 7}
	for key, b := range data.objects {
		bucket.Put(key, b)
	}
	capture := spatetest.Capture(t, capturesink.Options{Dedup: true})
	fd := memfeed.New(memfeed.Options{Cap: 4})
	d := drivers{
		bucket: f.Bucket(bucket), ledger: f.Ledger(memledger.New()),
		feed: fd, sender: f.Sender(fd), sink: f.Sink(capture), sinkType: "capture",
	}
	j, err := join(t.Context(), testConfig(t), Pipeline{}, Options{Log: slog.New(slog.DiscardHandler)}.withDefaults(), location{Place: s3url.Place{Bucket: "b"}}, &d)
	if err != nil {
		t.Fatal(err)
	}
	r, err := j.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	checkVerdict(t, r, data.bad, int64(len(data.rows)))
	got := capture.Counts()
	for row := range data.rows {
		if got[row] != 1 {
			t.Fatalf("row %.40s is there %d times", row, got[row])
		}
	}
	if len(got) != len(data.rows) {
		t.Errorf("%d rows, want %d", len(got), len(data.rows))
	}
}

func checkVerdict(t *testing.T, r *report.Report, bad bool, rows int64) {
	t.Helper()
	if !bad {
		if r.State != report.Completed || r.Units.Done != r.Units.Planned || r.Records.Out != rows || r.Objects.Done != 21 {
			t.Errorf("verdict %+v", r)
		}
		return
	}
	if r.State != report.Failed || r.Units.Dead != 1 || len(r.Dead) != 1 || len(r.Missing) != 0 {
		t.Fatalf("verdict %+v", r)
	}
	d := r.Dead[0]
	if len(d.Objects) != 1 || d.Objects[0].Key != "k-07-broken" || d.Reason != failure.Undecodable || d.Record == nil || *d.Record != 0 {
		t.Errorf("dead %+v", d)
	}
	if r.Objects.Failed != 1 || r.Objects.Done != 21 {
		t.Errorf("objects %+v", r.Objects)
	}
}

func testConfig(t *testing.T) Config {
	t.Helper()
	c := Config{
		Pipeline: PipelineConfig{Name: "sweep", Threads: 2},
		Source:   SourceConfig{S3: &S3Config{URL: "s3://b/", Target: 1 << 20}},
		Feed:     &FeedConfig{Memory: &MemoryFeedConfig{AttemptCap: 4}},
		Sink:     &SinkConfig{Blackhole: &NoConfig{}},
	}
	if err := c.check(plain); err != nil {
		t.Fatal(err)
	}
	c.defaults()
	return c
}

func zip(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
