package aws_test

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
)

// etag is that of an object that is put in one piece.
func (o object) etag() string {
	sum := md5.Sum(o.body)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// handsOver opens the job's second run, beside a listed job for what was before.
// Where the endpoint dates an upload in parts by its end, none is read twice but
// what came within the minute before the cutoff; tests/live has the dates.
func (l *liveJob) handsOver(t *testing.T) {
	before := []object{ranges(t, prefix+"handover/0.ndjson", 2), ndjson(t, prefix+"handover/1.ndjson", 20)}
	for _, o := range before {
		l.put(t, o, exactlyOnce)
	}
	parts := l.begin(t, ndjson(t, prefix+"handover/parts.ndjson", 20), onceOrTwice)
	b := into[connected](t, l.bucket(t, 0, "connect", "--notice", "5s", "-o", "json"))
	if !b.Written || b.Job != live || len(b.Changes) != 3 || !strings.HasPrefix(b.Changes[2], "+ spate-") {
		t.Errorf("connect says %+v", b)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	started := make(chan result, 1)
	go func() {
		c := l.command(ctx, "start", "backfill", "--cutoff", "live", "--url", "s3://"+l.source+"/"+prefix+"handover/", "-o", "json")
		out, _ := c.CombinedOutput() // the code says it
		started <- result{code: c.ProcessState.ExitCode(), stderr: string(out)}
	}()
	var across []unit.Object
	for i := range 12 {
		n := onceOrTwice
		if time.Now().After(b.Cutoff.Add(time.Second)) {
			n = exactlyOnce
		}
		across = append(across, l.put(t, ndjson(t, fmt.Sprintf("%shandover/across-%02d.ndjson", prefix, i), 20), n))
		time.Sleep(500 * time.Millisecond)
	}
	across = append(across, parts())
	if r := <-started; r.code != 0 || !strings.Contains(r.stderr, "waiting") {
		t.Fatalf("start: %+v", r)
	}
	if r := l.watch(t, 0, "backfill"); r.State != report.Completed || r.Objects.Done < 2 {
		t.Errorf("report %+v", r)
	}
	l.await(t, ledger.Done, across...)
}

// begin begins an upload in parts; done ends it.
func (l *liveJob) begin(t *testing.T, o object, n times) (done func() unit.Object) {
	t.Helper()
	l.expect(o, n)
	up, err := l.s3.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &l.source, Key: &o.key})
	if err != nil {
		t.Fatal(err)
	}
	return func() unit.Object {
		t.Helper()
		part, err := l.s3.UploadPart(t.Context(), &s3.UploadPartInput{
			Bucket: &l.source, Key: &o.key, UploadId: up.UploadId, PartNumber: aws.Int32(1), Body: strings.NewReader(string(o.body)),
		})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := l.s3.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{
			Bucket: &l.source, Key: &o.key, UploadId: up.UploadId,
			MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{{ETag: part.ETag, PartNumber: aws.Int32(1)}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return unit.Object{Key: o.key, ETag: aws.ToString(whole.ETag)}
	}
}

// odd are ends of keys that must survive the way.
var odd = []string{"a b", "a+b%41.json", "100%", "day=1/x", "日本/é", `q"'\&?#`, "tab\t", "...", "~(*)!"}

func (l *liveJob) readsEachOnce(t *testing.T) {
	at := prefix + "kinds/"
	var objects []unit.Object
	for _, key := range odd {
		objects = append(objects, l.put(t, ndjson(t, at+key+".ndjson", 20), exactlyOnce))
	}
	same := ndjson(t, at+"same.ndjson", 20)
	for _, o := range []object{ndjson(t, at+"z.ndjson.gz", 500), ndjson(t, at+"z.ndjson.zst", 500), ranges(t, at+"large.ndjson", 3), same, same} {
		objects = append(objects, l.put(t, o, exactlyOnce))
	}
	for _, o := range []object{ndjson(t, at+"not.ndjson.tmp", 5), ndjson(t, "beside/x.ndjson", 5), {key: at + "empty.ndjson"}, {key: at + "directory/"}} {
		l.put(t, object{key: o.key, body: o.body}, times{})
	}
	for _, o := range []object{ndjson(t, prefix+"gone/same.ndjson", 20), ndjson(t, prefix+"gone/other.ndjson", 20)} {
		l.gone = append(l.gone, o)
		l.send(t, 0, naming(o))
	}
	var last unit.Object
	for v := range 30 {
		last = l.put(t, ndjsonFrom(t, at+"often.ndjson", 1000*v, 10), atMostOnce)
	}
	l.expect(ndjsonFrom(t, at+"often.ndjson", 29_000, 10), exactlyOnce)
	for i := range 5 {
		o := l.put(t, ndjson(t, fmt.Sprintf("%sdeleted/%d.ndjson", prefix, i), 20), atMostOnce)
		if _, err := l.s3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &l.source, Key: &o.Key}); err != nil {
			t.Fatal(err)
		}
	}
	l.await(t, ledger.Done, append(objects, last)...)
	l.says(t, at+odd[0]+".ndjson", "", 0, "done, in unit s3-")
	l.says(t, last.Key, "", 0, "done, in unit s3-")
	l.says(t, at+"not.ndjson.tmp", "", 1, "not announced")
	l.says(t, l.gone[0].key, l.gone[0].etag(), 0, "in unit s3-")
}

