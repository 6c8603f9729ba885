package app

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

func TestAStartSaysWhichRunItIs(t *testing.T) {
	s := newFakeStack()
	if code := s.run(t.Context(), t, "job", "start", "logs", "--table", "t"); code != exitOK || s.stderr != "" {
		t.Fatalf("code %d: %s", code, s.stderr)
	}
	if s.stdout != "job logs, run 1 is listing: spate job watch logs shows how far it is\n" {
		t.Error(s.stdout)
	}
	s.ends(t, "logs", ledger.Cancelled)
	args := []string{"job", "start", "logs", "--table", "t", "-o", "json", "--url", "s3://b/p/", "--include", "a,b", "--include", "c", "--exclude", "d",
		"--start-after", "k", "--task-token", "task", "--token", "mine"}
	if code := s.run(t.Context(), t, args...); code != exitOK {
		t.Fatalf("code %d: %s", code, s.stderr)
	}
	var got startedJob
	if err := json.Unmarshal([]byte(s.stdout), &got); err != nil || got != (startedJob{"logs", 2, ledger.Listing, "mine"}) {
		t.Errorf("%s, %v", s.stdout, err)
	}
	want := `{"job":"logs","url":"s3://b/p/","include":["a,b","c"],"exclude":["d"],"start_after":"k","token":"mine","task_token":"task","detach":true}`
	if s.calls[2] != want || s.calls[3] != `lister{"job":"logs","run":2}` {
		t.Errorf("calls %q", s.calls[2:])
	}
}

func TestAStartWithoutANameIsOfTheJobThatTheStackNames(t *testing.T) {
	s := newFakeStack()
	if code := s.run(t.Context(), t, "job", "start", "--table", "t"); code != exitOK || s.stdout != "job own, run 1 is listing: spate job watch own shows how far it is\n" {
		t.Errorf("code %d: %s%s", code, s.stdout, s.stderr)
	}
	code := s.run(t.Context(), t, "job", "start", "--table", "t")
	if code != exitIncomplete || s.stderr != "spate: start job own: run 1 is listing: job is active\n" {
		t.Errorf("code %d: %s", code, s.stderr)
	}
}

func TestAStartThatIsRefusedSaysWhyInTheListersWords(t *testing.T) {
	s := newFakeStack()
	s.lists(t, "logs")
	code := s.run(t.Context(), t, "job", "start", "logs", "--table", "t")
	if code != exitIncomplete || s.stdout != "" || s.stderr != "spate: start job logs: run 1 is running: job is active\n" {
		t.Errorf("code %d: %s", code, s.stderr)
	}
}

func TestAStartThatNoStackCouldReadAsksNone(t *testing.T) {
	for args, want := range map[string]string{
		"--url file:///tmp/":                      "--url",
		"--url bucket/prefix/":                    "--url",
		"--url s3://b/p/ --include a --include [": "include[1]",
		"--exclude {a":                            "exclude[0]",
	} {
		s := newFakeStack()
		code := s.run(t.Context(), t, append([]string{"job", "start", "logs", "--table", "t"}, strings.Fields(args)...)...)
		if code != exitUsage || len(s.calls) > 0 || !strings.Contains(s.stderr, want) {
			t.Errorf("%s: code %d, %d calls, %s", args, code, len(s.calls), s.stderr)
		}
	}
}

func TestAStartThatMayHaveBeenNamesItsToken(t *testing.T) {
	s := newFakeStack()
	s.refuse = failure.New(failure.Job, failure.Denied, errors.New("allow it"))
	code := s.run(t.Context(), t, "job", "start", "logs", "--table", "t")
	said := regexp.MustCompile(`^spate: start job logs: allow it: if it started anyway, --token ([A-Z0-9]+) finds it\n$`).FindStringSubmatch(s.stderr)
	if code != exitIncomplete || said == nil || !strings.Contains(s.calls[0], `"token":"`+said[1]+`"`) {
		t.Errorf("code %d: %s, calls %q", code, s.stderr, s.calls)
	}
}

func TestTheJobAndTheTableComeFromThePipelineFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.yaml")
	text := `pipeline: {name: p}
source: {s3: {url: "s3://b/p/"}}
feed: {sqs: {queue_url: "${FEED_QUEUE_URL:-https://q}"}}
job: {name: logs, table: jobs}
sink: {blackhole: {}}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]struct {
		job   string
		given control.Stack
	}{
		"":                {"logs", control.Stack{Table: "jobs", FeedURL: "https://q"}},
		"other":           {"other", control.Stack{Table: "jobs", FeedURL: "https://q"}},
		"--table mine":    {"logs", control.Stack{Table: "mine", FeedURL: "https://q"}},
		"--stack s":       {"logs", control.Stack{}},
		"other --stack s": {"other", control.Stack{}},
	} {
		s := newFakeStack()
		code := s.run(t.Context(), t, append([]string{"job", "start", "--pipeline", path}, strings.Fields(args)...)...)
		if code != exitOK || !strings.HasPrefix(s.stdout, "job "+want.job+", run 1 ") || s.given != want.given {
			t.Errorf("%q: code %d, %+v, %s%s", args, code, s.given, s.stdout, s.stderr)
		}
	}
}
