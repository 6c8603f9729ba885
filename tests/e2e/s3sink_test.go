package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/tests/lambdakit"
)

// sinkPipeline reads in/ of the bucket and writes to out/.
func (b *bucket) sinkPipeline(more string) string {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "pipeline.yaml")
	write(b.t, file, fmt.Appendf(nil, `pipeline: {name: e2e}
source: {s3: {url: "s3://%s/in/", target: 1MiB, endpoint: "%s", region: us-east-1}}
feed: {memory: {attempt_cap: 2}}
decode: {json: {}}
sink:
  s3:
    url: s3://%[1]s/out
    endpoint: "%[2]s"
    region: us-east-1
    compression: gzip
    partition: '"name=" + name + "/class=" + (status >= 400 ? "4xx" : "ok")'
%s
`, b.name, b.proxy.URL, more))
	return file
}

// written are the objects under out/, rows by key, and their ETags.
func (b *bucket) written() (rows, etags map[string]string) {
	b.t.Helper()
	rows, etags = map[string]string{}, map[string]string{}
	prefix := "out/"
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(b.t.Context())
		if err != nil {
			b.t.Fatal(err)
		}
		for _, o := range page.Contents {
			packed, err := lambdakit.Object(b.t.Context(), b.client, b.name, *o.Key)
			if err != nil {
				b.t.Fatal(err)
			}
			z, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				b.t.Fatalf("%s: %v", *o.Key, err)
			}
			data, err := io.ReadAll(z)
			if err != nil {
				b.t.Fatalf("%s: %v", *o.Key, err)
			}
			rows[*o.Key], etags[*o.Key] = string(data), *o.ETag
		}
	}
	return rows, etags
}

// fill puts objects under in/ and returns the rows of each partition.
func (b *bucket) fill() map[string][]string {
	want := map[string][]string{}
	put := func(key string, data []byte) {
		b.put("in/"+key, data)
		for row := range strings.Lines(string(data)) {
			class, name := "ok", "__HIVE_DEFAULT_PARTITION__"
			if i := strings.Index(row, `"status":`); i >= 0 && row[i+9] >= '4' {
				class = "4xx"
			}
			if rest, ok := strings.CutPrefix(row, `{"name":"`); ok {
				name = "name=" + strings.NewReplacer("%", "%25", ":", "%3A").Replace(rest[:strings.Index(rest, `"`)]) + "/class=" + class
			}
			want[name] = append(want[name], row)
		}
	}
	put("small", records("a b", 500))
	put("twice", append(records("a b", 3), records("50%:x", 300)...))
	put("large", records("large", 60_000)) // several units
	put("none", []byte("{\"status\":1}\n{\"name\":null,\"status\":2}\n"))
	for _, rows := range want {
		slices.Sort(rows)
	}
	return want
}

// holds checks that the objects have the wanted rows, each once and in the
// partition that is its own.
func (b *bucket) holds(want map[string][]string) {
	b.t.Helper()
	objects, _ := b.written()
	got := map[string][]string{}
	for key, rows := range objects {
		dir := path.Dir(strings.TrimPrefix(key, "out/"))
		got[dir] = slices.AppendSeq(got[dir], strings.Lines(rows))
	}
	for _, rows := range got {
		slices.Sort(rows)
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		for dir := range got {
			b.t.Errorf("%q: %d rows, want %d", dir, len(got[dir]), len(want[dir]))
		}
		b.t.Errorf("partitions %q, want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

func TestRowsArePartitionedIntoABucketAndASecondRunChangesNothing(t *testing.T) {
	b := newBucket(t)
	want := b.fill()
	p := b.sinkPipeline("")
	res := run{}.spate(t, "run", p)
	if res.Code != 0 || res.Report.State != report.Completed {
		t.Fatalf("code %d\n%s", res.Code, res.Stderr)
	}
	b.holds(want)
	_, first := b.written()
	if res := (run{}).spate(t, "run", p); res.Code != 0 {
		t.Fatalf("code %d\n%s", res.Code, res.Stderr)
	}
	if _, second := b.written(); !maps.Equal(first, second) {
		t.Errorf("first %v\nthen %v", first, second)
	}
}

// A process that is killed at any of its writes, and another, leave each row
// once, though neither knows of the other.
func TestAKilledRunAndAnotherLeaveEachRowOnce(t *testing.T) {
	for _, at := range []int64{1, 2, 5, 7} {
		t.Run(fmt.Sprint("at write ", at), func(t *testing.T) {
			b := newBucket(t)
			want := b.fill()
			var puts atomic.Int64
			struck := make(chan struct{})
			b.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if r.Method == http.MethodPut && puts.Add(1) == at {
					next.ServeHTTP(httptest.NewRecorder(), r) // applied, and nobody hears of it
					close(struck)
					<-r.Context().Done()
					return
				}
				next.ServeHTTP(w, r)
			})
			p := b.sinkPipeline("")
			res := run{Begun: func(cmd *exec.Cmd) {
				<-struck
				_ = cmd.Process.Kill()
			}}.spate(t, "run", p)
			if res.Code == 0 {
				t.Fatal("it was not killed")
			}
			if res := (run{}).spate(t, "run", p); res.Code != 0 {
				t.Fatalf("code %d\n%s", res.Code, res.Stderr)
			}
			b.holds(want)
		})
	}
}

// intercept lets h act on every request of the runs.
func (b *bucket) intercept(h func(w http.ResponseWriter, r *http.Request, next http.Handler)) {
	next := b.proxy.Config.Handler
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h(w, r, next) }))
	b.t.Cleanup(outer.Close)
	b.proxy = outer
}

