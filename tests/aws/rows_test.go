package aws_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"

	"github.com/spate-go/spate/tests/lambdakit"
)

// unitID is how long a unit's id is, which every object of the sink's begins with.
const unitID = len("s3-_rD2rPZklAFVV4pYEYaWxg")

// delivered are the rows in the output that came from under the job's prefix of
// the source, how often each, by unit.
func (s *stack) delivered(t *testing.T, job string) map[string]map[row]int {
	t.Helper()
	bucket, prefix := s.place("OutputUrl")
	var (
		mu    sync.Mutex
		units = map[string]map[row]int{}
	)
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(8)
	pages := s3.NewListObjectsV2Paginator(s.s3, &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Contents {
			g.Go(func() error {
				body, err := lambdakit.Object(ctx, s.s3, bucket, *o.Key)
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				unit := path.Base(aws.ToString(o.Key))[:unitID]
				if units[unit] == nil {
					units[unit] = map[row]int{}
				}
				return count(units[unit], bytes.NewReader(body))
			})
		}
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for unit, rows := range units {
		for r := range rows {
			if !strings.HasPrefix(r.From, job+"/") {
				delete(units, unit)
			}
			break
		}
	}
	return units
}

// count counts the rows of an object of the sink's.
func count(rows map[row]int, body io.Reader) error {
	text, err := gzip.NewReader(body)
	if err != nil {
		return err
	}
	d := json.NewDecoder(text)
	d.DisallowUnknownFields()
	for {
		var r row
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		rows[r]++
	}
}

// exactly checks that the rows are what the pipeline delivers of the objects,
// once each, and nothing else.
func exactly(t *testing.T, units map[string]map[row]int, objects ...object) {
	t.Helper()
	got := map[row]int{}
	for _, rows := range units {
		for r, n := range rows {
			got[r] += n
		}
	}
	missing, twice := 0, 0
	for _, o := range objects {
		for _, r := range o.rows {
			if !r.delivered() {
				continue
			}
			switch n := got[r]; {
			case n == 0:
				missing++
			case n > 1:
				twice++
			}
			delete(got, r)
		}
	}
	if missing+twice+len(got) > 0 {
		t.Errorf("of the rows %d are missing, %d are there more than once, and %d are of nothing that was read", missing, twice, len(got))
	}
}