// says asks what became of an object.
func (l *liveJob) says(t *testing.T, key, etag string, code int, want string) {
	t.Helper()
	args := []string{"status", live, "--key", key}
	if etag != "" {
		args = append(args, "--etag", etag)
	}
	if said := l.want(t, code, args...).stdout; !strings.Contains(said, key) || !strings.Contains(said, want) {
		t.Errorf("of %q status says %s", key, said)
	}
}

// refuses has bodies among the notifications that are none.
func (l *liveJob) refuses(t *testing.T) {
	bad := map[string]string{
		"no notification at all":                                         "not a JSON object",
		`{"Records":[{"eventSource":"aws:s3"}]}`:                         "",
		`{"s3Bucket":"trails","s3ObjectKey":["a.json.gz"],"x":"\u0001"}`: "CloudTrail",
	}
	for body := range bad {
		if _, err := l.sqs.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String(l.outputs["IntakeQueueUrl"]), MessageBody: &body}); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	l.await(t, ledger.Done, l.put(t, ndjson(t, prefix+"beside-garbage.ndjson", 20), exactlyOnce))
	if took := time.Since(began); took > 45*time.Second {
		t.Errorf("what was announced beside them took %v", took)
	}
	missing := maps.Clone(bad)
	for end := time.Now().Add(time.Minute); len(missing) > 0 && time.Now().Before(end); {
		out, err := l.sqs.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: aws.String(l.outputs["IntakeDeadLetterQueueUrl"]), MaxNumberOfMessages: 10, WaitTimeSeconds: 1, MessageAttributeNames: []string{"All"},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range out.Messages {
			attribute := func(name string) string { return aws.ToString(m.MessageAttributes["spate."+name].StringValue) }
			detail, known := bad[aws.ToString(m.Body)]
			if !known || attribute("reason") != "unparsable_event" || !strings.Contains(attribute("detail"), detail) || attribute("queue") != l.outputs["IntakeQueueUrl"] {
				t.Errorf("%s: %v", aws.ToString(m.Body), m.MessageAttributes)
			}
			delete(missing, aws.ToString(m.Body))
		}
	}
	for body := range missing {
		t.Errorf("%s is not among the intake's dead letters", body)
	}
}

func (l *liveJob) readsVersions(t *testing.T) {
	versioned := func(s types.BucketVersioningStatus) {
		t.Helper()
		_, err := l.s3.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
			Bucket: &l.source, VersioningConfiguration: &types.VersioningConfiguration{Status: s},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	versioned(types.BucketVersioningStatusEnabled)
	defer versioned(types.BucketVersioningStatusSuspended)
	var objects []unit.Object
	key := prefix + "versions/a+b.ndjson"
	for v := range 10 {
		objects = append(objects, l.put(t, ndjsonFrom(t, key, 1000*v, 10), exactlyOnce))
	}
	if _, err := l.s3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &l.source, Key: &key}); err != nil {
		t.Fatal(err)
	}
	l.await(t, ledger.Done, objects...)
}

func (l *liveJob) readsTopics(t *testing.T) {
	c := l.theirs()
	entry := types.TopicConfiguration{Id: aws.String("theirs"), Events: []types.Event{"s3:ObjectCreated:*"}, Filter: of(prefix, "")}
	tell := func(topic string) {
		entry.TopicArn = aws.String(l.others[topic])
		all := *c
		all.TopicConfigurations = append([]types.TopicConfiguration{entry}, c.TopicConfigurations...)
		l.tell(t, &all)
	}
	tell("Topic")
	if said := l.bucket(t, 1, "connect").stderr; !strings.Contains(said, "theirs: s3:ObjectCreated:* to topic") ||
		!strings.Contains(said, "--via eventbridge") || !strings.Contains(said, "NotificationTopicArn") {
		t.Errorf("connect says %s", said)
	}
	l.await(t, ledger.Done, l.put(t, ndjson(t, prefix+"topic/raw a+b%41.ndjson", 20), exactlyOnce))

	subscription := fmt.Sprintf(`{"Resources":{"S":{"Type":"AWS::SNS::Subscription","Properties":{"TopicArn":%q,"Protocol":"sqs","Endpoint":%q}}}}`,
		l.others["Wrapping"], l.outputs["IntakeQueueArn"])
	if _, err := l.form(t.Context(), l.name+"-wrapping", subscription); err != nil {
		t.Fatal(err)
	}
	tell("Wrapping")
	l.await(t, ledger.Done, l.put(t, ndjson(t, prefix+"topic/wrapped a+b%41.ndjson", 20), exactlyOnce))
}

