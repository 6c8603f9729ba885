package crash_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"

	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
	"github.com/spate-go/spate/tests/lambdakit"
)

// put puts n rows of so many bytes under in/key.
func (w *world) put(t *testing.T, key string, n, size int) {
	t.Helper()
	if err := w.rows.Put(t.Context(), "in/"+key, n, size); err != nil {
		t.Fatal(err)
	}
}

// replace puts version v, of n rows, under in/key.
func (w *world) replace(t *testing.T, key string, v, n int) {
	t.Helper()
	if err := w.rows.Replace(t.Context(), "in/"+key, v, n); err != nil {
		t.Fatal(err)
	}
}

// write puts an object that holds no rows.
func (w *world) write(t *testing.T, key string, body []byte) {
	t.Helper()
	key = "in/" + key
	if _, err := w.S3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &w.Name, Key: &key, Body: bytes.NewReader(body)}); err != nil {
		t.Fatal(err)
	}
}

// anchor is a key under in/ that a unit begins at, whatever was before it.
func anchor(key string) string {
	for i := 0; ; i++ {
		k := fmt.Sprintf("%s-%d", key, i)
		if sum := sha256.Sum256([]byte("in/" + k)); sum[0] == 0 && sum[1]&0xC0 == 0 {
			return k
		}
	}
}

// objects are those under a prefix of the bucket.
func (w *world) objects(t *testing.T, prefix string) []unit.Object {
	t.Helper()
	var all []unit.Object
	pages := s3.NewListObjectsV2Paginator(w.S3, &s3.ListObjectsV2Input{Bucket: &w.Name, Prefix: &prefix})
	for pages.HasMorePages() {
		p, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range p.Contents {
			all = append(all, unit.Object{Key: *o.Key, Size: *o.Size, ETag: *o.ETag, LastModified: *o.LastModified})
		}
	}
	return all
}

// bodies reads the objects under a prefix, by key.
func (w *world) bodies(t *testing.T, prefix string) map[string][]byte {
	t.Helper()
	var (
		mu  sync.Mutex
		all = map[string][]byte{}
		g   errgroup.Group
	)
	g.SetLimit(8)
	for _, o := range w.objects(t, prefix) {
		g.Go(func() error {
			b, err := lambdakit.Object(t.Context(), w.S3, w.Name, o.Key)
			mu.Lock()
			defer mu.Unlock()
			all[o.Key] = b
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return all
}

// checkRows compares what was put with what came out, row by row.
func (w *world) checkRows(t *testing.T) {
	t.Helper()
	differs, err := w.rows.Compare(t.Context(), "out/")
	if err != nil {
		t.Fatal(err)
	}
	if differs != "" {
		t.Error(differs)
	}
}

// plan is what the listing of a prefix under in/ comes to, as if it were done
// once: unit ids.
func (w *world) plan(t *testing.T, prefix string) map[unit.ID]bool {
	t.Helper()
	ids := map[unit.ID]bool{}
	take := func(u *unit.Unit) error {
		ids[u.ID()] = true
		return nil
	}
	p := plan.NewPacker(plan.Options{Job: "any", Run: 1, Bucket: w.Name, Target: 1 << 20})
	for _, o := range w.objects(t, "in/"+prefix) {
		if o.Size == 0 {
			continue
		}
		cut := &plan.Cut{Delimiter: '\n'}
		if strings.HasSuffix(o.Key, ".gz") {
			cut = nil
		}
		if err := p.Add(o, cut, take); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(take); err != nil {
		t.Fatal(err)
	}
	return ids
}

// unitOf is the id of the unit that holds an object alone.
func (w *world) unitOf(t *testing.T, key string) unit.ID {
	t.Helper()
	o := w.objects(t, key)
	if len(o) != 1 {
		t.Fatalf("%d objects begin with %s", len(o), key)
	}
	return (&unit.Unit{Job: "any", Run: 1, Bucket: w.Name, Objects: o}).ID()
}

// items are the units in the table, by job, each with its state.
func (w *world) items(t *testing.T) map[string]map[unit.ID]string {
	t.Helper()
	jobs := map[string]map[unit.ID]string{}
	w.scan(t, "s3-", func(job string, i item) {
		if jobs[job] == nil {
			jobs[job] = map[unit.ID]string{}
		}
		jobs[job][unit.ID(text(i["sk"]))] = text(i["state"])
	})
	return jobs
}

// item is one of the table's.
type item = map[string]dynamotypes.AttributeValue

// scan calls each for every item of the jobs' shards whose key begins like that:
// a job's other partitions hold what is due again, under the same keys.
func (w *world) scan(t *testing.T, prefix string, each func(job string, i item)) {
	t.Helper()
	pages := dynamodb.NewScanPaginator(w.Dynamo, &dynamodb.ScanInput{TableName: &w.Name})
	for pages.HasMorePages() {
		p, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range p.Items {
			parts := strings.Split(text(i["pk"]), "#")
			if len(parts) == 3 && parts[2] != "todo" && parts[2] != "keys" && strings.HasPrefix(text(i["sk"]), prefix) {
				each(parts[1], i)
			}
		}
	}
}

func text(v dynamotypes.AttributeValue) string {
	if s, ok := v.(*dynamotypes.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

func number(v dynamotypes.AttributeValue) string {
	if n, ok := v.(*dynamotypes.AttributeValueMemberN); ok {
		return n.Value
	}
	return ""
}

// report is that of the job as it stands; it must be of that state.
func (w *world) report(t *testing.T, job string, state report.State) *report.Report {
	t.Helper()
	m := w.meta(t, job)
	key := "reports/" + report.Key(job, m.Run, m.Generation)
	got, err := lambdakit.Object(t.Context(), w.S3, w.Name, key)
	if err != nil {
		t.Fatalf("job %s is %s: %v", job, m.State, err)
	}
	var r report.Report
	if err := json.Unmarshal(got, &r); err != nil {
		t.Fatal(err)
	}
	if r.State != state || string(m.State) != string(state) {
		t.Errorf("job %s is %s, and its report says %s: %s, want %s", job, m.State, r.State, r.Reason, state)
	}
	return &r
}
