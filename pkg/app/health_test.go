package app

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed/memfeed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/s3url"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/capturesink"
	"github.com/spate-go/spate/pkg/spatetest"
)

// gate holds calls back until it is opened.
type gate struct{ arrived, open chan struct{} }

func newGate() gate { return gate{make(chan struct{}, 100), make(chan struct{})} }

func (g gate) wait() {
	g.arrived <- struct{}{}
	<-g.open
}

// watched is a job whose listing and whose writes wait for the test.
func watched(t *testing.T, l ledger.Store, s sink.Sink) (j *Job, list, write gate) {
	t.Helper()
	list, write = newGate(), newGate()
	bucket := &memobject.Bucket{Hook: func(op memobject.Op, _ string, _ int64) error {
		if op == memobject.OpList {
			list.wait()
		}
		return nil
	}}
	bucket.Put("a", []byte("{}\n"))
	if s == nil {
		s = spatetest.Capture(t, capturesink.Options{Script: func(int, capturesink.Call) capturesink.Outcome {
			write.wait()
			return capturesink.OK
		}})
	}
	d := drivers{bucket: bucket, ledger: l, feed: memfeed.New(memfeed.Options{}), sink: s, sinkType: "capture"}
	d.sender = d.feed
	j, err := join(t.Context(), testConfig(t), Pipeline{}, Options{Log: slog.New(slog.DiscardHandler)}.withDefaults(), location{Place: s3url.Place{Bucket: "b"}}, &d)
	if err != nil {
		t.Fatal(err)
	}
	return j, list, write
}

func says(t *testing.T, what string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: %v, want one that says %q", what, err, want)
	}
}

func TestAJobIsReadyWhileItReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, list, write := watched(t, memledger.New(), nil)
		says(t, "before it began", j.ready(t.Context()), "not begun")
		says(t, "before it began", j.alive(t.Context()), "")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = j.Run(ctx)
		}()
		<-list.arrived
		synctest.Wait()
		says(t, "before its first page", j.ready(ctx), "not been listed")
		close(list.open)
		<-write.arrived
		says(t, "while it reads", j.ready(ctx), "")
		cancel()
		synctest.Wait()
		says(t, "while it drains", j.ready(t.Context()), "ending")
		says(t, "while it drains", j.alive(t.Context()), "")
		close(write.open)
		<-ended
		says(t, "when it has ended", j.ready(t.Context()), "ending")
		says(t, "when it has ended", j.alive(t.Context()), "")
	})
}

func TestAHaltedJobIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memledger.New()
		j, list, write := watched(t, l, nil)
		ended := make(chan *report.Report)
		go func() {
			r, _ := j.Run(t.Context())
			ended <- r
		}()
		close(list.open)
		<-write.arrived
		if _, err := l.Halt(t.Context(), j.name, ledger.Halt{Reason: failure.Denied}); err != nil {
			t.Fatal(err)
		}
		says(t, "halted", j.ready(t.Context()), "halted: denied")
		time.Sleep(time.Second)
		close(write.open)
		<-ended
		for _, s := range j.opt.Metrics.Gather() {
			if s.Name == metric.JobHalted && s.Value == 1 {
				return
			}
		}
		t.Error("no metric says so")
	})
}

func TestWhatHasNotHappenedToAJobIsZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, _, _ := watched(t, memledger.New(), nil)
		got := map[string]int{}
		for _, s := range j.opt.Metrics.Gather() {
			got[s.Name]++
			if s.Value != 0 {
				t.Errorf("%s %v is %d", s.Name, s.Labels, s.Value)
			}
		}
		for name, series := range map[string]int{metric.S3ObjectsOverwritten: 1, metric.S3ObjectsFailed: 13, metric.JobHalted: 5} {
			if got[name] != series {
				t.Errorf("%s has %d series, want %d", name, got[name], series)
			}
		}
	})
}

func TestAJobThatStandsStillIsNotAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, list, write := watched(t, memledger.New(), nil)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = j.Run(t.Context())
		}()
		<-list.arrived
		time.Sleep(stalled + time.Minute) // nothing is at hand: a slow listing is not a dead job
		says(t, "while it lists", j.alive(t.Context()), "")
		close(list.open)
		<-write.arrived
		time.Sleep(stalled - time.Second)
		says(t, "for less than five minutes", j.alive(t.Context()), "")
		time.Sleep(2 * time.Second)
		says(t, "for more than five minutes", j.alive(t.Context()), "none has progressed for 5m")
		close(write.open)
		<-ended
	})
}

// stuck is a ledger that stops answering the job's watch.
type stuck struct {
	ledger.Store
	shut atomic.Bool
	open chan struct{}
}

func (s *stuck) Meta(ctx context.Context, job string) (ledger.Meta, error) {
	if s.shut.Load() {
		<-s.open
	}
	return s.Store.Meta(ctx, job)
}

func TestAJobThatNobodyLooksAfterIsNotAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &stuck{Store: memledger.New(), open: make(chan struct{})}
		j, list, write := watched(t, l, nil)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = j.Run(t.Context())
		}()
		<-list.arrived
		synctest.Wait()
		l.shut.Store(true)
		time.Sleep(silent)
		says(t, "for less than half a minute", j.alive(t.Context()), "")
		time.Sleep(time.Second)
		says(t, "for more than half a minute", j.alive(t.Context()), "not been checked for 3")
		close(l.open)
		close(list.open)
		close(write.open)
		<-ended
	})
}