func (l *liveJob) readsEvents(t *testing.T) {
	theirs := l.theirs()
	l.tell(t, theirs)
	l.bucket(t, 0, "connect", "--via", "eventbridge")
	var objects []unit.Object
	for _, key := range odd {
		objects = append(objects, l.put(t, ndjson(t, prefix+"bus/"+key+".ndjson", 20), exactlyOnce))
	}
	l.await(t, ledger.Done, objects...)
	l.bucket(t, 0, "connect") // by the other way
	if c := l.tells(t); len(c.QueueConfigurations) != 2 || c.EventBridgeConfiguration == nil {
		t.Errorf("the bucket tells %+v", c)
	}
	if said := l.bucket(t, 0, "disconnect").stdout; !strings.Contains(said, "- spate-") || !strings.Contains(said, "disconnected") {
		t.Errorf("disconnect says %s", said)
	}
	c := l.tells(t)
	c.EventBridgeConfiguration = nil // stays, for others
	if !reflect.DeepEqual(c, theirs) {
		t.Errorf("the bucket tells %+v %+v, and before it was connected %+v", c.QueueConfigurations, c.TopicConfigurations, theirs)
	}
	rule, err := l.events.DescribeRule(t.Context(), &eventbridge.DescribeRuleInput{Name: aws.String(l.outputs["NotificationRule"])})
	if err != nil || rule.State != "DISABLED" {
		t.Errorf("the rule: %+v, %v", rule, err)
	}
}

// takesNames is of a bucket that tells nothing.
func (l *liveJob) takesNames(t *testing.T) {
	o, large := ndjson(t, prefix+"named/a+b%41 é.ndjson", 20), ranges(t, prefix+"named/large.ndjson", 2)
	objects := []unit.Object{l.put(t, o, exactlyOnce), l.put(t, large, exactlyOnce)}
	names := []string{o.key, naming(large), prefix + "not.tmp", "beside/x.ndjson"}
	l.put(t, object{key: prefix + "not.tmp", body: []byte("{}\n")}, times{})
	if s := l.send(t, 0, names...); s.Taken != 2 || s.Ignored["excluded"] != 1 || s.Ignored["outside_prefix"] != 1 {
		t.Errorf("send says %+v", s)
	}
	l.await(t, ledger.Done, objects...)
	if s := l.send(t, 0, names[:2]...); s.Taken != 0 || s.Ignored["repeated"] != 2 {
		t.Errorf("send says %+v", s)
	}
	if r := l.spate(t, prefix+"nobody\n", "job", "send", "--keys", "-"); r.code != 1 || !strings.Contains(r.stderr, prefix+"nobody") {
		t.Errorf("send says %+v", r)
	}
}

// redrives has objects put under the keys of dead units: the one that was named, and
// another.
func (l *liveJob) redrives(t *testing.T) {
	var named []unit.Object
	for _, o := range l.gone {
		named = append(named, unit.Object{Key: o.key, ETag: o.etag()})
	}
	l.await(t, ledger.Dead, named...)
	l.says(t, l.gone[0].key, l.gone[0].etag(), 0, ": not_found")
	st := l.live(t)
	if st.Live.Dead["not_found"] < 2 || st.Units.Dead != st.Live.Dead["not_found"] || st.Live.Open > 0 || st.Live.Lag > 0 || st.Objects.Done == 0 {
		t.Errorf("status %+v", st)
	}
	if said := l.want(t, 0, "status", live).stdout; !strings.Contains(said, "running") || !strings.Contains(said, "  lag       0s, 0 units open") ||
		!strings.Contains(said, fmt.Sprintf("not_found: %d\n", st.Units.Dead)) || !strings.Contains(said, "spate job redrive "+live) {
		t.Errorf("status says %s", said)
	}
	l.put(t, l.gone[0], exactlyOnce)
	other := l.put(t, ndjsonFrom(t, l.gone[1].key, 1000, 20), exactlyOnce)
	if s := l.send(t, 0, l.gone[0].key); s.Ignored["repeated"] != 1 {
		t.Errorf("send of what is dead says %+v", s)
	}
	l.want(t, 0, "redrive", live)
	l.await(t, ledger.Done, named[0], other)
	l.says(t, l.gone[1].key, l.gone[1].etag(), 0, "overwritten before it was read")
	l.says(t, l.gone[1].key, "", 0, "done, in unit s3-")
}
