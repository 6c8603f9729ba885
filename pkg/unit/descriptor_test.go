package unit_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/unit"
)

var update = flag.Bool("update", false, "write the golden files")

func TestTheDescriptorLooksAsPublished(t *testing.T) {
	for name, u := range map[string]unit.Unit{
		"testdata/whole.json": {
			Job: "access-logs", Run: 3, Bucket: "logs", Origin: unit.FromList,
			Objects: []unit.Object{
				{Key: "logs/a \"b\"\\\t<&>\uffff.ndjson", Size: 1024, ETag: `"9b2cf5-2"`, LastModified: time.Date(2026, 11, 2, 3, 4, 5, 678e6, time.UTC)},
				{Key: "logs/dt=2026%2F01/ä.ndjson", Size: 7, ETag: `"e"`, Version: "3/L4kqtJ"},
				{Key: "logs/\xff.ndjson", Size: 9},
			},
		},
		"testdata/range.json": {
			Job: "access-logs", Run: 1, Bucket: "logs", Origin: unit.FromEvent,
			Objects: []unit.Object{{Key: "big", Size: 1 << 30, ETag: `"e"`}},
			Range:   &unit.Range{Start: 64 << 20, End: 128 << 20, Delimiter: '\n'},
		},
		"testdata/taken.json": {
			Job: "access-logs", Run: 2, Bucket: "logs", Origin: unit.FromEvent,
			Objects: []unit.Object{
				{Key: "a", Size: 5, ETag: `"e"`, Take: 2},
				{Key: "b", Size: 6, ETag: `"f"`, Again: 1},
				{Key: "c", Size: 7, ETag: `"g"`, LastModified: time.Date(2026, 11, 2, 3, 4, 5, 0, time.UTC), Take: 1, Again: 3},
			},
		},
	} {
		got, err := u.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(name, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
		if !bytes.HasPrefix(got, []byte(`{"v":1,`)) {
			t.Errorf("%s does not begin with its version", got)
		}
	}
}

// runes that some queue, JSON or path does not take as they are.
var awkward = []rune{0, 1, '\t', '\n', '\r', 0x1b, ' ', '"', '\\', '/', '<', '&', '%', '+', 0x7f, 0x85, 0x2028,
	0xd7ff, 0xe000, 0xfffd, 0xfffe, 0xffff, 0x1f600, 0x1fffe, 0x10ffff}

func anyString(rng *rand.Rand, invalid bool) string {
	var b []byte
	for range 1 + rng.IntN(30) {
		switch n := rng.IntN(4); {
		case n == 0:
			b = utf8.AppendRune(b, awkward[rng.IntN(len(awkward))])
		case n == 1 && invalid:
			b = append(b, byte(0x80+rng.IntN(0x80)))
		default:
			b = append(b, byte('a'+rng.IntN(26)))
		}
	}
	return string(b)
}

func anyUnit(rng *rand.Rand) *unit.Unit {
	u := &unit.Unit{
		Job: anyString(rng, false), Run: rng.IntN(5), Bucket: anyString(rng, true),
		Origin: []unit.Origin{"", unit.FromList, unit.FromEvent}[rng.IntN(3)],
	}
	for i := range 1 + rng.IntN(8) {
		o := unit.Object{Key: fmt.Sprintf("%d%s", i, anyString(rng, true)), Size: rng.Int64()}
		if rng.IntN(2) == 0 {
			o.ETag, o.Version = anyString(rng, true), anyString(rng, true)
		}
		if rng.IntN(2) == 0 {
			o.LastModified = time.Unix(rng.Int64N(4e9), rng.Int64N(1e9)).UTC()
		}
		if rng.IntN(4) == 0 {
			o.Take, o.Again = rng.IntN(12), rng.IntN(3)
		}
		u.Objects = append(u.Objects, o)
	}
	if o := &u.Objects[0]; len(u.Objects) == 1 {
		o.ETag = "e"
		start := rng.Int64N(o.Size)
		u.Range = &unit.Range{Start: start, End: start + 1 + rng.Int64N(o.Size-start), Delimiter: byte(rng.IntN(256))}
	}
	return u
}

// acceptable is what SQS takes in a body.
func acceptable(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000
}

func TestEveryUnitSurvivesItsDescriptor(t *testing.T) {
	const seed = 5
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 3000 {
		u := anyUnit(rng)
		body, err := u.Encode()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !utf8.Valid(body) || !json.Valid(body) {
			t.Fatalf("seed %d: not JSON in UTF-8: %q", seed, body)
		}
		for _, r := range string(body) {
			if !acceptable(r) {
				t.Fatalf("seed %d: SQS refuses %U in %q", seed, r, body)
			}
		}
		got, err := unit.Decode(body)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(u, got); diff != "" {
			t.Fatalf("seed %d: decoding what was encoded (-want +got):\n%s", seed, diff)
		}
		n := u.EnvelopeBytes()
		for i := range u.Objects {
			n += u.Objects[i].EncodedBytes()
		}
		if n != len(body) {
			t.Fatalf("seed %d: sizes add up to %d, the descriptor has %d bytes", seed, n, len(body))
		}
	}
}

func TestATimeThatNoDescriptorCanSayIsUnknown(t *testing.T) {
	for _, when := range []time.Time{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)} {
		u := unit.Unit{Job: "j", Objects: []unit.Object{{Key: "k", LastModified: when}}}
		body, err := u.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := unit.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Objects[0].LastModified.IsZero() {
			t.Errorf("%v came back as %v", when, got.Objects[0].LastModified)
		}
	}
}