// get asks the admin address.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func TestTheAdminAddressAnswersFromOpenToClose(t *testing.T) {
	c := testConfig(t)
	c.Admin = &AdminConfig{Listen: ":0"}
	bucket := new(memobject.Bucket)
	bucket.Put("a", []byte("{}\n{}\n"))
	j, err := Open(t.Context(), c, Pipeline{Source: bucket, Sink: spatetest.Capture(t, capturesink.Options{})}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	url := j.AdminURL()
	if code, text := get(t, url+"/healthz"); code != 200 || text != "alive\n" {
		t.Errorf("%d %s", code, text)
	}
	if code, text := get(t, url+"/readyz"); code != 503 || text != "the job has not begun\n" {
		t.Errorf("%d %s", code, text)
	}
	if _, err := j.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	code, text := get(t, url+"/metrics")
	if code != 200 || !strings.Contains(text, "process_open_fds") {
		t.Errorf("%d\n%s", code, text)
	}
	for _, want := range []string{
		`spate_sink_records_total{component="default",component_type="custom",pipeline="sweep"} 2`,
		`spate_s3_source_objects_completed_total{component="source",component_type="s3",pipeline="sweep"} 1`,
		`spate_e2e_latency_seconds_count{component="pipeline",component_type="run",pipeline="sweep"} 1`,
		`spate_sink_write_duration_seconds_count{component="default",component_type="custom",pipeline="sweep"} 1`,
		`spate_sink_flush_duration_seconds_count{component="default",component_type="custom",pipeline="sweep"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://")); err == nil {
		_ = c.Close()
		t.Error("it answers after Close")
	}
}

func TestWithoutAnExporterThereAreNoMetrics(t *testing.T) {
	c := testConfig(t)
	c.Admin, c.Metrics.Exporter = &AdminConfig{Listen: "0"}, "none"
	j, err := Open(t.Context(), c, Pipeline{Source: new(memobject.Bucket)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if code, _ := get(t, j.AdminURL()+"/metrics"); code != 404 {
		t.Errorf("code %d", code)
	}
	if code, _ := get(t, j.AdminURL()+"/healthz"); code != 200 {
		t.Errorf("code %d", code)
	}
}

func TestAJobWithoutAnAdminSectionListensNowhere(t *testing.T) {
	j, err := Open(t.Context(), testConfig(t), Pipeline{Source: new(memobject.Bucket)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if j.AdminURL() != "" {
		t.Errorf("it listens at %s", j.AdminURL())
	}
}

func TestAnAddressThatIsTakenShowsBeforeAnythingIsDone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out := t.TempDir() + "/out"
	c := testConfig(t)
	c.Admin, c.Sink = &AdminConfig{Listen: l.Addr().String()}, &SinkConfig{File: &FileSinkConfig{Path: out}}
	bucket := new(memobject.Bucket)
	_, err = Open(t.Context(), c, Pipeline{Source: bucket}, Options{})
	says(t, "open", err, "admin.listen: listen tcp "+l.Addr().String())
	if _, err := os.Stat(out); err == nil || bucket.Calls(memobject.OpList) != 0 {
		t.Error("something was done all the same")
	}
}

func TestAJobThatCannotBeOpenedGivesTheAddressBack(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	c := testConfig(t)
	c.Admin, c.Sink = &AdminConfig{Listen: address}, nil
	if _, err := Open(t.Context(), c, Pipeline{Source: new(memobject.Bucket)}, Options{}); err == nil {
		t.Fatal("it has no sink")
	}
	if l, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}

// Every metric of a job in one process is exported once it has been met, with
// the labels that the page promises.
func TestEveryMetricIsExportedByAJobThatMeetsIt(t *testing.T) {
	data := newDataSet(t, true)
	bucket := new(memobject.Bucket)
	for key, b := range data.objects {
		bucket.Put(key, b)
	}
	bucket.Put("empty", nil)
	faults := &spatetest.Faults{Op: spatetest.OpReadRange, At: 3} // the first is of the lister
	out := spatetest.Capture(t, capturesink.Options{Script: capturesink.Once(1, capturesink.Retryable)})
	r := new(metric.Registry)
	j, err := Open(t.Context(), testConfig(t), Pipeline{Source: faults.Bucket(bucket), Sink: out},
		Options{Metrics: r, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	rep, err := j.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]int64{}
	for _, s := range r.Gather() {
		labels := map[string]bool{}
		for _, l := range s.Labels {
			labels[l.Name] = true
		}
		if !labels[metric.LabelPipeline] || !labels[metric.LabelComponent] || !labels[metric.LabelComponentType] {
			t.Errorf("%s has the labels %v", s.Name, s.Labels)
		}
		values[s.Name] += s.Value
		if s.Durations != nil {
			values[s.Name] += s.Durations.Count
		}
	}
	page, err := os.ReadFile("../../docs/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	unmet := map[string]bool{ // by a job without a halt, a filter or a sink that is down
		metric.JobHalted: true, metric.SinkErrors: true, metric.OperatorRecordsDropped: true, metric.DeserRecordsDropped: true,
		// Nor is it one whose objects are announced.
		metric.S3ObjectsOverwritten: true, metric.IntakeEvents: true, metric.IntakeEventsIgnored: true, metric.IntakeObjects: true, metric.IntakeUnits: true,
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(spate_[a-z0-9_]+)`").FindAllStringSubmatch(string(page), -1) {
		if values[m[1]] == 0 && !unmet[m[1]] {
			t.Errorf("%s is not exported, or 0", m[1])
		}
	}
	for name, want := range map[string]int64{
		metric.S3ObjectsCompleted: rep.Objects.Done, metric.S3ObjectsFailed: rep.Objects.Failed,
		metric.SinkRetries: 1, metric.S3GetRetries: 1, metric.SinkErrors: 0,
	} {
		if values[name] != want {
			t.Errorf("%s is %d, want %d", name, values[name], want)
		}
	}
	s := j.snapshot()
	if s.DoneObjects != rep.Objects.Done || s.FailedObjects != rep.Objects.Failed || s.DoneBytes != s.ListedBytes {
		t.Errorf("the display shows %+v", s)
	}
}
