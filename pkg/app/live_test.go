package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/control/awscontrol"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// liveStack is a stack whose intake does what it is asked in the ledger, and a
// bucket that may be wired to it.
type liveStack struct {
	*fakeStack
	stdin   string
	objects map[string]string // ETags by key
	config  types.NotificationConfiguration
	rule    string
	asked   []control.IntakeRequest
}

func newLiveStack() *liveStack {
	return &liveStack{fakeStack: newFakeStack(), objects: map[string]string{}}
}

const liveJob = "logs-live"

func (s *liveStack) run(ctx context.Context, t *testing.T, args ...string) (code int) {
	t.Helper()
	env := func(name string) (string, bool) { v, ok := s.env[name]; return v, ok }
	std := stdio{env: env, connect: s.connect, stdin: strings.NewReader(s.stdin), notifications: s.notifications}
	code, s.stdout, s.stderr = cliWith(ctx, t, Pipeline{}, std, append(args, "--stack", "logs")...)
	return code
}

func (s *liveStack) connect(context.Context, string, control.Stack) (*control.Control, error) {
	return control.New(s.Shared, control.Options{
		Functions: s, Lister: "lister", Intake: "intake", IntakeARN: "arn:intake", Rule: "rule", Reports: s,
		Stat: func(_ context.Context, _, key string) (unit.Object, error) {
			if s.objects[key] == "" {
				return unit.Object{}, failure.Errorf(failure.Member, failure.NotFound, "head %q: no such object", key)
			}
			return unit.Object{Key: key, ETag: s.objects[key], Size: 7}, nil
		},
	}), nil
}

func (s *liveStack) Call(ctx context.Context, function string, payload []byte) ([]byte, error) {
	if function != "intake" {
		return s.fakeStack.Call(ctx, function, payload)
	}
	var r control.IntakeRequest
	if err := json.Unmarshal(payload, &r); err != nil {
		return nil, err
	}
	s.asked = append(s.asked, r)
	if r.Open {
		if _, err := s.Open(ctx, liveJob, ledger.Start{Token: r.Token, Cutoff: r.Cutoff}); err != nil {
			return nil, &control.FunctionError{Message: err.Error()}
		}
	}
	a := control.IntakeAnswer{Job: liveJob, Bucket: "b", Prefix: "in/"}
	if m, err := s.Meta(ctx, liveJob); err == nil {
		a.Run, a.State, a.Cutoff = m.Run, m.State, m.Cutoff
	}
	for _, o := range r.Objects {
		t := control.Taken{Key: o.Key, Unit: s.take(ctx, o.Key)}
		switch {
		case strings.HasPrefix(o.Key, "gone"):
			t.Unit, t.Error = "", "head: no such object"
		case t.Unit == "":
			t.Ignored = "repeated"
		}
		a.Taken = append(a.Taken, t)
	}
	return json.Marshal(a)
}

// take enters a unit for the key, "" where it is claimed.
func (s *liveStack) take(ctx context.Context, key string) unit.ID {
	u := unit.Unit{Job: liveJob, Run: 1, Bucket: "b", Objects: []unit.Object{{Key: key, Size: 7, ETag: s.objects[key]}}}
	if _, err := s.Claimed(ctx, liveJob, u.Objects[0].ID()); err == nil {
		return ""
	}
	held, err := s.Enter(ctx, ledger.Entry{Job: liveJob, Run: 1,
		Units:  []ledger.Planned{{ID: u.ID(), FirstKey: key, Objects: 1, Body: []byte("{}")}},
		Claims: []ledger.Claim{{ID: u.Objects[0].ID(), Unit: u.ID()}},
	})
	if err != nil || len(held) > 0 {
		return ""
	}
	return u.ID()
}

func (s *liveStack) notifications(context.Context) (*awscontrol.Notifications, error) {
	return awscontrol.NewNotifications(s, s), nil
}

