package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/report"
)

func loadText(t *testing.T, text string) (Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(path, nil, func(string) (string, bool) { return "", false })
}

func TestAPlaceForRejectsIsCheckedWithTheFile(t *testing.T) {
	const chained = "decode: {json: {}}\nchain: [{route: [{to: rejects, when: a > 1}, {to: rejects_dropped}]}]\n"
	for _, c := range []struct{ text, want string }{
		{"sink: {stdout: }\nrejects: {url: s3://other/p/}", ""},
		{"sink: {stdout: }\nrejects: {url: file://rel/dir, limit: 10MiB}", ""},
		{"sink: {s3: {url: s3://out/rows/}}\nrejects: {url: s3://out/rejects/}", ""},
		{"sink: {stdout: }\nrejects: {limit: 1MiB}", "rejects.url: required"},
		{"sink: {stdout: }\nrejects: {url: /dir/}", `rejects.url: "/dir/" is neither s3://bucket/prefix/ nor file:///dir/`},
		{"sink: {stdout: }\nrejects: {url: s3://b/p/q}", "rejects.url: s3://b/p/q/ lies inside the source"},
		{"sink: {s3: {url: s3://out/rows/}}\nrejects: {url: s3://out/rows}", "rejects.url: is where sink writes"},
		{"sink: {s3: {url: s3://out/, partition: a}}\nrejects: {url: s3://out/rejects/}", "rejects.url: is where sink writes"},
		{"sink: {file: {path: /x/../y/}}\nrejects: {url: file:///y}", "rejects.url: is where sink writes"},
		{chained + "sinks: {rejects: {blackhole: }, rejects_dropped: {stdout: }}", ""},
		{chained + "sinks: {rejects: {blackhole: }, rejects_dropped: {stdout: }}\nrejects: {url: s3://o/}", "sinks.rejects_dropped: rejects_dropped is a name of the rejects section"},
		{chained + "sinks: {rejects: {blackhole: }, rejects_dropped: {stdout: }}\nrejects: {url: s3://o/}", "sinks.rejects: rejects is a name of the rejects section"},
	} {
		got, err := loadText(t, minimal+"feed: {memory: }\n"+c.text)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s\n got %v\nwant %q", c.text, err, c.want)
		}
		if r := got.Rejects; err == nil && r != nil && r.Limit == 0 {
			t.Errorf("%s: without a limit", c.text)
		}
	}
}

// A repeat of a unit has to write the same objects: what decides their lines is
// part of how units are read.
func TestRejectsInABucketFixWhatDecidesThem(t *testing.T) {
	digest := func(more string) string {
		c, err := loadText(t, minimal+"feed: {memory: }\nsink: {stdout: }\ndecode: {json: {}}\n"+more)
		if err != nil {
			t.Fatal(err)
		}
		return readDigest(&c, Pipeline{})
	}
	const bucket, dir = "rejects: {url: s3://o/}\n", "rejects: {url: file:///o/}\n"
	if digest(bucket+"chain: [{filter: a > 1}]") == digest(bucket+"chain: [{filter: a > 2}]") {
		t.Error("in a bucket: another chain has the same fingerprint")
	}
	if digest(dir+"chain: [{filter: a > 1}]") != digest("chain: [{filter: a > 2}]") {
		t.Error("in a directory, which tells blocks by their bytes: the fingerprint differs")
	}
}

func TestAReportSaysOfRejectsBeyondTheLimit(t *testing.T) {
	r := &report.Report{State: report.Completed, Sinks: report.Sinks{"rejects": {Records: 5}}}
	r.Units.Planned, r.Records = 1, report.Records{In: 9, Rejected: 7}
	if w := warnings(r); len(w) > 0 {
		t.Errorf("got %q", w)
	}
	r.Sinks["rejects_dropped"] = report.Sink{Records: 2}
	if w := warnings(r); len(w) != 1 || !strings.HasPrefix(w[0], "2 rejected records are beyond rejects.limit") {
		t.Errorf("got %q", w)
	}
}

func TestAReportOfRecordsThatWereRejectedAndNotKeptSaysHowToKeepThem(t *testing.T) {
	r := &report.Report{State: report.Completed, Sinks: report.Sinks{"default": {Records: 2}}}
	r.Units.Planned, r.Records = 1, report.Records{In: 9, Out: 2, Rejected: 7}
	if w := warnings(r); len(w) != 1 || w[0] != "7 of 9 records were rejected: a rejects section keeps each, with its reason" {
		t.Errorf("got %q", w)
	}
	r.Records = report.Records{In: 9, Out: 9}
	if w := warnings(r); len(w) > 0 {
		t.Errorf("got %q", w)
	}
}
