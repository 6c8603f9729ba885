package plan_test

import (
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/plan"
)

func TestWhateverChangesThePlanChangesItsDigest(t *testing.T) {
	noon := time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)
	distinct(t, plan.PlanDigest, []plan.Listing{
		{},
		{URL: "s3://b/p/"},
		{URL: "s3://b/q/"},
		{URL: "s3://b/p/\ninclude \"a\""},
		{URL: "s3://b/p/", Include: []string{"a"}},
		{URL: "s3://b/p/", Include: []string{"a", "b"}},
		{URL: "s3://b/p/", Include: []string{"a,b"}},
		{URL: "s3://b/p/", Exclude: []string{"a"}},
		{URL: "s3://b/p/", Archived: "skip"},
		{URL: "s3://b/p/", After: noon},
		{URL: "s3://b/p/", Before: noon},
		{URL: "s3://b/p/", StartAfter: "k"},
		{URL: "s3://b/p/", StartAfter: "l"},
		{URL: "s3://b/p/", Target: 1 << 20},
		{URL: "s3://b/p/", Cut: &plan.Cut{}},
		{URL: "s3://b/p/", Cut: &plan.Cut{Delimiter: '\n'}},
	})
}

func TestWhateverMovesARecordChangesTheReadDigest(t *testing.T) {
	distinct(t, plan.ReadDigest, []plan.Reading{
		{}, {Codec: "gzip"}, {Framing: "gzip"}, {Framing: "ndjson"}, {Framing: "ndjson", MaxRecord: 1}, {MaxRecord: 1},
	})
}

func distinct[T any](t *testing.T, digest func(T) string, inputs []T) {
	t.Helper()
	seen := map[string]int{}
	for i, in := range inputs {
		d := digest(in)
		if len(d) != 64 || d != digest(in) {
			t.Errorf("%+v: %q is not one digest", in, d)
		}
		if j, ok := seen[d]; ok {
			t.Errorf("%+v and %+v share a digest", inputs[j], in)
		}
		seen[d] = i
	}
}

func TestWhatIsTheSamePlanHasTheSameDigest(t *testing.T) {
	noon := time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)
	include := []string{"b", "a", "b"}
	a := plan.Listing{URL: "u", Include: include, After: noon}
	b := plan.Listing{URL: "u", Include: []string{"a", "b"}, Archived: "fail", Target: 64 << 20, After: noon.In(time.FixedZone("", 3600))}
	if plan.PlanDigest(a) != plan.PlanDigest(b) {
		t.Error("order, repetition, time zone or a default spelled out made another plan")
	}
	if include[0] != "b" {
		t.Error("the digest sorted its caller's globs")
	}
	if plan.ReadDigest(plan.Reading{}) != plan.ReadDigest(plan.Reading{Codec: "auto"}) {
		t.Error("auto spelled out is another way of reading")
	}
}

// Digests are kept with jobs: a release that computes others orphans them all.
func TestDigestsStayWhatTheyAre(t *testing.T) {
	l := plan.Listing{URL: "s3://b/p/", Include: []string{"**/*.json"}, Target: 1 << 20, Cut: &plan.Cut{Delimiter: '\n'}}
	if got, want := plan.PlanDigest(l), "df11fd4e59bdf55ebb349e7e2e480757b7ff5e99ad6480e3bd9a53130a1ace64"; got != want {
		t.Errorf("plan digest %s, want %s", got, want)
	}
	if got, want := plan.ReadDigest(plan.Reading{Framing: "ndjson", MaxRecord: 16 << 20}), "30a8e961ad3769da97ce7add6e769d4b9f1274ab41d2270358b29d308939877d"; got != want {
		t.Errorf("read digest %s, want %s", got, want)
	}
}
