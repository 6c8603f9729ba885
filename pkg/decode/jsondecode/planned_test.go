package jsondecode_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// flat is a struct without anything that the library alone knows how to decode.
type flat struct {
	TS      string            `json:"ts"`
	Level   string            `json:"level"`
	ID      string            `json:"id"`
	HTTP    request           `json:"http"`
	Geo     *place            `json:"geo"`
	Latency float64           `json:"latency_ms"`
	OK      bool              `json:"ok"`
	Tags    []string          `json:"tags"`
	Labels  map[string]string `json:"labels"`
	Retries uint8             `json:"retries"`
	Message *string           `json:"message"`
	Any     any               `json:"any"`
	Raw     json.RawMessage   `json:"raw"`
	At      time.Time         `json:"at"`
	Pair    [2]int            `json:"pair"`
	Bin     []byte            `json:"bin"`
	N       json.Number       `json:"n"`
	I8      int8              `json:"i8"`
	U64     *uint64           `json:"u64"`
	F32     float32           `json:"f32"`
	Stamps  []time.Time       `json:"stamps"`
	Twice   **int             `json:"twice"`
	A       struct {
		B int `json:"b"`
		C int
	} `json:"a"`
	Left string `json:"-"`
}

// The planned way is another than the library's, and nothing shows of it.
func TestAPlannedStructIsWhatTheStandardLibraryMakes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	all := append(seeds(), plannedSeeds()...)
	for _, s := range all {
		sameFlat(t, []byte(s))
	}
	for range 6_000 {
		sameFlat(t, mutate(r, all[r.IntN(len(all))]))
	}
}

func FuzzPlanned(f *testing.F) {
	for _, s := range append(seeds(), plannedSeeds()...) {
		f.Add([]byte(s))
	}
	f.Fuzz(sameFlat)
}

func plannedSeeds() []string {
	return []string{
		`{"TS":"upper","http":{"STATUS":5},"LEVEL":"x"}`, `{"ts":"a","ts":"b","http":{"status":1},"http":{"bytes":2}}`,
		`{"http":5}`, `{"http":null}`, `{"http":[]}`, `{"a":{"b":1},"A":{"C":2}}`, `{"id":null,"ok":null,"retries":null,"message":null,"tags":null,"u64":null,"latency_ms":null}`,
		`{"tags":[],"message":"","u64":18446744073709551615,"i8":-128}`, `{"i8":128}`, `{"retries":-0}`, `{"retries":1.0}`, `{"u64":9223372036854775807}`,
		`{"latency_ms":1e400}`, `{"latency_ms":47.082}`, `{"latency_ms":0.1}`, `{"latency_ms":123456789.12345}`, `{"latency_ms":0.0000000000001}`, `{"latency_ms":99999999999999.9}`, `{"latency_ms":-0}`, `{"f32":3.5e38}`, `{"ok":1}`, `{"tags":["a",null,1]}`, `{"tags":[null,"z",null]}`, `{"tags":["\u00e9","\ud83d\ude00","\ud83d"]}`, `{"tags":["\u00e9","plain"]}`, "{\"tags\":[\"\xff\",\"plain\"],\"id\":\"12345678\xff\"}",
		"{\"id\":\"\xff\xc3\x28ü\"}", `{"at":"2026-11-30T12:34:56.5+01:00"}`, `{"at":null}`, `{"at":"2026-02-28T23:59:59Z"}`, `{"at":"2026-02-29T00:00:00Z"}`, `{"at":"0000-01-01T00:00:00.123456789Z"}`, `{"at":"2026-11-30T12:34:56.Z"}`, `{"at":"2026-11-30T12:34:60Z"}`,
		`{"at":"2026-11-31T12:34:56.1Z"}`, `{"at":"2026-11-30T12:34:56,5Z"}`, `{"at":"2026-11-30T12:34:56.1234567890Z"}`, `{"stamps":["2026-01-02T03:04:05.5Z"]}`, `{"at":5}`, `{"\u0069d":"escaped"}`, "{\"\u212aind\":1,\"tag\u017f\":[\"x\"]}",
		`{"id":"` + strings.Repeat("long ", 1000) + `"}`, `[1]`, `null`, `"x"`, ` {"id":"x"} `, `{"id":"x"}x`, `{"left":"x"}`, `{"twice":5}`, `{"geo":{"lat":1}}`,
	}
}

