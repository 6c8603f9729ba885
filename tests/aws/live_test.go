package aws_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
)

// TestAContinuousJob is the story of the stack's continuous job, by the bucket's own
// notifications in each of their ways. Its parts go on from one another: a bucket
// has one configuration, and a stack one such job.
func TestAContinuousJob(t *testing.T) {
	s := onStack(t)
	t.Parallel()
	l := &liveJob{
		stack: s, ledger: dynamoledger.New(s.dynamo, s.outputs["JobTable"], dynamoledger.Options{}), rows: map[row]times{},
	}
	for _, part := range []struct {
		name string
		play func(*testing.T)
	}{
		{"a bucket that the stack made is wired", l.isWired},
		{"a job that is cancelled names what is open", l.isCancelled},
		{"a listing and notifications meet without a gap", l.handsOver},
		{"of what is announced each version is read once", l.readsEachOnce},
		{"a notification that cannot be read is put aside", l.refuses},
		{"of a bucket that keeps versions each one is read", l.readsVersions},
		{"a topic may tell, raw or wrapped", l.readsTopics},
		{"EventBridge may tell, beside entries of others", l.readsEvents},
		{"objects may be named", l.takesNames},
		{"a dead unit is read again once its object is there", l.redrives},
		{"its rows are those of the objects", l.delivered},
	} {
		if !t.Run(part.name, part.play) {
			return
		}
	}
}

// live is the continuous job, which is called after the pipeline, and prefix what
// it reads.
const (
	live   = "stack-test-live"
	prefix = "live/"
)

// times is how often a row may be in the output.
type times struct{ least, most int }

var (
	exactlyOnce = times{1, 1}
	atMostOnce  = times{0, 1}
	onceOrTwice = times{1, 2}
)

type liveJob struct {
	*stack
	ledger *dynamoledger.Ledger
	rows   map[row]times
	gone   []object // named, and not there
}

// put puts an object, of which each row is to be delivered so often.
func (l *liveJob) put(t *testing.T, o object, n times) unit.Object {
	t.Helper()
	l.expect(o, n)
	out, err := l.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &l.source, Key: &o.key, Body: strings.NewReader(string(o.body))})
	if err != nil {
		t.Fatal(err)
	}
	return unit.Object{Key: o.key, ETag: aws.ToString(out.ETag)}
}

func (l *liveJob) expect(o object, n times) {
	for _, r := range o.rows {
		if r.delivered() {
			l.rows[r] = n
		}
	}
}

// held is what the ledger says of an object, and its unit's item.
func (l *liveJob) held(t *testing.T, o unit.Object) (ledger.Held, ledger.Item) {
	t.Helper()
	h, err := l.ledger.Claimed(t.Context(), live, o.ID())
	if errors.Is(err, ledger.ErrNoClaim) || errors.Is(err, ledger.ErrNoJob) {
		return h, ledger.Item{}
	}
	var it ledger.Item
	if err == nil {
		m, e := l.ledger.Meta(t.Context(), live)
		if err = e; err == nil {
			it, err = l.ledger.Look(t.Context(), ledger.Ref{Job: live, Run: m.Run, ID: h.Unit})
		}
	}
	if err != nil && !errors.Is(err, ledger.ErrNoUnit) {
		t.Fatal(err)
	}
	return h, it
}

// await waits until objects are in units of that state. The schedule is not waited
// for: what was overwritten is looked at again.
func (l *liveJob) await(t *testing.T, is ledger.UnitState, objects ...unit.Object) {
	t.Helper()
	due := time.Now().Add(2 * time.Second)
	for end := time.Now().Add(2 * time.Minute); len(objects) > 0; time.Sleep(100 * time.Millisecond) {
		h, it := l.held(t, objects[0])
		if (it.State == is || is == ledger.Done && spared(it, objects[0])) && !h.Overwritten {
			objects = objects[1:]
			continue
		}
		if time.Now().After(end) {
			t.Fatalf("%q is not %s: %+v, %+v", objects[0].Key, is, h, it)
		}
		if time.Now().After(due) {
			l.tick(t)
			due = time.Now().Add(time.Second)
		}
	}
}

// spared reports whether an object was delivered, and others of its unit are not
// there.
func spared(it ledger.Item, o unit.Object) bool {
	return it.State == ledger.Dead && it.RestDone && !slices.ContainsFunc(it.Cause.Objects, func(bad unit.Object) bool { return bad.ID() == o.ID() })
}

func (l *liveJob) bucket(t *testing.T, code int, args ...string) result {
	t.Helper()
	args = append([]string{"bucket"}, args...)
	return l.spate(t, "", args...).want(t, code, args...)
}

// connected is what the bucket commands print.
type connected struct {
	Job     string
	Cutoff  time.Time
	Changes []string
	Written bool
}

// tells is the configuration of the bucket's notifications.
func (l *liveJob) tells(t *testing.T) *types.NotificationConfiguration {
	t.Helper()
	out, err := l.s3.GetBucketNotificationConfiguration(t.Context(), &s3.GetBucketNotificationConfigurationInput{Bucket: &l.source})
	if err != nil {
		t.Fatal(err)
	}
	return &types.NotificationConfiguration{
		QueueConfigurations: out.QueueConfigurations, TopicConfigurations: out.TopicConfigurations,
		LambdaFunctionConfigurations: out.LambdaFunctionConfigurations, EventBridgeConfiguration: out.EventBridgeConfiguration,
	}
}

