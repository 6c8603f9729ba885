package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
)

// fakeStack is a stack in memory, whose lister does no more than start jobs.
type fakeStack struct {
	*memledger.Shared
	env    map[string]string
	name   string        // as the command line named it
	given  control.Stack // likewise
	calls  []string
	bytes  int64  // read of each unit
	refuse error  // of every function
	depth  error  // of counting the feed
	stdout string // of the last command
	stderr string

	mu     sync.Mutex
	stored map[string]*report.Report // by key; guarded by mu
}

func newFakeStack() *fakeStack {
	return &fakeStack{Shared: memledger.NewShared(), env: map[string]string{}, bytes: 1 << 20, stored: map[string]*report.Report{}}
}

// run runs the command line against s.
func (s *fakeStack) run(ctx context.Context, t *testing.T, args ...string) (code int) {
	t.Helper()
	env := func(name string) (string, bool) { v, ok := s.env[name]; return v, ok }
	code, s.stdout, s.stderr = cliWith(ctx, t, Pipeline{}, stdio{env: env, connect: s.connect}, args...)
	return code
}

func (s *fakeStack) connect(_ context.Context, name string, given control.Stack) (*control.Control, error) {
	s.name, s.given = name, given
	if name == "gone" {
		return nil, &exitError{errors.New("no such stack: gone"), exitIncomplete}
	}
	return control.New(s.Shared, control.Options{Functions: s, Lister: "lister", Finalizer: "finalizer", Reports: s, Feed: s}), nil
}

func (s *fakeStack) Call(ctx context.Context, _ string, payload []byte) ([]byte, error) {
	s.calls = append(s.calls, string(payload))
	if s.refuse != nil {
		return nil, s.refuse
	}
	var r struct{ Job, Token string }
	if err := json.Unmarshal(payload, &r); err != nil {
		return nil, err
	}
	if r.Job == "" {
		r.Job = "own"
	}
	m, err := s.Start(ctx, r.Job, ledger.Start{Token: r.Token})
	if err != nil {
		return nil, &control.FunctionError{Type: "wrapError", Message: err.Error()}
	}
	return json.Marshal(map[string]any{"job": r.Job, "run": m.Run, "state": m.State})
}

func (s *fakeStack) Queue(_ context.Context, function string, payload []byte) error {
	s.calls = append(s.calls, function+string(payload))
	return s.refuse
}

func (s *fakeStack) Report(_ context.Context, job string, run, generation int) (*report.Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.stored[report.Key(job, run, generation)]; r != nil {
		return r, nil
	}
	return nil, control.ErrNoReport
}

// writes has the finalizer's report of the run of m be r.
func (s *fakeStack) writes(m ledger.Meta, r *report.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored[report.Key(m.Job, m.Run, m.Generation)] = r
}

func (s *fakeStack) Depth(context.Context) (feed.Depth, error) {
	return feed.Depth{Ready: 1200, Delayed: 34, InFlight: 5, Dead: 6}, s.depth
}

