package event_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spate-go/spate/pkg/event"
)

// ways are encoders of a record, by each way that it may come.
var ways = map[string]func(t testing.TB, r event.Record) []byte{
	"directly": direct,
	"through SNS": func(t testing.TB, r event.Record) []byte {
		return encode(t, map[string]any{"Type": "Notification", "TopicArn": "arn:t", "Message": string(direct(t, r))})
	},
	"through EventBridge": bridge,
	"through EventBridge and SNS": func(t testing.TB, r event.Record) []byte {
		return encode(t, map[string]any{"Type": "Notification", "TopicArn": "arn:t", "Message": string(bridge(t, r))})
	},
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func direct(t testing.TB, r event.Record) []byte {
	o := map[string]any{"key": url.QueryEscape(r.Key), "sequencer": r.Sequencer}
	known(o, r, "eTag", "versionId")
	return encode(t, map[string]any{"Records": []any{map[string]any{
		"eventVersion": "2.1", "eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "eventTime": when(r),
		"s3": map[string]any{"bucket": map[string]any{"name": r.Bucket}, "object": o},
	}}})
}

func bridge(t testing.TB, r event.Record) []byte {
	o := map[string]any{"key": r.Key, "sequencer": r.Sequencer}
	known(o, r, "etag", "version-id")
	return encode(t, map[string]any{
		"version": "0", "detail-type": "Object Created", "source": "aws.s3", "time": when(r),
		"detail": map[string]any{"bucket": map[string]any{"name": r.Bucket}, "object": o},
	})
}

func known(o map[string]any, r event.Record, etag, version string) {
	if r.Size >= 0 {
		o["size"] = r.Size
	}
	if r.ETag != "" {
		o[etag] = strings.Trim(r.ETag, `"`)
	}
	if r.Version != "" {
		o[version] = r.Version
	}
}

func when(r event.Record) string {
	if r.Time.IsZero() {
		return ""
	}
	return r.Time.Format(time.RFC3339Nano)
}

// survives checks that r comes back as it is, whichever way it goes.
func survives(t testing.TB, r event.Record) {
	t.Helper()
	for way, encode := range ways {
		if strings.Contains(way, "Bridge") && !utf8.ValidString(r.Key) {
			continue // JSON cannot name it
		}
		got, err := event.Decode(encode(t, r))
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %d records, %v", way, len(got), err)
		}
		if diff := cmp.Diff(r, got[0], cmpopts.IgnoreUnexported(event.Record{}), cmpopts.IgnoreFields(event.Record{}, "Name")); diff != "" {
			t.Fatalf("%s (-sent +got):\n%s", way, diff)
		}
	}
}

func TestAKeyIsDecodedByTheRuleOfItsWay(t *testing.T) {
	for sent, want := range map[string]string{
		"a+b": "a b", "a%2Bb": "a+b", "a%20b": "a b", "this+im+%2B+age.txt": "this im + age.txt", "year%3D2026/x": "year=2026/x", "year=2026/x": "year=2026/x",
		"a%2525": "a%25", "a%40b": "a@b", "a%2Fb": "a/b", "%C3%A4%F0%9F%A6%80": "ä🦀", "%FF": "\xff", "a%00b": "a\x00b", "%0A": "\n", ";&?#": ";&?#",
	} {
		body := fmt.Sprintf(`{"Records":[{"eventVersion":"2.1","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":%q,"size":1,"eTag":"e"}}}]}`, sent)
		got, err := event.Decode([]byte(body))
		if err != nil || len(got) != 1 || got[0].Err != nil || got[0].Key != want {
			t.Errorf("%q gives %+v, %v; want key %q", sent, got, err, want)
		}
	}
}

func TestAnyKeySurvivesEveryWay(t *testing.T) {
	const seed = 7
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	alphabet := []rune("aZ09/+%&=;?# \"'\\<>\t\n\x00\x01\x7f~äключ鍵🦀\u2028\ufffd\uffff")
	for range 2000 {
		var key strings.Builder
		for range 1 + rng.IntN(40) {
			key.WriteRune(alphabet[rng.IntN(len(alphabet))])
		}
		r := event.Record{Bucket: "harbour-logs", Key: key.String(), Size: rng.Int64N(1<<50) - 1, Sequencer: fmt.Sprintf("%X", rng.Uint64())}
		if rng.IntN(4) > 0 {
			r.ETag = fmt.Sprintf(`"%x-%d"`, rng.Uint64(), rng.IntN(99))
		}
		if rng.IntN(2) == 0 {
			r.Version = fmt.Sprintf("%x", rng.Uint64())
		}
		if rng.IntN(4) > 0 {
			r.Time = time.Unix(rng.Int64N(4e9), rng.Int64N(1e3)*1e6).UTC()
		}
		survives(t, r)
	}
	survives(t, event.Record{Bucket: "b", Key: strings.Repeat("ä", 512), Size: 1, ETag: `"e"`})
	survives(t, event.Record{Bucket: "b", Key: "\xff\xfe", Size: 1, ETag: `"e"`})
}

func TestSequencersAreComparedAsIfOfOneLength(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"0A", "0A", 0}, {"0a", "0A", 0}, {"0A", "0A00", 0}, {"0A", "0A01", -1}, {"0B", "0A01", 1}, {"", "01", -1}, {"00", "", 0}, {"9", "A", -1}, {"f", "e0", 1},
	} {
		got := event.CompareSequencers(c.a, c.b)
		if got < 0 && c.want >= 0 || got > 0 && c.want <= 0 || got == 0 && c.want != 0 {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if back := event.CompareSequencers(c.b, c.a); back != -got {
			t.Errorf("%q and %q: %d, and %d turned round", c.a, c.b, got, back)
		}
	}
}
