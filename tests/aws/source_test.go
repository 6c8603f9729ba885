package aws_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"github.com/spate-go/spate/pkg/report"
)

// row is what a job delivers of a record.
type row struct {
	From   string `json:"from"` // the object's key
	N      int    `json:"n"`
	Status int    `json:"status"`
}

// delivered reports whether the pipeline's filter lets the row through.
func (r row) delivered() bool { return r.Status >= 500 }

// records are what a report counts of the objects.
func records(objects []object) (r report.Records) {
	for _, o := range objects {
		r.In += int64(len(o.rows))
		for _, row := range o.rows {
			if row.delivered() {
				r.Out++
			}
		}
	}
	r.Filtered = r.In - r.Out
	return r
}

// object is one of the source, by what was put into it.
type object struct {
	key  string
	rows []row
	body []byte
}

// ndjson is an object of n records, stored as its key's extension says.
func ndjson(t *testing.T, key string, n int) object {
	t.Helper()
	return ndjsonFrom(t, key, 0, n)
}

// ndjsonFrom is one whose first record has another number than 0: a version of the
// object.
func ndjsonFrom(t *testing.T, key string, first, n int) object {
	t.Helper()
	o := object{key: key, rows: make([]row, n)}
	var text bytes.Buffer
	for i := range o.rows {
		// A number that is prime: the records at which an object is cut are of all
		// kinds.
		r := row{key, first + i, 200 + (i*37+len(key))%401}
		o.rows[i] = r
		record := fmt.Sprintf(`{"from":%q,"n":%d,"status":%d,"text":"é`, r.From, r.N, r.Status)
		fmt.Fprintf(&text, "%s%s\"}\n", record, strings.Repeat("x", recordBytes-len(record)-3))
	}
	o.body = compress(t, path.Ext(key), text.Bytes())
	return o
}

// recordBytes is what each record has.
const recordBytes = 128

func compress(t *testing.T, ext string, text []byte) []byte {
	t.Helper()
	var (
		b   bytes.Buffer
		w   io.WriteCloser
		err error
	)
	switch ext {
	case ".gz":
		w = gzip.NewWriter(&b)
	case ".zst":
		w, err = zstd.NewWriter(&b)
	default:
		return text
	}
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// put puts objects into the source.
func (s *stack) put(t *testing.T, objects ...object) {
	t.Helper()
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(8)
	for _, o := range objects {
		g.Go(func() error {
			_, err := s.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.source, Key: &o.key, Body: bytes.NewReader(o.body)})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// ranges is one object that is cut into n units: where n is even, each cut is where
// a record begins.
func ranges(t *testing.T, key string, n int) object {
	t.Helper()
	const target = 1 << 20
	o := ndjson(t, key, 8_000*n+n%2)
	if cut := (len(o.body) + target - 1) / target; cut != n {
		t.Fatalf("%d bytes are %d ranges, want %d", len(o.body), cut, n)
	}
	return o
}