// lists enters four units of 1 MiB and two objects each into a run of the job.
func (s *fakeStack) lists(t *testing.T, job string) ledger.Meta {
	t.Helper()
	m, err := s.Start(t.Context(), job, ledger.Start{Token: fmt.Sprint(job, time.Now()), Source: `{"url":"s3://b/p/","include":["*.gz"]}`})
	if err != nil {
		t.Fatal(err)
	}
	l := ledger.Lease{Job: job, Run: m.Run, Holder: "test"}
	_, err = s.Lease(t.Context(), l)
	p := ledger.Page{Last: "z", Inventory: ledger.Inventory{Objects: 8, Bytes: 4 << 20}}
	for i := range 4 {
		p.Units = append(p.Units, ledger.Planned{ID: unitID(i), FirstKey: fmt.Sprintf("p/%d.gz", i), Objects: 2, Body: []byte("{}")})
	}
	if err == nil {
		p, _, err = s.Publish(t.Context(), l, p)
	}
	if err = errors.Join(err, s.Advance(t.Context(), l, p), s.Finish(t.Context(), l)); err != nil {
		t.Fatal(err)
	}
	m, err = s.Meta(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func unitID(i int) unit.ID { return unit.ID(fmt.Sprint("s3-", i)) }

// reads does the units of m up to done, and gives up those from there up to dead.
func (s *fakeStack) reads(t *testing.T, m ledger.Meta, done, dead int) {
	t.Helper()
	for i := range dead {
		r := ledger.Ref{Job: m.Job, Run: m.Run, ID: unitID(i)}
		item, err := s.Begin(t.Context(), r, 1, 5)
		switch {
		case err != nil:
		case i < done:
			c := ledger.Counts{BytesRead: s.bytes}
			c.In, c.Out = 1000, 1000
			_, err = s.Done(t.Context(), r, c)
		default:
			_, err = s.Dead(t.Context(), r, item.Serial, ledger.Cause{Reason: failure.SinkRejected, Detail: "the row is refused", Record: -1})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (s *fakeStack) ends(t *testing.T, job string, as ledger.State) {
	t.Helper()
	m, err := s.Meta(t.Context(), job)
	if err == nil {
		err = s.Conclude(t.Context(), job, m.Run, m.Generation, as)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (s *fakeStack) halts(t *testing.T, job string) {
	t.Helper()
	h := ledger.Halt{Reason: failure.Denied, Detail: "get s3://b/p/0.gz: 403\nallow s3:GetObject", At: time.Now()}
	if _, err := s.Halt(t.Context(), job, h); err != nil {
		t.Fatal(err)
	}
}

func TestAStackIsNamedByFlagsOrEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		args string
		want control.Stack
		name string
	}{
		"by its name":                      {nil, "--stack logs", control.Stack{}, "logs"},
		"by SPATE_STACK":                   {map[string]string{"SPATE_STACK": "logs"}, "", control.Stack{}, "logs"},
		"by its name, but for one part":    {map[string]string{"JOB_TABLE": "not this"}, "--stack logs --table mine", control.Stack{Table: "mine"}, "logs"},
		"by the environment":               {map[string]string{"JOB_TABLE": "jobs", "REPORT_URL": "s3://r/"}, "", control.Stack{Table: "jobs", ReportURL: "s3://r/"}, ""},
		"by flags before the environment":  {map[string]string{"JOB_TABLE": "jobs", "LISTER_FUNCTION": "l"}, "--table mine", control.Stack{Table: "mine", Lister: "l"}, ""},
		"by all flags":                     {nil, "--table a --feed-url b --lister c --finalizer d --report-url e", control.Stack{Table: "a", FeedURL: "b", Lister: "c", Finalizer: "d", ReportURL: "e"}, ""},
		"by a flag that takes SPATE_STACK": {map[string]string{"SPATE_STACK": "other"}, "--stack logs", control.Stack{}, "logs"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFakeStack()
			s.env = c.env
			if code := s.run(t.Context(), t, append([]string{"job", "list"}, strings.Fields(c.args)...)...); code != exitOK {
				t.Fatalf("code %d: %s", code, s.stderr)
			}
			if s.given != c.want || s.name != c.name {
				t.Errorf("%q, %+v", s.name, s.given)
			}
		})
	}
}

func TestHelpDoesNotDependOnTheEnvironment(t *testing.T) {
	s := newFakeStack()
	s.env["SPATE_STACK"] = "logs"
	if code := s.run(t.Context(), t, "job", "--help"); code != exitOK || strings.Contains(s.stdout, "default") {
		t.Errorf("code %d: %s", code, s.stdout)
	}
}

func TestAStackThatIsNotThereIsAnError(t *testing.T) {
	s := newFakeStack()
	if code := s.run(t.Context(), t, "job", "list", "--stack", "gone"); code != exitIncomplete || s.stderr != "spate: no such stack: gone\n" {
		t.Errorf("code %d: %s", code, s.stderr)
	}
}

func TestAJobThatIsNotThereIsAnError(t *testing.T) {
	for _, command := range []string{"status", "watch", "report", "redrive", "resume", "cancel"} {
		s := newFakeStack()
		s.lists(t, "logs")
		code := s.run(t.Context(), t, "job", command, "lgos", "--table", "t")
		if code != exitIncomplete || s.stdout != "" || s.stderr != "spate: no such job: lgos: live jobs are logs\n" {
			t.Errorf("%s: code %d: %s%s", command, code, s.stdout, s.stderr)
		}
	}
}

func TestAnInterruptIsNoFault(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for command, want := range map[string]string{
		"list": "spate: job list was interrupted\n", "status logs": "spate: status of job logs was interrupted\n",
		"redrive logs": "spate: redrive of job logs was interrupted\n",
		"watch logs":   "spate: watch of job logs was interrupted: the job continues, and spate job watch logs follows it\n",
	} {
		s := newFakeStack()
		s.lists(t, "logs")
		if code := s.run(ctx, t, append(append([]string{"job"}, strings.Fields(command)...), "--table", "t")...); code != exitInterrupted || s.stderr != want {
			t.Errorf("%s: code %d: %s", command, code, s.stderr)
		}
	}
}

func TestShellsCompleteTheJobsThatAreLive(t *testing.T) {
	s := newFakeStack()
	s.lists(t, "logs")
	s.lists(t, "clicks")
	for line, want := range map[string]string{
		"__complete job status --stack x ":      "clicks\nlogs\n:4\n",
		"__complete job watch --table t ":       "clicks\nlogs\n:4\n",
		"__complete job start --table t ":       "clicks\nlogs\n:4\n",
		"__complete job status --table t logs ": ":4\n",
		"__complete job status --stack gone ":   ":4\n",
		"__complete job status ":                ":4\n", // no stack is named
	} {
		if code := s.run(t.Context(), t, strings.Split(line, " ")...); code != exitOK || s.stdout != want {
			t.Errorf("%s: code %d, %q", line, code, s.stdout)
		}
	}
}