func members(n int, key func(i int) string) []unit.Object {
	objects := make([]unit.Object, n)
	for i := range objects {
		objects[i] = unit.Object{Key: key(i), Size: 1}
	}
	return objects
}

func short(i int) string { return fmt.Sprintf("%06d", i) }

func TestWhatNoReaderAcceptsIsNotEncoded(t *testing.T) {
	one := []unit.Object{{Key: "k", ETag: "e", Size: 10}}
	for name, u := range map[string]unit.Unit{
		"no job":               {Objects: one},
		"a job not in UTF-8":   {Job: "\xff", Objects: one},
		"a run below zero":     {Job: "j", Run: -1, Objects: one},
		"an unknown origin":    {Job: "j", Origin: "magic", Objects: one},
		"no objects":           {Job: "j"},
		"1001 objects":         {Job: "j", Objects: members(1001, short)},
		"an object over 200 K": {Job: "j", Objects: members(1, func(int) string { return strings.Repeat("k", 200<<10) })},
		"no key":               {Job: "j", Objects: []unit.Object{{Size: 1}}},
		"a negative size":      {Job: "j", Objects: []unit.Object{{Key: "k", Size: -1}}},
		"a negative take":      {Job: "j", Objects: []unit.Object{{Key: "k", Take: -1}}},
		"a negative again":     {Job: "j", Objects: []unit.Object{{Key: "k", Again: -1}}},
		"one version, 2 takes": {Job: "j", Objects: []unit.Object{{Key: "k"}, {Key: "k", Take: 1}}},
		"keys out of order":    {Job: "j", Objects: []unit.Object{{Key: "b"}, {Key: "a"}}},
		"etags out of order":   {Job: "j", Objects: []unit.Object{{Key: "a", ETag: "2"}, {Key: "a", ETag: "1"}}},
		"an object twice":      {Job: "j", Objects: []unit.Object{{Key: "a"}, {Key: "a"}}},
		"a range of two":       {Job: "j", Objects: append(one, unit.Object{Key: "l", ETag: "e", Size: 10}), Range: &unit.Range{End: 1}},
		"a range, no etag":     {Job: "j", Objects: members(1, short), Range: &unit.Range{End: 1}},
		"a range past the end": {Job: "j", Objects: one, Range: &unit.Range{Start: 5, End: 11}},
		"an empty range":       {Job: "j", Objects: one, Range: &unit.Range{Start: 5, End: 5}},
		"a negative range":     {Job: "j", Objects: one, Range: &unit.Range{Start: -1, End: 5}},
	} {
		_, err := u.Encode()
		refused(t, name, err)
	}
}

func refused(t *testing.T, name string, err error) {
	t.Helper()
	if scope, reason := failure.Of(err); err == nil || scope != failure.Unit || reason != failure.UnsupportedDescriptor {
		t.Errorf("%s: %v (scope %v, reason %q), want a unit failure, unsupported_descriptor", name, err, scope, reason)
	}
}

func TestTheLimitsThemselvesAreWithin(t *testing.T) {
	u := unit.Unit{Job: "j", Objects: members(1000, short)}
	if _, err := u.Encode(); err != nil {
		t.Errorf("1000 objects: %v", err)
	}
	u.Objects = members(1, short)
	body, err := u.Encode()
	if err != nil {
		t.Fatal(err)
	}
	u.Objects = members(1, func(int) string { return strings.Repeat("k", 6+(200<<10)-len(body)) })
	body, err = u.Encode()
	if err != nil || len(body) != 200<<10 {
		t.Fatalf("%d bytes, %v; want 200 KiB and no error", len(body), err)
	}
	if _, err := unit.Decode(body); err != nil {
		t.Errorf("decode 200 KiB: %v", err)
	}
	if _, err := unit.Decode(append(body, ' ')); err == nil {
		t.Error("decoded 200 KiB and a byte")
	}
}

