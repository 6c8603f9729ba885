package event_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/event"
	"github.com/spate-go/spate/pkg/failure"
)

// line is a record in one line, an error by its beginning.
func line(r *event.Record) string {
	switch {
	case r.Err != nil:
		return "bad: " + r.Err.Error()
	case r.Ignored != "":
		return fmt.Sprintf("%s: %s of %s", r.Ignored, r.Name, r.Bucket)
	}
	when := "no time"
	if !r.Time.IsZero() {
		when = r.Time.Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%s %s/%q %d %s v=%s s=%s %s", r.Name, r.Bucket, r.Key, r.Size, r.ETag, r.Version, r.Sequencer, when)
}

const at = " 2026-11-02T03:04:05.678Z"

var bodies = map[string][]string{
	"put.json":          {`ObjectCreated:Put harbour-logs/"tides/dt=2026-11-02/gauge 07.json" 1834 "5d2f0c" v= s=0068A1B2C3D4E5F607` + at},
	"versioned.json":    {`ObjectCreated:CompleteMultipartUpload harbour-logs/"tides/big.json" 73400320 "9e107d-9" v=3HL4kqtJ s=0A` + at},
	"null_version.json": {`ObjectCreated:Put harbour-logs/"a" 1 "e" v= s=0A` + at},
	"several.json": {
		`ObjectCreated:Put harbour-logs/"first" 1 "e1" v= s=01` + at,
		`bad: key "bad%zz": `,
		`not_created: ObjectRemoved:Delete of harbour-logs`,
		`ObjectCreated:Post harbour-logs/"last" 4 "e4" v= s=04` + at,
	},
	"later.json": {`ObjectCreated:Append harbour-logs/"k" 12 "e" v= s=0A` + at},
	"not_created.json": {
		`not_created: ObjectRemoved:Delete of harbour-logs`,
		`not_created: ObjectRemoved:DeleteMarkerCreated of harbour-logs`,
		`not_created: LifecycleExpiration:Delete of harbour-logs`,
		`not_created: ObjectRestore:Completed of harbour-logs`,
		`not_created: s3:ObjectTagging:Put of harbour-logs`,
		`not_created: ObjectAcl:Put of harbour-logs`,
		`not_created: ReducedRedundancyLostObject of harbour-logs`,
		`not_created: Replication:OperationFailedReplication of harbour-logs`,
	},
	"bad.json": {
		`bad: key "half%2": `,
		`bad: no key`,
		`bad: key "kkk`,
		`bad: key "k": size -1 is not a number of bytes`,
		`bad: key "k": size "1" is not a number of bytes`,
		`bad: key "k": size 1.5 is not a number of bytes`,
		`bad: key "k": size 9223372036854775808 is not a number of bytes`,
		`bad: key "k": ETag "e\n2" cannot be asked for`,
		`bad: key "k": ETag "a\"b" cannot be asked for`,
		`bad: key "k": a version id of 1025 bytes`,
		`bad: no bucket`,
		`bad: a record without a bucket and an object`,
		`bad: a record of no event`,
		`bad: event version "1.0" and this build reads 2.x`,
		`bad: event version "3.0" and this build reads 2.x`,
		`bad: event version "22.0" and this build reads 2.x`,
		`bad: event version "" and this build reads 2.x`,
		`bad: a record of "aws:dynamodb", not of S3`,
		`bad: the record is not a JSON object`,
		`bad: event version "" and this build reads 2.x`,
		`ObjectCreated:Put harbour-logs/"good" 1 "e" v= s=` + at,
	},
	"compatible.json": {`s3:ObjectCreated:Put harbour-logs/"a b" 3 "quoted" v= s=17B` + at},
	"untold.json": {
		`ObjectCreated:Put harbour-logs/"no-size" -1 "e" v= s=` + at,
		`ObjectCreated:Put harbour-logs/"no-etag" 7  v= s=` + at,
		`ObjectCreated:Put harbour-logs/"neither" -1  v= s=` + at,
		`ObjectCreated:Put harbour-logs/"empty-etag" 0  v= s=` + at,
		`ObjectCreated:Put harbour-logs/"no-time" 1 "e" v= s= no time`,
	},
	"test.json":             {`test: s3:TestEvent of harbour-logs`},
	"sns_put.json":          {`ObjectCreated:Put harbour-logs/"tides/dt=2026-11-02/gauge 07.json" 1834 "5d2f0c" v= s=0068A1B2C3D4E5F607` + at},
	"sns_test.json":         {`test: s3:TestEvent of harbour-logs`},
	"sns_bridge.json":       {`Object Created harbour-logs/"tides/dt=2026-11-02/a+b%41 c.json" 1834 "5d2f0c" v=IYV3p45BT0ac8hjHg1houSdS1a.Mro8e s=00617F08299329D189 2026-11-02T03:04:05Z`},
	"sns_twice.json":        {`error: decode notification: SNS topic "arn:aws:sns:eu-west-1:111122223333:harbour": SNS topic "arn:aws:sns:eu-west-1:111122223333:harbour": wrapped twice`},
	"sns_prose.json":        {`error: decode notification: SNS topic "arn:aws:sns:eu-west-1:111122223333:harbour": not a JSON object`},
	"sns_confirmation.json": {`error: decode notification: SNS topic "arn:aws:sns:eu-west-1:111122223333:harbour": a "SubscriptionConfirmation" is not a notification`},
	"bridge_put.json":       {`Object Created harbour-logs/"tides/dt=2026-11-02/a+b%41 c.json" 1834 "5d2f0c" v=IYV3p45BT0ac8hjHg1houSdS1a.Mro8e s=00617F08299329D189 2026-11-02T03:04:05Z`},
	"bridge_deleted.json":   {`not_created: Object Deleted of harbour-logs`},
	"bridge_later.json":     {`bad: event version "2.0" and this build reads 1.x of EventBridge`},
	"bridge_envelope.json":  {`bad: EventBridge version "1" and this build reads 0`},
	"bridge_keyless.json":   {`bad: no key`},
	"bridge_trail.json":     {`error: decode notification: an EventBridge event "AWS API Call via CloudTrail": let the rule match "Object Created"`},
	"bridge_guardduty.json": {`error: decode notification: an EventBridge event of "aws.guardduty", not of S3`},
	"trail.json":            {`error: decode notification: it is a notification of CloudTrail's or Config's own, not of S3`},
	"sns_trail.json":        {`error: decode notification: SNS topic "arn:aws:sns:eu-west-1:111122223333:harbour": it is a notification of CloudTrail's or Config's own`},
	"sns_config.json":       {`error: decode notification: SNS topic "arn:aws:sns:eu-west-1:111122223333:harbour": it is a notification of CloudTrail's or Config's own`},
	"trail_file.json":       {`bad: a record of "s3.amazonaws.com", not of S3`},
	"finding.json":          {`error: decode notification: a JSON object with "accountId", "id", "partition", "region", "schemaVersion" and 2 more fields is not a notification of S3, SNS or EventBridge`},
}

func TestEveryKindOfBodyIsRead(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) != len(bodies) {
		t.Errorf("%d files of %d bodies: %v", len(files), len(bodies), err)
	}
	for name, want := range bodies {
		t.Run(name, func(t *testing.T) {
			body, err := os.ReadFile("testdata/" + name)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			records, err := event.Decode(body)
			if err != nil {
				got = append(got, "error: "+err.Error())
			}
			for i := range records {
				got = append(got, line(&records[i]))
			}
			if !slices.EqualFunc(got, want, strings.HasPrefix) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func TestWhatIsNoNotificationIsRefused(t *testing.T) {
	for says, c := range map[string]struct{ body, want string }{
		"nothing":                         {"", "not a JSON object"},
		"white space":                     {" \n", "not a JSON object"},
		"prose":                           {"hello", "not a JSON object"},
		"another JSON value":              {`["Records"]`, "not a JSON object"},
		"null":                            {"null", "not a JSON object"},
		"an object cut off":               {`{"Records":[{"eventVersion":"2.1"`, "unexpected end"},
		"two objects":                     {`{"Records":[]}{}`, "after top-level value"},
		"bytes that are no text":          {"{\"Records\":\"\xff\"}", "not UTF-8"},
		"no fields":                       {"{}", "no fields"},
		"no records":                      {`{"Records":[]}`, "Records is empty"},
		"records that are none":           {`{"Records":{}}`, "Records is not an array"},
		"more records than S3 ever sends": {`{"Records":[0` + strings.Repeat(",0", event.MaxRecords) + `]}`, "more than 10000 records"},
		"more than a queue carries":       {`{"Records":[` + strings.Repeat(" ", event.MaxBytes) + `]}`, "bytes of at most"},
		"an SNS message that is no text":  {`{"Type":"Notification","TopicArn":"t","Message":{"Records":[]}}`, "not a JSON object"},
		"null where records should be":    {`{"Records":null,"x":1}`, `fields "Records", "x"`},
		"a long field":                    {`{"` + strings.Repeat("x", 99) + `":1}`, `fields "` + strings.Repeat("x", 40) + `" is`},
	} {
		t.Run(says, func(t *testing.T) {
			records, err := event.Decode([]byte(c.body))
			if err == nil || !strings.Contains(err.Error(), c.want) || len(records) > 0 {
				t.Errorf("%d records, %v; want an error that says %q", len(records), err, c.want)
			}
		})
	}
}

func TestARecordMakesABodyOfItsOwn(t *testing.T) {
	for name := range bodies {
		body, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		records, err := event.Decode(body)
		if err != nil {
			continue
		}
		for i := range records {
			again, err := event.Decode(records[i].Body())
			if err != nil || len(again) != 1 || line(&again[0]) != line(&records[i]) {
				t.Errorf("%s: %s: %q gives %d records, %v", name, line(&records[i]), records[i].Body(), len(again), err)
			}
		}
	}
}

func TestWhatCannotBeAskedForIsNoETag(t *testing.T) {
	for etag, ok := range map[string]bool{
		"e": true, `\"e\"`: true, "9b2cf5-12": true, "é": true, "!#~": true, "": true,
		" ": false, "a b": false, `e\u007f`: false, `e\r\nx`: false, `W/\"e\"`: false, `\"`: false, `\"e`: false, `a\"b`: false, strings.Repeat("e", 1023): false,
	} {
		body := `{"Records":[{"eventVersion":"2.1","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"k","size":1,"eTag":"` + etag + `"}}}]}`
		records, err := event.Decode([]byte(body))
		if err != nil || len(records) != 1 || (records[0].Err == nil) != ok {
			t.Errorf("ETag %s: %+v, %v", etag, records, err)
		}
	}
}

func TestMemoryIsBoundedByTheBody(t *testing.T) {
	fill := func(head, each, tail string) []byte {
		n := (event.MaxBytes - len(head) - len(tail)) / len(each)
		return []byte(head + strings.Repeat(each, n) + tail)
	}
	for says, body := range map[string][]byte{
		"records that are none":  fill(`{"Records":[0`, `,0`, `]}`),
		"records without fields": fill(`{"Records":[{}`, `,{}`, `]}`),
		"fields":                 fill(`{"a":0`, `,"a":0`, `}`),
		"depth":                  fill(`{"a":`, `[`, ``),
		"a long word":            fill(`{"Type":"Notification","TopicArn":"t","Message":"`, `\"`, `"}`),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := event.Decode(body)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 16*event.MaxBytes || err == nil {
			t.Errorf("%s: %d MiB allocated, %v", says, n>>20, err)
		}
	}
}

func TestAnIgnoredRecordSaysOnlyWhatEventItIs(t *testing.T) {
	records, err := event.Decode([]byte(`{"Records":[{"eventVersion":"2.1","eventName":"ObjectRemoved:Delete","s3":{"bucket":{"name":"b"},"object":{"key":"k","size":1,"eTag":"e"}}}]}`))
	if err != nil || len(records) != 1 || records[0].Ignored != failure.NotCreated || records[0].Key+records[0].ETag != "" || records[0].Size != -1 {
		t.Errorf("%+v, %v", records, err)
	}
}
