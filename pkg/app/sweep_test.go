package app

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/feed/memfeed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/capturesink"
	"github.com/spate-go/spate/pkg/unit"
)

// operations are those of a whole job that may fail. Only a job with a bad
// object comes by the last three.
var operations = []string{
	"Start", "Publish", "Finish", "Meta", "Begin", "Done", "Prove", "Conclude", "Unfinished",
	"List", "ReadRange", "Send", "Write", "Commit",
	"Fault", "RestDone", "Dead",
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
						f := &fault{op: op, at: n, applied: applied}
						synctest.Test(t, func(t *testing.T) { sweep(t, f, data) })
						if t.Failed() {
							t.Fatalf("call %d of %s", n, op)
						}
						if f.seen < n {
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

func sweep(t *testing.T, f *fault, data *dataSet) {
	bucket := &memobject.Bucket{PageSize: 7}
	for key, b := range data.objects {
		bucket.Put(key, b)
	}
	capture := capturesink.New(capturesink.Options{Dedup: true, Violation: t.Errorf})
	fd := memfeed.New(memfeed.Options{Cap: 4})
	d := drivers{
		bucket: &faultBucket{f, bucket}, ledger: &faultLedger{f, memledger.New()},
		feed: fd, sender: &faultSender{f, fd}, sink: &faultSink{f, capture}, sinkType: "capture",
	}
	j, err := join(testConfig(t), Pipeline{}, Options{Log: slog.New(slog.DiscardHandler)}.withDefaults(), location{bucket: "b"}, &d)
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

// fault fails one call of one operation of a job.
type fault struct {
	op      string
	at      int  // which call, from 1
	applied bool // only its answer is lost

	mu   sync.Mutex
	seen int // calls of op
}

var errFault = failure.Errorf(failure.Transient, failure.RetriesExhausted, "injected")

// do runs a call, unless it is the one to fail.
func (f *fault) do(op string, call func() error) error {
	f.mu.Lock()
	hit := false
	if op == f.op {
		f.seen++
		hit = f.seen == f.at
	}
	f.mu.Unlock()
	if !hit {
		return call()
	}
	if f.applied {
		return errors.Join(errFault, call())
	}
	return errFault
}

type faultBucket struct {
	f *fault
	object.Bucket
}

func (b *faultBucket) List(ctx context.Context, after string) (page object.Page, err error) {
	err = b.f.do("List", func() error { page, err = b.Bucket.List(ctx, after); return err })
	return page, err
}

func (b *faultBucket) Pin(o unit.Object) object.Pinned { return &faultPinned{b.f, b.Bucket.Pin(o)} }

type faultPinned struct {
	f *fault
	object.Pinned
}

func (p *faultPinned) ReadRange(ctx context.Context, off, n int64) (body io.ReadCloser, err error) {
	err = p.f.do("ReadRange", func() error { body, err = p.Pinned.ReadRange(ctx, off, n); return err })
	if err != nil && body != nil {
		_ = body.Close()
	}
	return body, err
}

type faultSender struct {
	f *fault
	feed.Sender
}

func (s *faultSender) Send(ctx context.Context, ms ...feed.Message) error {
	return s.f.do("Send", func() error { return s.Sender.Send(ctx, ms...) })
}

type faultSink struct {
	f *fault
	sink.Sink
}

func (s *faultSink) Write(ctx context.Context, b *sink.Block) error {
	return s.f.do("Write", func() error { return s.Sink.Write(ctx, b) })
}

func (s *faultSink) Commit(ctx context.Context, u unit.ID, series int) error {
	return s.f.do("Commit", func() error { return s.Sink.Commit(ctx, u, series) })
}

type faultLedger struct {
	f *fault
	ledger.Store
}

func (l *faultLedger) Start(ctx context.Context, job, token string, d ledger.Digests) (m ledger.Meta, err error) {
	err = l.f.do("Start", func() error { m, err = l.Store.Start(ctx, job, token, d); return err })
	return m, err
}

func (l *faultLedger) Publish(ctx context.Context, job string, run int, page ledger.Page) (ids []unit.ID, err error) {
	err = l.f.do("Publish", func() error { ids, err = l.Store.Publish(ctx, job, run, page); return err })
	return ids, err
}

func (l *faultLedger) Finish(ctx context.Context, job string, run int) error {
	return l.f.do("Finish", func() error { return l.Store.Finish(ctx, job, run) })
}

func (l *faultLedger) Meta(ctx context.Context, job string) (m ledger.Meta, err error) {
	err = l.f.do("Meta", func() error { m, err = l.Store.Meta(ctx, job); return err })
	return m, err
}

func (l *faultLedger) Begin(ctx context.Context, r ledger.Ref, receives, limit int) (i ledger.Item, err error) {
	err = l.f.do("Begin", func() error { i, err = l.Store.Begin(ctx, r, receives, limit); return err })
	return i, err
}

func (l *faultLedger) Fault(ctx context.Context, r ledger.Ref, serial int, f unit.Fault) error {
	return l.f.do("Fault", func() error { return l.Store.Fault(ctx, r, serial, f) })
}

func (l *faultLedger) RestDone(ctx context.Context, r ledger.Ref, serial int, c unit.Counts) error {
	return l.f.do("RestDone", func() error { return l.Store.RestDone(ctx, r, serial, c) })
}

func (l *faultLedger) Recovered(ctx context.Context, r ledger.Ref, serial, member int, c unit.Counts) error {
	return l.f.do("Recovered", func() error { return l.Store.Recovered(ctx, r, serial, member, c) })
}

func (l *faultLedger) Done(ctx context.Context, r ledger.Ref, c unit.Counts) (t ledger.Tally, err error) {
	err = l.f.do("Done", func() error { t, err = l.Store.Done(ctx, r, c); return err })
	return t, err
}

func (l *faultLedger) Dead(ctx context.Context, r ledger.Ref, serial int, c ledger.Cause) (t ledger.Tally, err error) {
	err = l.f.do("Dead", func() error { t, err = l.Store.Dead(ctx, r, serial, c); return err })
	return t, err
}

func (l *faultLedger) GiveBack(ctx context.Context, r ledger.Ref, serial int) error {
	return l.f.do("GiveBack", func() error { return l.Store.GiveBack(ctx, r, serial) })
}

func (l *faultLedger) Prove(ctx context.Context, job string, run int) (c ledger.Census, err error) {
	err = l.f.do("Prove", func() error { c, err = l.Store.Prove(ctx, job, run); return err })
	return c, err
}

func (l *faultLedger) Unfinished(ctx context.Context, job string, run int, yield func(ledger.Item) error) error {
	return l.f.do("Unfinished", func() error { return l.Store.Unfinished(ctx, job, run, yield) })
}

func (l *faultLedger) Conclude(ctx context.Context, job string, run, generation int, s ledger.State) error {
	return l.f.do("Conclude", func() error { return l.Store.Conclude(ctx, job, run, generation, s) })
}