func (s *liveStack) GetBucketNotificationConfiguration(context.Context, *s3.GetBucketNotificationConfigurationInput, ...func(*s3.Options)) (*s3.GetBucketNotificationConfigurationOutput, error) {
	return &s3.GetBucketNotificationConfigurationOutput{QueueConfigurations: s.config.QueueConfigurations, EventBridgeConfiguration: s.config.EventBridgeConfiguration}, nil
}

func (s *liveStack) PutBucketNotificationConfiguration(_ context.Context, in *s3.PutBucketNotificationConfigurationInput, _ ...func(*s3.Options)) (*s3.PutBucketNotificationConfigurationOutput, error) {
	s.config = *in.NotificationConfiguration
	return nil, nil
}

func (s *liveStack) EnableRule(_ context.Context, in *eventbridge.EnableRuleInput, _ ...func(*eventbridge.Options)) (*eventbridge.EnableRuleOutput, error) {
	s.rule = *in.Name
	return nil, nil
}

func (s *liveStack) DisableRule(context.Context, *eventbridge.DisableRuleInput, ...func(*eventbridge.Options)) (*eventbridge.DisableRuleOutput, error) {
	s.rule = ""
	return nil, nil
}

func TestBucketConnectOpensTheJobBeforeTheBucketIsTold(t *testing.T) {
	s := newLiveStack()
	if code := s.run(t.Context(), t, "bucket", "connect", "--dry-run"); code != exitOK || !strings.Contains(s.stdout, "nothing was changed") || !strings.Contains(s.stdout, "+ spate-arn-intake") {
		t.Fatalf("exit %d\n%s%s", code, s.stdout, s.stderr)
	}
	if _, err := s.Meta(t.Context(), liveJob); err == nil || len(s.config.QueueConfigurations) > 0 {
		t.Fatal("a dry run changed something")
	}
	before := time.Now()
	if code := s.run(t.Context(), t, "bucket", "connect", "-o", "json"); code != exitOK {
		t.Fatalf("exit %d\n%s", code, s.stderr)
	}
	after := time.Now()
	m, err := s.Meta(t.Context(), liveJob)
	if err != nil {
		t.Fatal(err)
	}
	const rounding = 2 * time.Second
	if m.Cutoff.Before(before.Add(notice-rounding)) || m.Cutoff.After(after.Add(notice+rounding)) {
		t.Errorf("the cutoff is in %v", m.Cutoff.Sub(before))
	}
	if q := s.config.QueueConfigurations; len(q) != 1 || *q[0].QueueArn != "arn:intake" || *q[0].Filter.Key.FilterRules[0].Value != "in/" {
		t.Errorf("the bucket tells %+v", q)
	}
	var out connectedBucket
	if err := json.Unmarshal([]byte(s.stdout), &out); err != nil || !out.Cutoff.Equal(m.Cutoff) || !out.Written || out.Job != liveJob {
		t.Errorf("%s: %v", s.stdout, err)
	}
	t.Run("again, and the cutoff stays", func(t *testing.T) {
		if code := s.run(t.Context(), t, "bucket", "connect"); code != exitOK || !strings.Contains(s.stdout, "reads what is put from "+m.Cutoff.UTC().Format(time.RFC3339)+" on; spate job start JOB --cutoff live reads what was modified before\n") {
			t.Fatal(s.stdout, s.stderr)
		}
		if again, _ := s.Meta(t.Context(), liveJob); !again.Cutoff.Equal(m.Cutoff) {
			t.Errorf("cutoff %v", again.Cutoff)
		}
	})
	t.Run("another way is added, and each is taken off by its name", func(t *testing.T) {
		for range 2 { // whether the rule was on before, nobody knows
			if code := s.run(t.Context(), t, "bucket", "connect", "--via", "eventbridge"); code != exitOK || !strings.Contains(s.stdout, "--cutoff 2") {
				t.Fatal(s.stdout, s.stderr)
			}
		}
		if s.rule != "rule" || s.config.EventBridgeConfiguration == nil || len(s.config.QueueConfigurations) != 1 {
			t.Errorf("rule %q, %+v", s.rule, s.config)
		}
		if code := s.run(t.Context(), t, "bucket", "disconnect", "--via", "eventbridge"); code != exitOK || s.rule != "" || len(s.config.QueueConfigurations) != 1 {
			t.Errorf("exit %d, rule %q, %+v", code, s.rule, s.config)
		}
		if code := s.run(t.Context(), t, "bucket", "disconnect", "--via", "sns"); code != exitUsage {
			t.Errorf("exit %d: %s", code, s.stderr)
		}
	})
	t.Run("disconnect takes off what is ours", func(t *testing.T) {
		other := "other"
		s.config.QueueConfigurations = append(s.config.QueueConfigurations, types.QueueConfiguration{Id: &other, QueueArn: &other})
		if code := s.run(t.Context(), t, "bucket", "disconnect"); code != exitOK || s.rule != "" || len(s.config.QueueConfigurations) != 1 {
			t.Errorf("exit %d, rule %q, %+v\n%s", code, s.rule, s.config, s.stderr)
		}
	})
	t.Run("connected anew, another cutoff is named, since nothing was announced meanwhile", func(t *testing.T) {
		if code := s.run(t.Context(), t, "bucket", "connect", "--notice", "7m"); code != exitOK {
			t.Fatal(s.stderr)
		}
		_, named, _ := strings.Cut(s.stdout, "--cutoff ")
		named, _, _ = strings.Cut(named, " ")
		at, err := time.Parse(time.RFC3339, named)
		if d := time.Until(at); err != nil || d < 6*time.Minute || d > 7*time.Minute {
			t.Errorf("%s: %v", s.stdout, err)
		}
	})
	t.Run("an entry that another made is named", func(t *testing.T) {
		id, arn := "x", "arn:intake"
		s.config.QueueConfigurations = []types.QueueConfiguration{{Id: &id, QueueArn: &arn, Events: []types.Event{"s3:ObjectCreated:*"}}}
		if code := s.run(t.Context(), t, "bucket", "disconnect"); code != exitIncomplete || !strings.Contains(s.stderr, "x: s3:ObjectCreated") || len(s.config.QueueConfigurations) != 1 {
			t.Errorf("exit %d, %+v\n%s", code, s.config, s.stderr)
		}
	})
}

func TestAStartWithTheLiveCutoffWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLiveStack()
		if code := s.run(t.Context(), t, "job", "start", "backfill", "--cutoff", "live"); code != exitIncomplete || !strings.Contains(s.stderr, "spate bucket connect") {
			t.Errorf("without a job: exit %d\n%s", code, s.stderr)
		}
		s.run(t.Context(), t, "bucket", "connect")
		m, _ := s.Meta(t.Context(), liveJob)
		if code := s.run(t.Context(), t, "job", "start", "backfill", "--cutoff", "live"); code != exitOK {
			t.Fatalf("exit %d\n%s", code, s.stderr)
		}
		if time.Now().Before(m.Cutoff) || !strings.Contains(s.stderr, "waiting") {
			t.Errorf("it started at %v, the cutoff is %v\n%s", time.Now(), m.Cutoff, s.stderr)
		}
		if want := fmt.Sprintf(`"before":%q`, m.Cutoff.UTC().Format(time.RFC3339)); !strings.Contains(s.calls[0], want) {
			t.Errorf("asked %s, want %s", s.calls[0], want)
		}
	})
	t.Run("as for any that is to come", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newLiveStack()
			at := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
			if code := s.run(t.Context(), t, "job", "start", "b", "--cutoff", at.Format(time.RFC3339)); code != exitOK || time.Now().Before(at) {
				t.Errorf("exit %d at %v\n%s", code, time.Now(), s.stderr)
			}
		})
	})
	s := newLiveStack()
	if code := s.run(t.Context(), t, "job", "start", "b", "--cutoff", "yesterday"); code != exitUsage || !strings.Contains(s.stderr, "--cutoff yesterday") {
		t.Errorf("exit %d: %s", code, s.stderr)
	}
	if code := s.run(t.Context(), t, "job", "start", "b", "--cutoff", "2026-01-30T12:00:00Z"); code != exitOK || !strings.Contains(s.calls[0], `"before":"2026-01-30T12:00:00Z"`) {
		t.Errorf("exit %d: %s %v", code, s.stderr, s.calls)
	}
}

