package jsondecode_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
	"github.com/spate-go/spate/pkg/failure"
)

type request struct {
	Method  string  `json:"method"`
	Path    string  `json:"path"`
	Status  int     `json:"status"`
	Bytes   int64   `json:"bytes"`
	Referer *string `json:"referer"`
}

type place struct {
	Country  string `json:"country"`
	Lat, Lon float64
}

// event has 17 fields in the access log's shape and one of every other kind.
type event struct {
	TS      string `json:"ts"`
	ID      string `json:"id"`
	Level   string
	Host    string
	Service string
	HTTP    request `json:"http"`
	Geo     *place  `json:"geo"`
	Latency float64 `json:"latency_ms"`
	OK      bool    `json:"ok"`
	Tags    []string
	Labels  map[string]string
	Retries uint8
	Message string

	Any    any
	Raw    json.RawMessage
	At     time.Time
	Pair   [2]int
	Bin    []byte
	N      json.Number
	By     map[int]string
	Quoted int `json:",string"`
	A      struct{ B, C int }
	Rest   map[string]place
	Deep   **event
	place
}

// sameValue fails unless Typed takes what encoding/json takes and makes the
// same of it, in a value that held another record before.
func sameValue(t *testing.T, b []byte) {
	t.Helper()
	d := jsondecode.Typed[event](jsondecode.Options{})
	var got, want event
	if err := d.Decode([]byte(accessLog), &got); err != nil {
		t.Fatal(err)
	}
	err, wanted := d.Decode(b, &got), json.Unmarshal(b, &want)
	if (err == nil) != (wanted == nil) {
		t.Fatalf("%q:\n got %v\nwant %v", b, err, wanted)
	}
	if err == nil {
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q:\n got %+v\nwant %+v", b, got, want)
		}
		return
	}
	if scope, reason := failure.Of(err); scope != failure.Record || reason != failure.Undecodable {
		t.Fatalf("%q: got scope %v, reason %v", b, scope, reason)
	}
	if len(err.Error()) > 300 {
		t.Fatalf("%q: got %v", b, err)
	}
}

func FuzzTypedAgreesWithTheStandardLibrary(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(sameValue)
}

func TestTypedAgreesOnMutants(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	all := seeds()
	for range 10_000 {
		sameValue(t, mutate(r, all[r.IntN(len(all))]))
	}
}

func TestNothingOfAnEarlierValueShows(t *testing.T) {
	d := jsondecode.Typed[event](jsondecode.Options{})
	var v event
	if err := d.Decode([]byte(accessLog), &v); err != nil {
		t.Fatal(err)
	}
	kept := v
	if err := d.Decode([]byte(`{"geo":{"lat":1},"tags":["z"],"labels":{"q":"r"},"http":{}}`), &v); err != nil {
		t.Fatal(err)
	}
	want := event{Geo: &place{Lat: 1}, Tags: []string{"z"}, Labels: map[string]string{"q": "r"}}
	if !reflect.DeepEqual(v, want) {
		t.Errorf("got %+v", v)
	}
	if kept.Geo.Country != "DE" || kept.Labels["env"] != "prod" {
		t.Errorf("the later record changed what the earlier one led to: %+v", kept)
	}
}

func TestTypedErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"http":{"status":"x"}}`:                             `decode json: field "http.status" of type int cannot hold this string at offset `,
		`{"retries":256}`:                                     `decode json: field "retries" of type uint8 cannot hold this number at offset `,
		`{"at":"` + strings.Repeat("secret", 100) + `"}`:      `decode json: parsing time "secretsecret`,
		`{"ok":` + strings.Repeat("9", 300) + `}`:             `decode json: field "ok" of type bool cannot hold this number at offset `,
		`{"ok":true} {}`:                                      `decode json: want the end of the record at offset 12, near `,
		`{"ok":tru}`:                                          `decode json: want true at offset 9, near `,
		`{"` + strings.Repeat("k", 300) + `":1,"id":[1,2,3]}`: `decode json: field "id" of type string cannot hold this array at offset `,
	} {
		err := jsondecode.Typed[event](jsondecode.Options{}).Decode([]byte(text), new(event))
		if err == nil || !strings.HasPrefix(err.Error(), want) || len(err.Error()) > 200 {
			t.Errorf("%.60s:\n got %v\nwant %s…", text, err, want)
		}
	}
}

func BenchmarkTyped(b *testing.B) {
	text := []byte(accessLog)
	d := jsondecode.Typed[event](jsondecode.Options{})
	var v event
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Decode(text, &v); err != nil {
			b.Fatal(err)
		}
	}
}