func (l *liveJob) tell(t *testing.T, c *types.NotificationConfiguration) {
	t.Helper()
	_, err := l.s3.PutBucketNotificationConfiguration(t.Context(), &s3.PutBucketNotificationConfigurationInput{Bucket: &l.source, NotificationConfiguration: c})
	if err != nil {
		t.Fatal(err)
	}
}

// theirs are entries of others.
func (l *liveJob) theirs() *types.NotificationConfiguration {
	return &types.NotificationConfiguration{
		QueueConfigurations: []types.QueueConfiguration{{
			Id: aws.String("theirs, of what goes"), QueueArn: aws.String(l.others["Queue"]), Events: []types.Event{"s3:ObjectRemoved:*"}, Filter: of(prefix, ""),
		}},
		TopicConfigurations: []types.TopicConfiguration{{
			Id: aws.String("theirs-elsewhere"), TopicArn: aws.String(l.others["Topic"]), Events: []types.Event{"s3:ObjectCreated:*"}, Filter: of("elsewhere/a+b ü/", ".csv"),
		}},
	}
}

// of is a filter of keys.
func of(prefix, suffix string) *types.NotificationConfigurationFilter {
	rules := []types.FilterRule{{Name: types.FilterRuleNamePrefix, Value: &prefix}}
	if suffix != "" {
		rules = append(rules, types.FilterRule{Name: types.FilterRuleNameSuffix, Value: &suffix})
	}
	return &types.NotificationConfigurationFilter{Key: &types.S3KeyFilter{FilterRules: rules}}
}

// isWired plays with the bucket as the template made it.
func (l *liveJob) isWired(t *testing.T) {
	c := l.tells(t)
	if q := c.QueueConfigurations; len(q) != 1 || len(c.TopicConfigurations) > 0 || aws.ToString(q[0].QueueArn) != l.outputs["IntakeQueueArn"] {
		t.Fatalf("the bucket tells %+v", c)
	}
	if b := into[connected](t, l.bucket(t, 0, "connect", "--dry-run", "-o", "json")); b.Written || len(b.Changes) != 1 || !strings.HasPrefix(b.Changes[0], "  ") {
		t.Errorf("connect would change %+v", b)
	}
	l.await(t, ledger.Done, l.put(t, ndjson(t, prefix+"first.ndjson", 20), exactlyOnce))
	if st := l.live(t); st.State != "running" || st.Run != 1 || !st.Live.Cutoff.IsZero() || st.Objects.Done != 1 {
		t.Errorf("status %+v", st)
	}
	if said := l.want(t, 1, "start", "backfill", "--cutoff", "live").stderr; !strings.Contains(said, "its first notification opened it") {
		t.Errorf("start says %s", said)
	}
	if said := l.bucket(t, 1, "disconnect").stderr; !strings.Contains(said, "still notifies") {
		t.Errorf("disconnect says %s", said)
	}
	l.tell(t, l.theirs())
}

// isCancelled ends the job's first run.
func (l *liveJob) isCancelled(t *testing.T) {
	lost := ndjson(t, prefix+"lost.ndjson", 20)
	l.send(t, 0, naming(lost))
	if said := l.want(t, 0, "cancel", live).stdout; !strings.Contains(said, "run 1") {
		t.Errorf("cancel says %s", said)
	}
	if r := l.watch(t, 1, live); r.State != report.Cancelled || r.Units.Missing != 1 || len(r.Missing) != 1 || r.Missing[0].Key != lost.key || r.Objects.Done != 1 {
		t.Errorf("report %+v", r)
	}
	r := l.spate(t, lost.key, "job", "send", "--keys", "-")
	if r.code != 1 || !strings.Contains(r.stderr, "spate bucket connect") {
		t.Errorf("send to a job that was cancelled: %+v", r)
	}
}

// naming is an object as job send may name it.
func naming(o object) string {
	return fmt.Sprintf(`{"key":%q,"etag":%q,"size":%d}`, o.key, o.etag(), len(o.body))
}

type sent struct {
	Taken, Failed int
	Ignored       map[string]int
}

func (l *liveJob) send(t *testing.T, code int, lines ...string) sent {
	t.Helper()
	args := []string{"job", "send", "--keys", "-", "-o", "json"}
	return into[sent](t, l.spate(t, strings.Join(lines, "\n"), args...).want(t, code, args...))
}

// liveStatus is that of a continuous job.
type liveStatus struct {
	status
	Objects struct{ Done int }
	Live    struct {
		Cutoff    time.Time
		Open      int
		Lag       float64                                      `json:"lag_seconds"`
		PerMinute struct{ Units, Objects, Bytes, Records int } `json:"per_minute"`
		Dead      map[string]int
	}
}

func (l *liveJob) live(t *testing.T) liveStatus {
	t.Helper()
	return into[liveStatus](t, l.want(t, 0, "status", live, "-o", "json"))
}

// delivered compares the output with what was put.
func (l *liveJob) delivered(t *testing.T) {
	got := map[row]int{}
	for _, rows := range l.stack.delivered(t, strings.TrimSuffix(prefix, "/")) {
		for r, n := range rows {
			got[r] += n
		}
	}
	left := maps.Clone(got)
	wrong := 0
	for r, n := range l.rows {
		if delete(left, r); got[r] < n.least || got[r] > n.most {
			if wrong++; wrong < 10 {
				t.Errorf("%+v is there %d times, want %+v", r, got[r], n)
			}
		}
	}
	if wrong+len(left) > 0 {
		t.Errorf("of the rows %d are there too often or not at all, and %d are of nothing that was to be read", wrong, len(left))
	}
	t.Logf("%d rows", len(got))
}