func TestWhatNoneIsDeadOfIsAnEmptyObject(t *testing.T) {
	s := newLiveStack()
	s.run(t.Context(), t, "bucket", "connect")
	if code := s.run(t.Context(), t, "job", "status", liveJob, "-o", "json"); code != exitOK || !strings.Contains(s.stdout, `"dead": {}`) {
		t.Errorf("code %d: %s%s", code, s.stdout, s.stderr)
	}
}

func TestAStartHasNoLiveCutoffOfAJobThatHasEnded(t *testing.T) {
	s := newLiveStack()
	s.run(t.Context(), t, "bucket", "connect", "--notice", "0s")
	s.run(t.Context(), t, "job", "cancel", liveJob)
	code := s.run(t.Context(), t, "job", "start", "backfill", "--cutoff", "live")
	if code != exitIncomplete || len(s.calls) > 0 || !strings.Contains(s.stderr, liveJob+" is not open") || !strings.Contains(s.stderr, "spate bucket connect") {
		t.Errorf("code %d, calls %q, %s", code, s.calls, s.stderr)
	}
}

func TestSendNamesObjects(t *testing.T) {
	s := newLiveStack()
	s.run(t.Context(), t, "bucket", "connect")
	s.asked = nil
	s.stdin = "in/a\nin/b c\r\n\n{\"key\":\"in/d\",\"etag\":\"\\\"1\\\"\",\"size\":3}\nin/a\ngone/x\n"
	if code := s.run(t.Context(), t, "job", "send", "--keys", "-"); code != exitIncomplete {
		t.Errorf("exit %d\n%s", code, s.stderr)
	}
	if s.stdout != "3 objects taken, 1 repeated\n" || !strings.Contains(s.stderr, "gone/x: head: no such object") || !strings.Contains(s.stderr, "1 object could not be taken") {
		t.Errorf("%s%s", s.stdout, s.stderr)
	}
	o := s.asked[0].Objects
	if len(o) != 5 || o[1].Key != "in/b c" || o[2].ETag != `"1"` || *o[2].Size != 3 {
		t.Errorf("asked %+v", o)
	}
	t.Run("in requests of some hundred", func(t *testing.T) {
		s.asked, s.stdin = nil, strings.Repeat("in/k\n", 1201)
		if code := s.run(t.Context(), t, "job", "send", "--keys", "-", "-o", "json"); code != exitOK || len(s.asked) != 3 || len(s.asked[2].Objects) != 201 {
			t.Errorf("exit %d, %d requests\n%s", code, len(s.asked), s.stderr)
		}
		if s.stdout == "" || !strings.Contains(s.stdout, `"repeated": 1200`) {
			t.Errorf("%s", s.stdout)
		}
	})
	for line, want := range map[string]string{`{"key":1}`: "line 1", `{"size":1}`: "line 1", "a\n" + `{"key":"a","etga":""}`: "line 2", strings.Repeat("x", 20<<10): "line 1"} {
		if s.stdin = line; s.run(t.Context(), t, "job", "send", "--keys", "-") == exitOK || !strings.Contains(s.stderr, want) {
			t.Errorf("%.20q: %s", line, s.stderr)
		}
	}
	if code := s.run(t.Context(), t, "job", "send", "--keys", "/no/such"); code != exitUsage {
		t.Errorf("no file: exit %d: %s", code, s.stderr)
	}
}