func sameFlat(t *testing.T, b []byte) {
	t.Helper()
	d := jsondecode.Typed[flat](jsondecode.Options{})
	var got, want flat
	if err := d.Decode([]byte(`{"tags":[]}`), &got); err != nil || got.Tags == nil {
		t.Fatalf("no tags are %v, %v", got.Tags, err)
	}
	if err := d.Decode([]byte(accessLog), &got); err != nil {
		t.Fatal(err)
	}
	err, wanted := d.Decode(b, &got), json.Unmarshal(b, &want)
	if (err == nil) != (wanted == nil) {
		t.Fatalf("%q:\n got %v\nwant %v", b, err, wanted)
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%q:\n got %+v\nwant %+v", b, got, want)
	}
	var borrowed flat
	d = jsondecode.Typed[flat](jsondecode.Options{Borrow: true})
	if err := d.Decode([]byte(accessLog), &borrowed); err != nil {
		t.Fatal(err)
	}
	if again := d.Decode(b, &borrowed); (again == nil) != (err == nil) || err == nil && !reflect.DeepEqual(borrowed, want) {
		t.Fatalf("%q borrowed:\n got %+v, %v\nwant %+v", b, borrowed, again, want)
	}
}

// A string outlives its record: what keeps one, such as a map of what was seen,
// is not changed by the records behind it.
func TestAStringStaysWhatItIs(t *testing.T) {
	d := jsondecode.Typed[flat](jsondecode.Options{})
	seen := map[string]bool{}
	var ids []string
	for i := range 10_000 {
		b := []byte(`{"id":"` + strings.Repeat("x", i%3000) + string(rune('a'+i%26)) + `","tags":["` + string(rune('a'+i%26)) + `"]}`)
		var v flat
		if err := d.Decode(b, &v); err != nil {
			t.Fatal(err)
		}
		clear(b)
		seen[v.ID], ids = true, append(ids, v.Tags[0])
	}
	for id := range seen {
		if strings.Trim(id, "x") == "" && !strings.HasSuffix(id, "x") || strings.ContainsRune(id, 0) {
			t.Fatalf("an id became %q", id)
		}
	}
	for i, id := range ids {
		if id != string(rune('a'+i%26)) {
			t.Fatalf("tag %d became %q", i, id)
		}
	}
}

func BenchmarkPlanned(b *testing.B) {
	text := []byte(accessLog)
	d := jsondecode.Typed[flat](jsondecode.Options{})
	var v flat
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Decode(text, &v); err != nil {
			b.Fatal(err)
		}
	}
}

func TestATimeIsTheOneOfItsDigits(t *testing.T) {
	d := jsondecode.Typed[flat](jsondecode.Options{})
	for year := 0; year < 10_000; year += 7 {
		for month := time.January; month <= time.December; month++ {
			want := time.Date(year, month, 1+year%31, 23, 59, year%60, year*100_000, time.UTC)
			var v flat
			if err := d.Decode(want.AppendFormat([]byte(`{"at":`), `"`+time.RFC3339Nano+`"}`), &v); err != nil || !reflect.DeepEqual(v.At, want) {
				t.Fatalf("%v, %v: want %v", v.At, err, want)
			}
		}
	}
}

func TestANumberIsTheNearestFloat(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	d := jsondecode.Typed[flat](jsondecode.Options{})
	for range 6_000 {
		digits := strconv.Itoa(1 + r.IntN(9))
		for range r.IntN(19) {
			digits += strconv.Itoa(r.IntN(10))
		}
		at := 1 + r.IntN(len(digits))
		number := digits[:at] + "." + digits[at:] + "5"
		want, err := strconv.ParseFloat(number, 64)
		if err != nil {
			t.Fatal(err)
		}
		var v flat
		if err := d.Decode([]byte(`{"latency_ms":`+number+`}`), &v); err != nil || v.Latency != want {
			t.Fatalf("%s is %v, %v: want %v", number, v.Latency, err, want)
		}
	}
}

func TestNamesThatAreThereTwiceAreTheLibrarys(t *testing.T) {
	type twins struct {
		A string `json:"x"`
		B string `json:"X"`
		C string `json:"y"`
	}
	b := []byte(`{"x":"1","X":"2","Y":"3"}`)
	var got, want twins
	err, wanted := jsondecode.Typed[twins](jsondecode.Options{}).Decode(b, &got), json.Unmarshal(b, &want)
	if err != nil || wanted != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}
