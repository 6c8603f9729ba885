package s3object_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/object/s3object"
)

func pageOf(w http.ResponseWriter, truncated bool, token string, contents ...string) {
	_, _ = fmt.Fprintf(w, `<?xml version="1.0"?><ListBucketResult><EncodingType>url</EncodingType><IsTruncated>%t</IsTruncated>`, truncated)
	if token != "" {
		_, _ = fmt.Fprintf(w, "<NextContinuationToken>%s</NextContinuationToken>", token)
	}
	_, _ = fmt.Fprint(w, strings.Join(contents, ""), "</ListBucketResult>")
}

func content(key, rest string) string {
	return fmt.Sprintf(`<Contents><Key>%s</Key><Size>7</Size><ETag>&quot;e&quot;</ETag><LastModified>2026-11-29T10:00:00.000Z</LastModified>%s</Contents>`, key, rest)
}

func TestAListingAsksByKeyAndDecodes(t *testing.T) {
	var query map[string][]string
	b := bySDK(t, s3object.Options{}, func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.Query()
		if h := r.Header.Get("X-Amz-Optional-Object-Attributes"); h != "RestoreStatus" {
			t.Errorf("optional attributes: %q", h)
		}
		pageOf(w, true, "t", content("logs/a+b%2Bc%25", ""), content("logs/%01", ""), content("logs/%F0%9F%98%80", ""))
	})
	_, err := b.List(t.Context(), "logs/Z")
	if err == nil || !strings.Contains(err.Error(), "order") {
		t.Errorf("a listing out of order: %v", err)
	}
	expect(t, err, failure.Job, failure.Config, "logs/")

	b = bySDK(t, s3object.Options{}, func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.Query()
		pageOf(w, true, "t", content("logs/%01", ""), content("logs/a+b%2Bc%25", ""), content("logs/%F0%9F%98%80", ""))
	})
	p, err := b.List(t.Context(), "logs/")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	want := object.Page{Last: "logs/😀", More: true}
	for _, k := range []string{"logs/\x01", "logs/a b+c%", "logs/😀"} {
		var o object.Listed
		o.Key, o.Size, o.ETag, o.LastModified = k, 7, `"e"`, at
		want.Objects = append(want.Objects, o)
	}
	if d := cmp.Diff(want, p); d != "" {
		t.Error(d)
	}
	for k, v := range map[string]string{"prefix": "logs/", "start-after": "logs/", "encoding-type": "url", "list-type": "2"} {
		if len(query[k]) != 1 || query[k][0] != v {
			t.Errorf("%s = %q", k, query[k])
		}
	}
}

func TestAKeyThatDoesNotComeAfterTheOneAskedForIsRefused(t *testing.T) {
	b := bySDK(t, s3object.Options{}, func(w http.ResponseWriter, _ *http.Request) { pageOf(w, false, "", content("logs/a", "")) })
	_, err := b.List(t.Context(), "logs/a")
	expect(t, err, failure.Job, failure.Config, "logs/a")
}

func TestAPageWithoutKeysLeadsOnByItsToken(t *testing.T) {
	calls := 0
	b := bySDK(t, s3object.Options{}, func(w http.ResponseWriter, r *http.Request) {
		calls++
		if r.URL.Query().Get("continuation-token") == "t" {
			pageOf(w, false, "", content("logs/z", ""))
			return
		}
		pageOf(w, true, "t")
	})
	p, err := b.List(t.Context(), "")
	if err != nil || calls != 2 || len(p.Objects) != 1 || p.More || p.Last != "logs/z" {
		t.Errorf("%d calls: %+v, %v", calls, p, err)
	}
}

func TestAKeyThatIsNotEncodedIsTakenAsItIs(t *testing.T) {
	b := bySDK(t, s3object.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, "<ListBucketResult>", content("logs/a+b%41", ""), "</ListBucketResult>")
	})
	p, err := b.List(t.Context(), "")
	if err != nil || len(p.Objects) != 1 || p.Objects[0].Key != "logs/a+b%41" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestArchivedIsWhatMustBeRestoredFirst(t *testing.T) {
	const (
		under    = `<RestoreStatus><IsRestoreInProgress>true</IsRestoreInProgress></RestoreStatus>`
		restored = `<RestoreStatus><IsRestoreInProgress>false</IsRestoreInProgress><RestoreExpiryDate>2026-12-09T10:00:00.000Z</RestoreExpiryDate></RestoreStatus>`
	)
	for name, c := range map[string]struct {
		rest string
		want bool
	}{
		"standard":              {"<StorageClass>STANDARD</StorageClass>", false},
		"no class":              {"", false},
		"instant retrieval":     {"<StorageClass>GLACIER_IR</StorageClass>", false},
		"glacier":               {"<StorageClass>GLACIER</StorageClass>", true},
		"deep archive":          {"<StorageClass>DEEP_ARCHIVE</StorageClass>", true},
		"under way":             {"<StorageClass>GLACIER</StorageClass>" + under, true},
		"never asked for":       {"<StorageClass>GLACIER</StorageClass><RestoreStatus><IsRestoreInProgress>false</IsRestoreInProgress></RestoreStatus>", true},
		"restored":              {"<StorageClass>GLACIER</StorageClass>" + restored, false},
		"restored from deep":    {"<StorageClass>DEEP_ARCHIVE</StorageClass>" + restored, false},
		"tiering":               {"<StorageClass>INTELLIGENT_TIERING</StorageClass>", false},
		"tiering, on its way":   {"<StorageClass>INTELLIGENT_TIERING</StorageClass>" + under, true},
		"tiering, back again":   {"<StorageClass>INTELLIGENT_TIERING</StorageClass>" + restored, false},
		"a class not yet known": {"<StorageClass>NEXT_BIG_THING</StorageClass>", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := bySDK(t, s3object.Options{}, func(w http.ResponseWriter, _ *http.Request) { pageOf(w, false, "", content("logs/a", c.rest)) })
			p, err := b.List(t.Context(), "")
			if err != nil || len(p.Objects) != 1 || p.Objects[0].Archived != c.want {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

func TestADirectoryBucketIsRefusedBeforeItIsAsked(t *testing.T) {
	_, err := s3object.New(nil, "b--use1-az4--x-s3", "", s3object.Options{}).List(t.Context(), "")
	expect(t, err, failure.Job, failure.Config, "directory bucket")
}

func TestAListingThatFailsIsLeftToItsCallerToRepeat(t *testing.T) {
	calls := 0
	b := bySDK(t, s3object.Options{}, func(w http.ResponseWriter, r *http.Request) {
		calls++
		refuse(http.StatusInternalServerError, "InternalError", "")(w, r)
	})
	_, err := b.List(t.Context(), "")
	expect(t, err, failure.Transient, failure.RetriesExhausted)
	if calls != 1 {
		t.Errorf("%d requests", calls)
	}
}