func TestStatusOfAContinuousJob(t *testing.T) {
	s := newLiveStack()
	s.run(t.Context(), t, "bucket", "connect")
	for i, key := range []string{"in/a", "in/b", "in/c"} {
		s.objects[key] = fmt.Sprintf(`"%d"`, i)
		id := s.take(t.Context(), key)
		r := ledger.Ref{Job: liveJob, Run: 1, ID: id}
		item, err := s.Begin(t.Context(), r, 1, 5)
		if err != nil {
			t.Fatal(err)
		}
		switch key {
		case "in/a":
			_, err = s.Done(t.Context(), r, ledger.Counts{BytesRead: 5})
		case "in/b":
			_, err = s.Dead(t.Context(), r, item.Serial, ledger.Cause{Reason: failure.NotFound, Detail: "gone", Record: -1})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Watched(t.Context(), liveJob, ledger.Watch{Run: 1, PerMinute: ledger.Flow{Objects: 12, Bytes: 3 << 20, Records: 99}}); err != nil {
		t.Fatal(err)
	}
	if code := s.run(t.Context(), t, "job", "status", liveJob); code != exitOK {
		t.Fatal(s.stderr)
	}
	for _, want := range []string{"1 unit open", "12 objects, 3.0 MiB, 99 records", "1 done, 1 dead", "not_found: 1", "cutoff", "spate job redrive"} {
		if !strings.Contains(s.stdout, want) {
			t.Errorf("no %q in\n%s", want, s.stdout)
		}
	}
	for key, want := range map[string]string{"in/a": `in/a, "0": done, in unit s3-`, "in/b": ": not_found", "in/c": `"2": open`} {
		if code := s.run(t.Context(), t, "job", "status", liveJob, "--key", key); code != exitOK || !strings.Contains(s.stdout, want) {
			t.Errorf("%s: exit %d: %s%s", key, code, s.stdout, s.stderr)
		}
	}
	if code := s.run(t.Context(), t, "job", "status", liveJob, "--key", "in/a", "--etag", `"old"`); code != exitIncomplete || !strings.Contains(s.stdout, "not announced") {
		t.Errorf("exit %d: %s%s", code, s.stdout, s.stderr)
	}
	if code := s.run(t.Context(), t, "job", "status", liveJob, "--key", "in/x"); code != exitIncomplete || !strings.Contains(s.stderr, "no such object: give the --etag of an earlier version") {
		t.Errorf("exit %d: %s%s", code, s.stdout, s.stderr)
	}
}

func TestAnObjectWhoseUnitIsDeadForOthersIsDone(t *testing.T) {
	s := newLiveStack()
	s.run(t.Context(), t, "bucket", "connect")
	u := unit.Unit{Job: liveJob, Run: 1, Bucket: "b"}
	e := ledger.Entry{Job: liveJob, Run: 1}
	for i, key := range []string{"in/gone", "in/there"} {
		s.objects[key] = fmt.Sprintf(`"%d"`, i)
		u.Objects = append(u.Objects, unit.Object{Key: key, Size: 7, ETag: s.objects[key]})
	}
	e.Units = []ledger.Planned{{ID: u.ID(), FirstKey: "in/gone", Objects: 2, Body: []byte("{}")}}
	for _, o := range u.Objects {
		e.Claims = append(e.Claims, ledger.Claim{ID: o.ID(), Unit: u.ID()})
	}
	if held, err := s.Enter(t.Context(), e); err != nil || len(held) > 0 {
		t.Fatal(held, err)
	}
	r := ledger.Ref{Job: liveJob, Run: 1, ID: u.ID()}
	item, err := s.Begin(t.Context(), r, 1, 1)
	bad := unit.Fault{Member: 0, Reason: failure.NotFound, Detail: "no such object"}
	cause := ledger.Cause{Reason: failure.NotFound, Detail: "no such object", Record: 0, Objects: u.Objects[:1], Faults: []unit.Fault{bad}}
	if err == nil {
		err = s.Fault(t.Context(), r, item.Serial, bad)
	}
	if err == nil {
		err = s.RestDone(t.Context(), r, item.Serial, ledger.Counts{})
	}
	if err == nil {
		_, err = s.Dead(t.Context(), r, item.Serial, cause)
	}
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"in/gone": `"0": dead, in unit s3-`, "in/there": `"1": done, in unit s3-`} {
		code := s.run(t.Context(), t, "job", "status", liveJob, "--key", key)
		if code != exitOK || !strings.Contains(s.stdout, want) || strings.Contains(s.stdout, "not_found") != (key == "in/gone") {
			t.Errorf("%s: exit %d: %s%s", key, code, s.stdout, s.stderr)
		}
	}
}