func TestWhatIsNotADescriptorIsRefused(t *testing.T) {
	for name, body := range map[string]string{
		"nothing":             ``,
		"not JSON":            `hello`,
		"no version":          `{"job":"j","objects":[{"key":"k"}]}`,
		"an S3 event":         `{"Records":[]}`,
		"cut off":             `{"v":1,"job":"j","obj`,
		"two documents":       `{"v":1,"job":"j","objects":[{"key":"k"}]}{}`,
		"not UTF-8":           "{\"v\":1,\"job\":\"j\",\"objects\":[{\"key\":\"k\xff\"}]}",
		"a negative size":     `{"v":1,"job":"j","objects":[{"key":"k","size":-1}]}`,
		"a size that is text": `{"v":1,"job":"j","objects":[{"key":"k","size":"1"}]}`,
		"a negative take":     `{"v":1,"job":"j","objects":[{"key":"k","take":-1}]}`,
		"a take and a half":   `{"v":1,"job":"j","objects":[{"key":"k","take":1.5}]}`,
		"a negative again":    `{"v":1,"job":"j","objects":[{"key":"k","again":-2}]}`,
		"out of order":        `{"v":1,"job":"j","objects":[{"key":"b"},{"key":"a"}]}`,
		"bad base64":          `{"v":1,"job":"j","objects":[{"key_base64":"*"}]}`,
		"a bad time":          `{"v":1,"job":"j","objects":[{"key":"k","last_modified":"soon"}]}`,
		"a delimiter of two":  `{"v":1,"job":"j","objects":[{"key":"k","size":2,"etag":"e"}],"range":{"start":0,"end":1,"delimiter":256}}`,
		"too large":           `{"v":1,"job":"j","objects":[{"key":"k"}]}` + strings.Repeat(" ", 200<<10),
	} {
		_, err := unit.Decode([]byte(body))
		refused(t, name, err)
	}
}

func TestAnotherVersionIsRefusedUnread(t *testing.T) {
	for _, body := range []string{`{"v":2,"objects":{"not":"a list"},"job":7}`, `{"v":0}`, `{"v":-1}`} {
		_, err := unit.Decode([]byte(body))
		refused(t, body, err)
		if err != nil && !strings.Contains(err.Error(), "version") {
			t.Errorf("%s: %v: does not say that the version is to blame", body, err)
		}
	}
}

func TestFieldsThatALaterReleaseAddsAreIgnored(t *testing.T) {
	u, err := unit.Decode([]byte(`{"hint":[1],"v":1,"job":"j","objects":[{"key":"k","color":"red"}]}`))
	if err != nil || len(u.Objects) != 1 || u.Objects[0].Key != "k" {
		t.Errorf("%v, %v", u, err)
	}
}

func FuzzDescriptor(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 0))
	for range 8 {
		body, err := anyUnit(rng).Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add([]byte(`{"v":1,"job":"j","objects":[{"key":"a\ud800"},{"KEY":"b","key_base64":"/w=="}],"objects":[]}`))
	f.Add([]byte(`{"v":1,"job":"j","objects":[{"key":"a","etag":"e","take":2,"again":1},{"key":"b","Take":1e1}],"origin":"event"}`))
	f.Add([]byte(`{"v":1,"job":"j","objects":[{"key":"a","take":9223372036854775807,"again":-0}]}`))
	f.Add([]byte(`{"v":2}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		u, err := unit.Decode(body)
		if err != nil {
			refused(t, string(body), err)
			return
		}
		check(t, u)
		again, err := u.Encode()
		if err != nil && strings.Contains(err.Error(), "bytes of at most") {
			return // what was written shorter, without escapes, is now over the limit
		}
		if err != nil {
			t.Fatalf("encode what was decoded: %v", err)
		}
		got, err := unit.Decode(again)
		if err != nil {
			t.Fatalf("decode %q: %v", again, err)
		}
		if diff := cmp.Diff(u, got); diff != "" {
			t.Fatalf("%q changed (-want +got):\n%s", body, diff)
		}
	})
}

// check holds what Decode promises.
func check(t *testing.T, u *unit.Unit) {
	t.Helper()
	if len(u.Objects) == 0 || len(u.Objects) > unit.MaxMembers {
		t.Fatalf("%d objects", len(u.Objects))
	}
	sorted := &unit.Unit{Objects: append([]unit.Object(nil), u.Objects...)}
	unit.Sort(sorted.Objects)
	for i, o := range u.Objects {
		if o.Size < 0 || o.Take < 0 || o.Again < 0 || o.Key == "" || o.Key != sorted.Objects[i].Key {
			t.Fatalf("object %d: %+v", i, o)
		}
	}
	if r := u.Range; r != nil && (len(u.Objects) != 1 || r.Start < 0 || r.Start >= r.End || r.End > u.Objects[0].Size) {
		t.Fatalf("range %+v of %+v", *r, u.Objects)
	}
}
