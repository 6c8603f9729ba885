package app

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/sink/capturesink"
)

// preflight runs spate check and returns what it says of each check.
func preflight(t *testing.T, p Pipeline, args ...string) (int, map[string]checked) {
	t.Helper()
	code, stdout, stderr := cliOf(t, p, append([]string{"check", "-o", "json"}, args...)...)
	if (code != exitOK) != (stderr != "") {
		t.Errorf("code %d, standard error %q", code, stderr)
	}
	if code == exitUsage {
		return code, nil
	}
	var all []checked
	if err := json.Unmarshal([]byte(stdout), &all); err != nil {
		t.Fatal(err)
	}
	by := map[string]checked{}
	for _, k := range all {
		by[k.What] = k
	}
	return code, by
}

func TestACheckOfWhatIsWell(t *testing.T) {
	b, path := archive(t)
	code, got := preflight(t, Pipeline{Source: b}, path)
	if code != exitOK || len(got) != 3 {
		t.Errorf("code %d, %+v", code, got)
	}
	for what, k := range got {
		if k.Outcome != passed {
			t.Errorf("%s: %+v", what, k)
		}
	}
	if d := cmp.Diff([]memobject.Request{{Key: "p/a.ndjson", Off: 0, N: 1}}, b.Requests()); d != "" {
		t.Errorf("what was read (-want +got):\n%s", d)
	}
	if b.Calls(memobject.OpList) != 1 {
		t.Errorf("%d listings", b.Calls(memobject.OpList))
	}
}

func TestACheckFindsWhatIsInTheWay(t *testing.T) {
	denied := failure.New(failure.Job, failure.Denied, errors.New("allow it"))
	on := func(op memobject.Op) func(memobject.Op, string, int64) error {
		return func(o memobject.Op, _ string, _ int64) error {
			if o == op {
				return denied
			}
			return nil
		}
	}
	exists := filepath.Join(t.TempDir(), "exists")
	if err := os.WriteFile(exists, []byte("precious\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		says    string
		hook    func(memobject.Op, string, int64) error
		args    []string
		code    int
		what    string
		outcome outcome
		detail  string
	}{
		{"no listing", on(memobject.OpList), nil, 1, "source", failed, "allow it"},
		{"no reading", on(memobject.OpGet), nil, 1, "source", failed, "allow it"},
		{"an output that exists", nil, []string{"--set", "sink.file.path=" + exists}, 1, "sink", failed, "--overwrite"},
		{"unless it may be replaced", nil, []string{"--overwrite", "--set", "sink.file.path=" + exists}, 0, "sink", passed, "exists and would be"},
		{"a path below a file", nil, []string{"--set", "sink.file.path=" + exists + "/x"}, 1, "sink", failed, exists},
		{"rejects below a file", nil, []string{"--set", "rejects.url=file://" + exists + "/x/"}, 1, "rejects", failed, "rejects.url: " + exists + " is a file"},
		{"nothing that would be read", nil, []string{"--set", `source.s3.include=["*.parquet"]`}, 0, "source", untested, "the first page"},
		{"rows that go nowhere", nil, []string{"--set", "sink.file=null", "--set", "sink.blackhole={}"}, 0, "sink", passed, "discarded"},
		{"a key that is unknown", nil, []string{"--set", "sink.fil={}"}, 2, "", "", ""},
		{"a chain that does not compile", nil, []string{"--set", "decode={json: {}}", "--set", `chain=[{filter: "a >"}]`}, 2, "", "", ""},
		{"a chain over raw records", nil, []string{"--set", "decode={raw: {}}", "--set", `chain=[{filter: "a > 1"}]`}, 2, "", "", ""},
		{"no sink", nil, []string{"--set", "sink=null"}, 2, "", "", ""},
		{"a glob that is none", nil, []string{"--set", `source.s3.include=["["]`}, 2, "", "", ""},
		{"memory that holds no unit", nil, []string{"--set", "pipeline.memory=1MiB"}, 2, "", "", ""},
		{"a URL that is none", nil, []string{"--set", `source.s3.url=ftp://x/`}, 2, "", "", ""},
	} {
		t.Run(c.says, func(t *testing.T) {
			b, path := archive(t)
			b.Hook = c.hook
			code, got := preflight(t, Pipeline{Source: b}, append([]string{path}, c.args...)...)
			if k := got[c.what]; code != c.code || k.Outcome != c.outcome || !strings.Contains(k.Detail, c.detail) {
				t.Errorf("code %d, %+v", code, got)
			}
		})
	}
	if text, err := os.ReadFile(exists); err != nil || string(text) != "precious\n" {
		t.Errorf("the file in the way holds %q, %v", text, err)
	}
}

func TestACheckReadsNothingThatMustBeRestored(t *testing.T) {
	b, path := archive(t)
	b.Archive("p/a.ndjson", true)
	code, got := preflight(t, Pipeline{Source: b}, path)
	if r := b.Requests(); code != exitOK || len(r) != 1 || r[0].Key != "p/b.ndjson" {
		t.Errorf("code %d, %+v, read %+v", code, got, r)
	}
}

func TestACheckRefusesASinkInsideItsSource(t *testing.T) {
	_, path := archive(t)
	dir := t.TempDir()
	code, got := preflight(t, Pipeline{}, path, "--set", "source.s3.url=file://"+dir, "--set", "sink.file.path="+filepath.Join(dir, "out"))
	if k := got["sink"]; code != exitIncomplete || k.Outcome != failed || !strings.Contains(k.Detail, "inside the source") {
		t.Errorf("code %d, %+v", code, got)
	}
}

func TestASinkInGoIsNotTried(t *testing.T) {
	b, path := archive(t)
	code, got := preflight(t, Pipeline{Source: b, Sink: capturesink.New(capturesink.Options{})}, path, "--set", "sink=null")
	if code != exitOK || got["sink"].Outcome != untested {
		t.Errorf("code %d, %+v", code, got)
	}
}

func TestACheckIsWrittenForPeople(t *testing.T) {
	b, path := archive(t)
	b.Hook = func(memobject.Op, string, int64) error {
		return failure.New(failure.Job, failure.Denied, errors.New("list: denied: allow s3:ListBucket on arn:aws:s3:::b"))
	}
	code, stdout, stderr := cliOf(t, Pipeline{Source: b}, "check", path, "--set", "sink.file=null", "--set", "sink.stdout={}")
	want := "ok        config  " + path + " is valid\n" +
		"failed    source  list: denied: allow s3:ListBucket on arn:aws:s3:::b\n" +
		"ok        sink    standard output\n"
	if code != exitIncomplete || stdout != want || stderr != "spate: the job would not run: source\n" {
		t.Errorf("code %d\n%s%s", code, stdout, stderr)
	}
}

func TestThatThereIsNoSinkIsSaidInOneLine(t *testing.T) {
	b, path := archive(t)
	for _, command := range []string{"check", "run"} {
		code, _, stderr := cliOf(t, Pipeline{Source: b}, command, path, "--set", "sink=null")
		if code != exitUsage || !strings.HasSuffix(stderr, "spate: sink: required: say where rows go, as sink: {file: {path: out.ndjson}} does\n") {
			t.Errorf("%s: code %d, %s", command, code, stderr)
		}
	}
}
