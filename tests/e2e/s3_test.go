package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object/s3object"
	"github.com/spate-go/spate/pkg/report"
)

// bucket is a new bucket at the endpoint, with a proxy before it that a test
// can act from.
type bucket struct {
	t      *testing.T
	client *s3.Client
	name   string
	proxy  *httptest.Server

	mu     sync.Mutex
	before func(*http.Request) bool // false: the proxy answers 503; guarded by mu
	gets   []string                 // paths of object reads; guarded by mu
}

func newBucket(t *testing.T) *bucket {
	endpoint := os.Getenv("AWS_ENDPOINT_URL")
	if endpoint == "" {
		if os.Getenv("SPATE_TEST_AWS") == "required" {
			t.Fatal("no endpoint: set AWS_ENDPOINT_URL")
		}
		t.Skip("no endpoint: set AWS_ENDPOINT_URL")
	}
	client, err := s3object.NewClient(t.Context(), s3object.ClientOptions{Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	b := &bucket{t: t, client: client, name: fmt.Sprintf("e2e-%d", time.Now().UnixNano())}
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &b.name}); err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	b.proxy = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && !r.URL.Query().Has("list-type") {
			b.mu.Lock()
			b.gets = append(b.gets, r.URL.Path)
			ok := b.before == nil || b.before(r)
			b.mu.Unlock()
			if !ok {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(b.proxy.Close)
	return b
}

func (b *bucket) put(key string, data []byte) {
	b.t.Helper()
	in := &s3.PutObjectInput{Bucket: &b.name, Key: &key, Body: bytes.NewReader(data)}
	if _, err := b.client.PutObject(context.WithoutCancel(b.t.Context()), in); err != nil {
		b.t.Fatalf("put %q: %v", key, err)
	}
}

func (b *bucket) delete(key string) {
	if _, err := b.client.DeleteObject(context.Background(), &s3.DeleteObjectInput{Bucket: &b.name, Key: &key}); err != nil {
		b.t.Errorf("delete %q: %v", key, err)
	}
}

// run runs a job over the whole bucket, through the proxy.
func (b *bucket) run(out string, args ...string) result {
	b.t.Helper()
	p := pipeline(b.t, b.t.TempDir(), out, "")
	args = append([]string{
		"run", p, "--set", "source.s3.url=s3://" + b.name + "/", "--set", "source.s3.endpoint=" + b.proxy.URL,
		"--set", "source.s3.region=us-east-1",
	}, args...)
	return run{}.spate(b.t, args...)
}

func TestABucketIsDeliveredWhole(t *testing.T) {
	b, out := newBucket(t), filepath.Join(t.TempDir(), "out")
	long := strings.Repeat("é/", 340) + "xyz1" // 1,024 bytes
	var want [][]byte
	for i, key := range []string{"a b", "a+b", "a%41b", "a=b&c", "tab\tkey", "ctl\x01key", "ünï", "'quote\"", "x/../y", long, "year=2026/part.gz"} {
		data := records(fmt.Sprint("k", i), 100)
		want = append(want, data)
		if strings.HasSuffix(key, ".gz") {
			data = gz(t, data)
		}
		b.put(key, data)
	}
	large := records("large", 100_000)
	b.put("large", large)
	b.put("folder/", nil)
	b.put("empty", nil)
	res := b.run(out, "--set", "source.s3.target=1MiB")
	if res.Code != 0 {
		t.Fatalf("code %d\n%s", res.Code, res.Stderr)
	}
	exactly(t, out, append(want, large)...)
	if o := res.Report.Objects; o.Done != 12 || o.Skipped.Directory != 1 || o.Skipped.Empty != 1 || o.Listed != 14 {
		t.Errorf("objects %+v", o)
	}
	for _, path := range b.gets {
		if n := len(slices.DeleteFunc(slices.Clone(b.gets), func(p string) bool { return p != path })); n > 1 && !strings.HasSuffix(path, "/large") {
			t.Errorf("%d requests for %s, a small object", n, path)
		}
	}
}

func TestObjectsThatChangeAreNamedAndNeverMixed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *bucket)
		reason failure.Reason
	}{
		"deleted":     {func(b *bucket) { b.delete("k-1") }, failure.NotFound},
		"overwritten": {func(b *bucket) { b.put("k-1", records("new", 1000)) }, failure.ETagDrift},
	} {
		t.Run(name, func(t *testing.T) {
			b, out := newBucket(t), filepath.Join(t.TempDir(), "out")
			neighbours := [][]byte{records("n0", 1000), records("n2", 1000)}
			b.put("k-0", neighbours[0])
			b.put("k-1", records("old", 1000))
			b.put("k-2", neighbours[1])
			var once sync.Once
			b.before = func(*http.Request) bool { once.Do(func() { c.change(b) }); return true }
			res := b.run(out)
			if res.Code != 1 || len(res.Report.Dead) != 1 {
				t.Fatalf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
			}
			d := res.Report.Dead[0]
			if d.Reason != c.reason || len(d.Objects) != 1 || d.Objects[0].Key != "k-1" || d.Objects[0].ETag == "" {
				t.Errorf("dead %+v", d)
			}
			exactly(t, out, neighbours...)
		})
	}
}