func TestABucketThatMayNotBeWrittenToHaltsTheJobOnce(t *testing.T) {
	b := newBucket(t)
	b.fill()
	var denied atomic.Int64
	b.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodPut {
			next.ServeHTTP(w, r)
			return
		}
		denied.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>`)
	})
	res := run{}.spate(t, "run", b.sinkPipeline(""))
	if res.Code != 1 || res.Report.State != report.Halted || len(res.Report.Dead) != 0 {
		t.Fatalf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
	}
	if want := "allow s3:PutObject on arn:aws:s3:::" + b.name + "/out/"; !strings.Contains(res.Stderr, want) {
		t.Errorf("standard error lacks %q:\n%s", want, res.Stderr)
	}
	if n := denied.Load(); n > 40 { // those that were sent together
		t.Errorf("%d writes were denied before the job stopped", n)
	}
}

// away answers writes with 503 until back is true, and says when that was first.
func (b *bucket) away(back *atomic.Bool) (first <-chan struct{}) {
	struck := make(chan struct{})
	var once sync.Once
	b.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodPut || back.Load() {
			next.ServeHTTP(w, r)
			return
		}
		once.Do(func() { close(struck) })
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	return struck
}

// It takes the minute that writes are repeated for, and the one until a probe.
func TestARunWaitsForABucketThatIsDownAndGoesOn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes two minutes")
	}
	t.Run("until it answers", func(t *testing.T) {
		t.Parallel()
		b := newBucket(t)
		want := b.fill()
		var back atomic.Bool
		first := b.away(&back)
		res := run{Begun: func(*exec.Cmd) {
			<-first
			time.AfterFunc(80*time.Second, func() { back.Store(true) })
		}}.spate(t, "run", b.sinkPipeline(""), "--progress", "none", "--state", t.TempDir())
		if res.Code != 0 || res.Report.State != report.Completed {
			t.Fatalf("code %d\n%s", res.Code, res.Stderr)
		}
		b.holds(want)
		for _, text := range []string{
			"spate: warning: the job is halted: ", "503", "once a minute", "interrupt to end it; nothing is lost then", "spate: note: the sink is up again",
		} {
			if !strings.Contains(res.Stderr, text) {
				t.Errorf("standard error lacks %q:\n%s", text, res.Stderr)
			}
		}
	})
	t.Run("and is interrupted", func(t *testing.T) {
		t.Parallel()
		b := newBucket(t)
		b.fill()
		var never atomic.Bool
		first := b.away(&never)
		res := run{Begun: func(cmd *exec.Cmd) {
			<-first
			time.AfterFunc(75*time.Second, func() { _ = cmd.Process.Signal(syscall.SIGINT) })
		}}.spate(t, "run", b.sinkPipeline(""), "--progress", "none")
		if res.Code != 130 || !strings.Contains(res.Stderr, "progress is lost then") || res.Report.State != report.Halted || !strings.Contains(res.Stderr, "was interrupted while its sink is down") {
			t.Errorf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
		}
	})
}

// INV-8.
func TestASinkInsideItsSourceIsRefused(t *testing.T) {
	b := newBucket(t)
	b.put("in/a", records("a", 1))
	res := run{}.spate(t, "run", b.sinkPipeline(""), "--set", "sink.s3.url=s3://"+b.name+"/in/out")
	if res.Code != 2 || !strings.Contains(res.Stderr, "would be read again") {
		t.Errorf("code %d\n%s", res.Code, res.Stderr)
	}
	// Above its source it would be but for a partition that is called like it.
	args := []string{"--set", "sink.s3.url=s3://" + b.name + "/", "--set", "source.s3.url=s3://" + b.name + "/name=a/"}
	b.put("name=a/k", records("a", 1))
	res = run{}.spate(t, append([]string{"run", b.sinkPipeline("")}, args...)...)
	if res.Code != 1 || res.Report.State != report.Halted || !strings.Contains(res.Stderr, "would be read again") {
		t.Errorf("code %d\n%s", res.Code, res.Stderr)
	}
}

func TestTooManyPartitionsNameTheirNumber(t *testing.T) {
	b := newBucket(t)
	var many bytes.Buffer
	for i := range 200 {
		fmt.Fprintf(&many, "{\"name\":\"n%d\",\"status\":200}\n", i)
	}
	b.put("in/a", many.Bytes())
	res := run{}.spate(t, "run", b.sinkPipeline(""))
	if res.Code != 1 || len(res.Report.Dead) != 1 || !strings.Contains(res.Report.Dead[0].Detail, "200 partitions") {
		t.Fatalf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
	}
	if res := (run{}).spate(t, "run", b.sinkPipeline("    max_partitions: 200")); res.Code != 0 {
		t.Fatalf("code %d\n%s", res.Code, res.Stderr)
	}
}
