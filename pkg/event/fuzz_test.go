package event_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/event"
	"github.com/spate-go/spate/pkg/unit"
)

func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add([]byte(`{"records":[{"eventversion":"2.1","EVENTNAME":"ObjectCreated:Put","S3":{"Bucket":{"Name":"b"},"Object":{"KEY":"\ud800","size":1}}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		records, err := event.Decode(body)
		if (err == nil) != (len(records) > 0) || len(records) > event.MaxRecords {
			t.Fatalf("%d records, %v", len(records), err)
		}
		total := 0
		for i := range records {
			r := records[i]
			total += len(r.Body())
			if r.Err != nil && len(r.Err.Error()) > 2<<10 {
				t.Fatalf("a reason of %d bytes: %.200s", len(r.Err.Error()), r.Err)
			}
			if r.Err != nil || r.Ignored != "" {
				continue
			}
			if r.Key == "" || r.Bucket == "" || r.Size < -1 || strings.HasPrefix(r.ETag, `""`) {
				t.Fatalf("%+v", r)
			}
			survives(t, r)
			u := unit.Unit{Job: "j", Bucket: "b", Objects: []unit.Object{{Key: r.Key, Size: max(0, r.Size), ETag: r.ETag, Version: r.Version, LastModified: r.Time}}}
			if _, err := u.Encode(); err != nil {
				t.Fatalf("what no unit can name: %v", err)
			}
		}
		if total > len(body)+len(records)*16 {
			t.Fatalf("%d bytes of records in a body of %d", total, len(body))
		}
	})
}