// An object of several windows, overwritten between two of them: what was read
// stays a prefix of the old version.
func TestAnOverwriteBetweenTwoWindowsMixesNothing(t *testing.T) {
	b, out := newBucket(t), filepath.Join(t.TempDir(), "out")
	old := records("old", 1_000_000) // about 40 MiB
	b.put("k", gzStored(t, old))
	n := 0
	b.before = func(*http.Request) bool {
		if n++; n == 4 {
			b.put("k", gzStored(t, records("new", 1_000_000)))
		}
		return true
	}
	res := b.run(out)
	if res.Code != 1 || len(res.Report.Dead) != 1 || res.Report.Dead[0].Reason != failure.ETagDrift {
		t.Fatalf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) == 0 || !bytes.HasPrefix(old, got) {
		t.Errorf("%d bytes of rows that are no prefix of the old version", len(got))
	}
	if d := res.Report.Dead[0]; d.Record == nil || int(*d.Record) != bytes.Count(got, []byte("\n")) {
		t.Errorf("dead %+v, rows %d", d, bytes.Count(got, []byte("\n")))
	}
}

func TestAStoreThatAsksToSlowDownIsAskedAgain(t *testing.T) {
	b, out := newBucket(t), filepath.Join(t.TempDir(), "out")
	data := records("a", 1000)
	b.put("a", data)
	n := 0
	b.before = func(*http.Request) bool { n++; return n > 3 }
	res := b.run(out)
	if res.Code != 0 || res.Report.State != report.Completed || n != 4 {
		t.Errorf("code %d after %d requests\n%s", res.Code, n, res.Stderr)
	}
	exactly(t, out, data)
}

func TestABucketThatIsNotThereHaltsTheJob(t *testing.T) {
	b := newBucket(t)
	b.name = "no-such-bucket-at-all"
	res := b.run(filepath.Join(t.TempDir(), "out"))
	if res.Code != 1 || res.Report == nil || res.Report.State != report.Halted || !strings.Contains(res.Stderr, b.name) {
		t.Errorf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
	}
}

func TestForbiddenStopsTheJobOnce(t *testing.T) {
	b := newBucket(t)
	for i := range 200 {
		b.put(fmt.Sprintf("k-%03d", i), records("k", 10))
	}
	denied := 0
	deny := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && !r.URL.Query().Has("list-type") {
			b.mu.Lock()
			denied++
			b.mu.Unlock()
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>`)
			return
		}
		b.proxy.Config.Handler.ServeHTTP(w, r)
	}))
	defer deny.Close()
	b.proxy.URL = deny.URL
	res := b.run(filepath.Join(t.TempDir(), "out"))
	if res.Code != 1 || res.Report.State != report.Halted || len(res.Report.Dead) != 0 {
		t.Fatalf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
	}
	for _, want := range []string{"s3:GetObject", b.name} {
		if !strings.Contains(res.Stderr, want) {
			t.Errorf("standard error lacks %q:\n%s", want, res.Stderr)
		}
	}
	if denied > 80 { // those that were sent ahead
		t.Errorf("%d requests were denied before the job stopped", denied)
	}
}
