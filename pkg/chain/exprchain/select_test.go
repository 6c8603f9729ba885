package exprchain_test

import (
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/chain/exprchain"
	"github.com/spate-go/spate/pkg/decode/jsondecode"
	"github.com/spate-go/spate/pkg/failure"
)

func TestSelect(t *testing.T) {
	for _, c := range []struct {
		sentence string
		steps    []exprchain.Step
		in, want string
	}{
		{"keeps the given order and makes null of what is missing",
			[]exprchain.Step{selects("b", "gone", "a")}, `{"a":1,"b":2,"c":3}`, `{"b":2,"gone":null,"a":1}`},
		{"copies numbers as they are written",
			[]exprchain.Step{selects("i", "f", "n", "e")}, `{"i":12345678901234567890,"f":1.10,"n":-0,"e":1e400}`,
			`{"i":12345678901234567890,"f":1.10,"n":-0,"e":1e400}`},
		{"copies strings byte for byte",
			[]exprchain.Step{selects("s")}, `{"s":"\u00e9\/` + "\xff" + `"}`, `{"s":"\u00e9\/` + "\xff" + `"}`},
		{"calls a nested member by its last key or another name",
			[]exprchain.Step{selects("http.status", "p: http.path", "http")}, `{"http":{"status":200,"path":"/"}}`,
			`{"status":200,"p":"/","http":{"status":200,"path":"/"}}`},
		{"takes odd keys in brackets or as they are",
			[]exprchain.Step{selects(`labels["a.b"].c`, "user-agent", "@ts", `["x y"]`)},
			`{"labels":{"a.b":{"c":1}},"user-agent":2,"@ts":3,"x y":4}`, `{"c":1,"user-agent":2,"@ts":3,"x y":4}`},
		{"knows a key that is written with escapes",
			[]exprchain.Step{selects("é", "a")}, `{"\u00e9":1,"\u0061":2}`, `{"é":1,"a":2}`},
		{"takes the last of members called the same, and what is below that one",
			[]exprchain.Step{selects("a.b", "c: a.c")}, `{"a":{"b":1,"c":2},"a":{"c":3}}`, `{"b":null,"c":3}`},
		{"forgets what lay below a member that is later no object",
			[]exprchain.Step{selects("a.b")}, `{"a":{"b":1},"a":7}`, `{"b":null}`},
		{"knows the object and the record's place in it",
			[]exprchain.Step{selects("k: object.key", "object.size", "object.last_modified", "object.partition.city", "object.partition.no", "record.index", "record.offset", "this.object")},
			`{"object":5}`, `{"k":"logs/year=2026/city=K%C3%B6ln/part-1.ndjson","size":1234,"last_modified":"2026-11-01T12:00:00Z","city":"Köln","no":null,"index":100,"offset":8589934592,"object":5}`},
		{"narrows what later steps see",
			[]exprchain.Step{selects("x: a.b", "k: object.key"), filter(`x.c == 1 && k startsWith "logs/"`), selects("z: x.c", "k")},
			`{"a":{"b":{"c":1}}}`, `{"z":1,"k":"logs/year=2026/city=K%C3%B6ln/part-1.ndjson"}`},
		{"puts a value that is spread over lines on one",
			[]exprchain.Step{selects("a")}, "{\"a\": [1,\n  \"\\n\"\r\n]\n}", "{\"a\":[1,  \"\\n\"\r]}"},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			out, err := run(compile(t, chain.Fail, c.steps...), c.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(out.Sinks[0].Data); got != c.want+"\n" {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestSelectOfARecordThatIsNoObjectIsARecordError(t *testing.T) {
	for _, rec := range []string{`5`, `[{"a":1}]`, `null`, `"a"`} {
		_, err := run(compile(t, chain.Fail, selects("a")), rec)
		if scope, reason := failure.Of(err); scope != failure.Member || reason != failure.Operator {
			t.Errorf("%s: got %v", rec, err)
		}
		out, err := run(compile(t, chain.Skip, selects("a")), rec, `{"a":1}`)
		if err != nil || string(out.Sinks[0].Data) != `{"a":1}`+"\n" || out.Counts.Rejected != 1 || out.Undecoded != 0 {
			t.Errorf("%s: got %q %+v %v", rec, out.Sinks[0].Data, out.Counts, err)
		}
	}
}

func TestWithoutStepsRecordsAreCheckedAndPassedOn(t *testing.T) {
	lines := []string{` {"a" : 1.10} `, `{"a":`, `7`, `{"a":1,"a":2}`}
	out, err := run(compile(t, chain.Skip), lines...)
	want := lines[0] + "\n7\n" + lines[3] + "\n"
	if err != nil || string(out.Sinks[0].Data) != want || out.Counts.Rejected != 1 || out.Undecoded != 1 {
		t.Errorf("got %q %+v %v", out.Sinks[0].Data, out.Counts, err)
	}
	if _, err := run(compile(t, chain.Fail), lines...); err == nil || !strings.HasPrefix(err.Error(), "record 101: decode json: want more") {
		t.Errorf("got %v", err)
	}
	if out, _ := run(compile(t, chain.Fail), "{\n\"a\": \"\\n\"\n}"); string(out.Sinks[0].Data) != `{"a": "\n"}`+"\n" {
		t.Errorf("over lines: got %q", out.Sinks[0].Data)
	}
	strict, err := exprchain.Compile(nil, exprchain.Options{Decode: jsondecode.Options{DisallowDuplicateKeys: true}})
	if err != nil {
		t.Fatal(err)
	}
	if out, _ := run(strict, lines...); out.Counts.Rejected != 2 {
		t.Errorf("got %+v", out.Counts)
	}
}

func TestWorkersOfOneChainWorkAtTheSameTime(t *testing.T) {
	c := compile(t, chain.Fail, filter(`[a][0] > 0 && b matches "x+" && object.size > 1`), selects("a", "object.key"))
	want, _ := run(c, `{"a":1,"b":"x"}`)
	done := make(chan string)
	for range 4 {
		go func() {
			var got string
			for range 100 {
				out, _ := run(c, `{"a":1,"b":"x"}`)
				got = string(out.Sinks[0].Data)
			}
			done <- got
		}()
	}
	for range 4 {
		if got := <-done; got != string(want.Sinks[0].Data) || got == "" {
			t.Errorf("got %q", got)
		}
	}
}

const accessLog = `{"ts":"2026-11-01T12:34:56.789Z","id":"8f14e45fceea167a5a36dedd4bea2543","level":"info","host":"web-17.eu-west-1.example.com","service":"checkout","http":{"method":"GET","path":"/api/v1/orders/12345?expand=items","status":503,"bytes":18234,"referer":"https://example.com/cart"},"geo":{"country":"DE","lat":52.52,"lon":13.405},"latency_ms":12.75,"ok":true,"tags":["a","b","c"],"labels":{"env":"prod","team":"payments"},"retries":3,"message":"served from the cache"}`

func TestFilterAndSelectAllocateNothing(t *testing.T) {
	for text, limit := range map[string]float64{`http.status >= 500 && latency_ms < 20`: 0, `[http.status][0] >= 500`: 10} {
		w := compile(t, chain.Fail, filter(text), selects("ts", "http.status", "http.path", "id", "service"))()
		b, out := batch(accessLog), &chain.Output{Sinks: make([]chain.Rows, 1)}
		if n := testing.AllocsPerRun(100, func() {
			out.Sinks[0].Reset()
			if err := w.Process(b, out); err != nil || len(out.Sinks[0].Ends) != 1 {
				t.Fatal(err)
			}
		}); n > limit {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}

func BenchmarkFilterAndSelect(b *testing.B) {
	for name, text := range map[string]string{"test": `http.status >= 500 && latency_ms < 20`, "vm": `int(http.status) >= 500 && latency_ms < 20`} {
		b.Run(name, func(b *testing.B) {
			c, err := exprchain.Compile([]exprchain.Step{filter(text), selects("ts", "http.status", "http.path", "id", "service")}, exprchain.Options{})
			if err != nil {
				b.Fatal(err)
			}
			w, in, out := c(), batch(accessLog), &chain.Output{Sinks: make([]chain.Rows, 1)}
			b.SetBytes(int64(len(accessLog)))
			b.ReportAllocs()
			for b.Loop() {
				out.Sinks[0].Reset()
				if err := w.Process(in, out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
