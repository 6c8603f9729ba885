package frame_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/frame/frametest"
	"github.com/spate-go/spate/pkg/record"
)

func arrayHarness() frametest.Harness {
	return frametest.Harness{
		New:       func(limit int) frame.Framer { return frame.JSONArray(limit) },
		Reference: jsonReference(false),
		Inputs:    jsonInputs,
		Tokens:    jsonTokens,
	}
}

func pathHarness(path ...string) frametest.Harness {
	h := arrayHarness()
	h.New = func(limit int) frame.Framer { return frame.JSONPath(path, limit) }
	h.Reference = jsonReference(false, path...)
	return h
}

func valueHarness() frametest.Harness {
	h := arrayHarness()
	h.New = func(limit int) frame.Framer { return frame.JSON(limit) }
	h.Reference = jsonReference(true)
	h.Resumes = true
	return h
}

var jsonTokens = []string{
	"[", "[", "]", "]", "{", "{", "}", "}", ",", ",", ":", `"`, `"`, `\`, `\\`, `\"`, " ", "\n", "\r\n", "1", "-1.5e3", "null", "true", "nul",
	`{"a":1}`, `[1,[2]]`, `"x"`, `"}"`, `"]["`, `"\\"`, `"\"}"`, `{"a":{"b":[{}]}}`, `"Records":`, `"\u0052ecords":`, `"a":`, `"b":`, `{"Records":[`, `{"a":{"b":[`,
	"\ufeff", "\xff", "\x00", "é", strings.Repeat("x", 20), strings.Repeat(`"{\\`, 400), `{"Records":[{"a":1},`, `[{"a":"\\"},`,
}

var jsonInputs = []string{
	`[]`, `[ ]`, ` [ 1 , 2 ] `, `[1]`, `[12`, `[1,`, `[1,]`, `[,1]`, `[1 2]`, `[1]2`, `[1],[2]`, `[1][2]`, "[1]\n[2]\n", `[`, `]`, `[]]`, `1`, ``, " \n",
	`[{"a":1},{"b":[1,{"c":"}]"}]},"x",null,-1.5e-3,true,[[]],{}]`, `[{"a":"\""},{"b":"\\"},{"c":"\\\""}]`, "[\n  {\n    \"a\": 1\n  },\n  2\n]\n",
	"\ufeff[1]", "\ufeff", "\xef\xbb", "\ufeff\ufeff[]", "[1]\ufeff", "[\ufeff1]", "[1]\x00", `[{"a":1]`, `[{"a":[}]`, `[{\"a":1}]`, `[{"a":\}]`, `["abc`, `["abc\`, `["abc\"`,
	`{"Records":[]}`, `{"Records":[1,{"a":2}]}`, `{"x":{"Records":[9]},"Records":[1],"y":"]}"}`, `{"Records":null}`, `{"Records":nul}`, `{"Records":nullnullnull}`, `{"Records":n` + strings.Repeat("u", 100) + `}`, `{"Records":{}}`,
	`{"Records":1}`, `{"Records"`, `{"Records":`, `{"Records":[`, `{"Records":[1`, `{"Records":[1]`, `{"Records":[1],`, `{"Records":[1],}`, `{}`, `{"a":1}`, `{"Records":[1]}{"Records":[2]}`,
	"{\"Records\":[1]}\n{\"Records\":[2]} 3", `{"\u0052ecords":[1]}`, `{"Records\u0000":[2],"Records":[1]}`, `{"Recordsx":[2],"Records":[1],"Records":[3]}`, `{"R` + strings.Repeat("x", 100) + `":[2],"Records":[1]}`,
	`{"a":{"b":[1,2],"c":3},"b":[4]}`, `{"a":null}`, `{"a":{"b":null}}`, `{"a":{}}`, `{"a":[1]}`, `{"b":[1],"a":{"b":[2]}}`, `{"a":{"a":{"b":[1]}}}`, `{"a":{"b":[1]},"a":{"b":[2]}}`, `{a:1}`, `{"a"1}`, `{"a":}`, `{"a":,}`,
	`{}{}{}`, `{"a":1}{"b":2}`, "{\"a\":\n1}\n\n[2] 3\"x\"4", `1 2 3`, `1,2`, `true false null`, `truefalse`, `trailing`, `{} trailing`, `{}x`, `-`, `1a`, `"a""b"`, `"a`, `{"a":1`, `[1]}`, `:`,
	`[` + strings.Repeat("[", 50) + strings.Repeat("]", 50) + `,1]`, `[{"abcdefgh":"ijklmnop"},1,"0123456789abcdef",{"x":"` + strings.Repeat("{", 30) + `"},2]`, `[` + strings.Repeat("9", 40) + `,1]`,
	`[0,{"a":"{"},{"b":"}"},{"c":"}{"},{"d":"{}"},{"e":"\"{"},{"f":"\\"},{"g":"\\\"}"},{"h":{"i":"}"},"j":"{"},{"k":"{"},{"l":"x\"y"}]`, `[0,{"a":"{"},{"a":1},{"b":"}"},{"a":{"b":"\""},"c":"\""},{"d":{"\"":{}},"\"":1}]`,
	`[0,{"a":{"b":{"c":{"d":{"e":{}}}}}},{"a":{"b":{"c":{"d":{}}}}},{"a":[{},{}]},{}]`, `[0 , {"a":1} ,` + "\n\t" + `[1,[2,"]"]] ,[[]] , {"x":"\\}"},{"a":\},{"b":\"}"},3]`, "{\"a\":1}\n{\"b\":\"}\"} {\"c\":{}}[[],\"[\"]{\"d\":\"\\\"\"}",
	`[0,{"a":"\"","b":{"c":"}"},"d":1},2]`, `[0,{"a":"\\","b":"}"},2]`, `[0,{"a":"{}}"},2]`, `[0,,{"a":1}]`, `[0,{"a":1},,{"b":1}]`,
	`[0,{"a":"` + strings.Repeat("x", 40) + `"},{"b":{"c":"\\\\"}},{"` + strings.Repeat(`\\`, 20) + `":1},{"d":2}]`,
	`{"skip":"` + strings.Repeat(`\"}`, 40) + `","Records":[1]}`, `{"skip":[` + strings.Repeat(`{"a":"]"},`, 20) + `1],"Records":[1]}`,
}

func TestJSONFramersKeepTheLawsOfFramers(t *testing.T) {
	for name, h := range map[string]frametest.Harness{
		"array": arrayHarness(), "path": pathHarness("Records"), "nested path": pathHarness("a", "b"), "values": valueHarness(),
	} {
		t.Run(name, func(t *testing.T) { frametest.Run(t, h) })
	}
}

func FuzzJSONFramers(f *testing.F) {
	for _, in := range jsonInputs {
		f.Add([]byte(in), uint8(9), uint64(1))
	}
	f.Fuzz(func(t *testing.T, input []byte, limit uint8, seed uint64) {
		if len(input) > 1<<10 {
			t.Skip("every cut of it would be tried")
		}
		for _, h := range []frametest.Harness{arrayHarness(), pathHarness("Records"), pathHarness("a", "b"), valueHarness()} {
			frametest.Check(t, h, input, 1+int(limit), seed)
		}
	})
}

// all frames input in one call.
func all(f frame.Framer, input string) (records []string, err error) {
	buf := []byte(input)
	frames, _, err := f.Split(nil, buf, true)
	for _, fr := range frames {
		if fr.Oversize {
			records = append(records, "<over>")
			continue
		}
		records = append(records, string(buf[fr.Start:fr.End]))
	}
	return records, err
}

func TestJSON(t *testing.T) {
	array := func() frame.Framer { return frame.JSONArray(20) }
	path := func() frame.Framer { return frame.JSONPath([]string{"detail", "items"}, 20) }
	values := func() frame.Framer { return frame.JSON(20) }
	tests := []struct {
		name  string
		f     func() frame.Framer
		input string
		want  string // joined by |
		fault string // part of the error
	}{
		{"elements of an array as written", array, ` [ {"a" : 1} , "x" ,null, [1, 2] ] `, `{"a" : 1}|"x"|null|[1, 2]`, ""},
		{"an element over several lines stays one", array, "[{\n\"a\":\r\n1}]", "{\n\"a\":\r\n1}", ""},
		{"arrays behind arrays", array, "[1]\n[2][]\n[3]", "1|2|3", ""},
		{"brackets in strings are text", array, `[{"a":"}]{["},"]"]`, `{"a":"}]{["}|"]"`, ""},
		{"escaped quotes end no string", array, `["\"]","\\",{"a":"\\\""}]`, `"\"]"|"\\"|{"a":"\\\""}`, ""},
		{"an element over the limit, and those behind it", array, `[1,"0123456789012345678",2,"012345678901234567"]`, `1|<over>|2|"012345678901234567"`, ""},
		{"a fault inside an element is the element's", array, `[{"a":},{"b" 1},NaN,{"c":1}]`, `{"a":}|{"b" 1}|NaN|{"c":1}`, ""},
		{"a cut array, with what was read", array, `[{"a":1},{"a":2},{"a"`, `{"a":1}|{"a":2}`, "the text ends early, in an array: it is cut at offset 21, after 2 elements"},
		{"a cut number is no element", array, `[1,12`, `1`, "cut at offset 5, after 1 elements"},
		{"an array without its end", array, `[1]` + "\n[", `1`, "after 1 elements"},
		{"bytes behind the array", array, `[1] x`, `1`, "want an array at offset 4, after 1 elements"},
		{"a comma too many", array, `[1,]`, `1`, "want a value at offset 3"},
		{"a comma missing", array, `[1 2]`, `1`, "want a comma or ] at offset 3"},
		{"an object where an array is wanted", array, `{"a":1}`, ``, "want an array at offset 0"},

		{"the array at a path", path, `{"id":7,"detail":{"n":[0],"items":[1,2],"m":{"items":[9]}},"items":[8]}`, `1|2`, ""},
		{"documents behind documents", path, `{"detail":{"items":[1]}}` + "\n" + `{"detail":{"items":[2]}}{"detail":{"items":[]}}`, `1|2`, ""},
		{"null for an array of nothing", path, `{"detail":{"items":null}} {"detail":null}`, ``, ""},
		{"a key with escapes", path, `{"d\u0065tail":{"\u0069tems":[1]}}`, `1`, ""},
		{"a document without the array", path, `{"detail":{"items":[1]}}{"detail":{}}`, `1`, "want an array at detail.items before the end of the object at offset 36, after 1 elements"},
		{"another value where the array should be", path, `{"detail":{"items":{"a":1}}}`, ``, "want an array at detail.items at offset 19"},
		{"an array where the path goes on", path, `{"detail":[1]}`, ``, "want an array at detail.items at offset 10"},
		{"an array at the top", path, `[1]`, ``, "want an object with an array at detail.items at offset 0"},
		{"a document that is cut behind its array", path, `{"detail":{"items":[1,2]}`, `1|2`, "the text ends early, in an object: it is cut at offset 25, after 2 elements"},
		{"a key that is none", path, `{"detail":{"items":[1]},x}`, `1`, "want a key in quotes at offset 24"},

		{"values without anything between them", values, `{"a":1}{"b":2}[3]"4"5`, `{"a":1}|{"b":2}|[3]|"4"|5`, ""},
		{"values over lines", values, "{\n \"a\":1\n}\n{\n}\n", "{\n \"a\":1\n}|{\n}", ""},
		{"one value", values, ` {"a":1} `, `{"a":1}`, ""},
		{"no value", values, " \r\n", ``, ""},
		{"a value that is cut", values, `{"a":1}{"b":`, `{"a":1}`, "the text ends early, in a value: it is cut at offset 12, after 1 values"},
		{"bytes behind a value", values, `{"a":1}rest`, `{"a":1}`, "want a value at offset 7, after 1 values"},
		{"a comma between values", values, `{},{}`, `{}`, "want a value at offset 2, after 1 values"},
		{"a value over the limit, and those behind it", values, `{"a":"0123456789012345"}{}`, `<over>|{}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := all(tt.f(), tt.input)
			if s := strings.Join(got, "|"); s != tt.want {
				t.Errorf("got %q, want %q", s, tt.want)
			}
			switch {
			case tt.fault == "" && err != nil:
				t.Errorf("got %v", err)
			case tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)):
				t.Errorf("got %v, want %q in it", err, tt.fault)
			}
			if scope, reason := failure.Of(err); err != nil && (scope != failure.Member || reason != failure.Undecodable) {
				t.Errorf("scope %v, reason %v", scope, reason)
			}
		})
	}
}

func TestJSONOffsetsAreOfTheObject(t *testing.T) {
	f := frame.JSONArray(8)
	buf := []byte(`[1,2,3`)
	_, n, err := f.Split(nil, buf, false)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = f.Split(nil, append(buf[n:], `,4 5]`...), true)
	if err == nil || !strings.Contains(err.Error(), "want a comma or ] at offset 9, after 4 elements") {
		t.Errorf("got %v", err)
	}
}

func TestElementsOverTheLimitAreCountedToo(t *testing.T) {
	f := frame.JSONArray(3)
	var buf []byte
	for rest := `[1,"abcdef",{"a":1},2`; ; rest = rest[1:] {
		buf = append(buf, rest[0])
		_, n, err := f.Split(nil, buf, len(rest) == 1)
		if len(rest) == 1 {
			if err == nil || !strings.Contains(err.Error(), "it is cut at offset 21, after 3 elements") {
				t.Errorf("got %v", err)
			}
			return
		}
		buf = buf[n:]
	}
}

// INV-6: whatever the nesting, the strings and the sizes, the framer keeps
// nothing and the caller no more than Need.
func TestJSONDealsWithWhatItNeedNotKeep(t *testing.T) {
	for name, text := range map[string]string{
		"a deep element":         `[` + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + `,1]`,
		"a long string":          `["` + strings.Repeat("x", 1<<20) + `",1]`,
		"a long number":          `[` + strings.Repeat("1", 1<<20) + `,1]`,
		"white space":            `[` + strings.Repeat(" \n", 1<<19) + `1]`,
		"an element of escapes":  `[{"a":"` + strings.Repeat(`\"`, 1<<19) + `"},1]`,
		"an element of brackets": `[{"a":"` + strings.Repeat(`}`, 1<<20) + `"},1]`,
		"a member passed over":   `{"x":{"y":"` + strings.Repeat("z", 1<<20) + `"},"Records":[1]}`,
		"a long key":             `{"` + strings.Repeat("k", 1<<20) + `":0,"Records":[1]}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := frame.JSONArray(100)
			if text[0] == '{' {
				f = frame.JSONPath([]string{"Records"}, 100)
			}
			var frames []record.Frame
			var err error
			last, buf := "", make([]byte, 0, f.Need())
			for rest := text; err == nil && (rest != "" || len(buf) > 0); {
				n := min(cap(buf)-len(buf), len(rest))
				buf, rest = append(buf, rest[:n]...), rest[n:]
				var dealt int
				frames, dealt, err = f.Split(frames[:0], buf, rest == "")
				if len(frames) > 0 {
					fr := frames[len(frames)-1]
					last = string(buf[fr.Start:fr.End])
				}
				buf = buf[:copy(buf, buf[dealt:])]
			}
			if err != nil || last != "1" {
				t.Errorf("last record %q, %v", last, err)
			}
		})
	}
}

func TestJSONAllocatesNothing(t *testing.T) {
	buf := jsonArray(256<<10, ",")
	for name, f := range map[string]frame.Framer{"array": frame.JSONArray(1 << 20), "values": frame.JSON(1 << 20), "auto": frame.Auto(1 << 20)} {
		dst, _, _ := f.Split(nil, buf, false)
		if n := testing.AllocsPerRun(20, func() { f.Reset(0); dst, _, _ = f.Split(dst[:0], buf, false) }); n != 0 {
			t.Errorf("%s: %v allocations a call", name, n)
		}
	}
}

// The work for a value that arrives in n pieces must not grow with n squared;
// nor that for a buffer of n values with the square of them.
func TestJSONScansOnce(t *testing.T) {
	const piece, pieces = 1 << 10, 1 << 10
	for name, unit := range map[string]string{
		"text": "x", "brackets": "}", "escapes": `\"`, "quotes": `","`, "objects": `"},{"a":"`, "arrays": `"},["x"],{"a":"`,
	} {
		t.Run(name, func(t *testing.T) {
			long := []byte(`[{"a":"` + strings.Repeat(unit, piece*pieces/len(unit)))
			f := frame.JSONArray(len(long))
			var dst []record.Frame
			whole := func(n int) time.Duration {
				return fastest(func() { f.Reset(0); dst, _, _ = f.Split(dst[:0], long[:n], false) })
			}
			once, part := whole(len(long)), whole(len(long)/64)
			if once > 600*part {
				t.Errorf("for 64 times as much it took %v, not %v", once, 64*part)
			}
			split := fastest(func() {
				f.Reset(0)
				var from int
				for n := piece; n <= len(long); n += piece {
					var dealt int
					dst, dealt, _ = f.Split(dst[:0], long[from:n], false)
					from += dealt
				}
			})
			if split > 100*once {
				t.Errorf("in pieces it took %v, at once %v", split, once)
			}
		})
	}
}

// What is tried and given up for one value must not reach far behind it.
func TestJSONScansManyValuesOnce(t *testing.T) {
	for _, unit := range []string{
		`{"a":"{"},`, `{"a":"}"},`, `{"a":"\""},`, `{"a":"\\{"},`, `{"a":{"a":{"a":{"a":{"a":{}}}}}},`, `[1],{"a":"]["},`, `[[[[[[[1]]]]]]],`, `{"a":{"b":"{"}},[{}],`,
	} {
		long := []byte(`[` + strings.Repeat(unit, 1<<18/len(unit)))
		f := frame.JSONArray(len(long))
		var dst []record.Frame
		whole := func(n int) time.Duration {
			return fastest(func() { f.Reset(0); dst, _, _ = f.Split(dst[:0], long[:n], false) })
		}
		if once, part := whole(len(long)), whole(len(long)/64); once > 600*part {
			t.Errorf("%s: for 64 times as many it took %v, not %v", unit, once, 64*part)
		}
	}
}

// jsonArray is an array of about n bytes of records as logs have them.
func jsonArray(n int, sep string) []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for i := 0; b.Len() < n; i++ {
		if i > 0 {
			b.WriteString(sep)
		}
		b.Write(logEvent(i))
	}
	b.WriteByte(']')
	return b.Bytes()
}

// logEvent is a record of some 480 bytes with members of every kind.
func logEvent(i int) []byte {
	b := fmt.Appendf(nil, `{"ts":"2026-11-%02dT12:34:56.789Z","id":"%032x","level":"info","host":"web-%d.eu-west-1.example.com","service":"checkout",`, 1+i%28, i*7919, i%50)
	b = fmt.Appendf(b, `"http":{"method":"GET","path":"/api/v1/orders/%d?expand=items","status":%d,"bytes":%d,"referer":"https://example.com/cart"},`, i, 200+i%300, i*31)
	if i%4 == 0 {
		b = append(b, `"error":{"kind":"timeout","stack":"a.go:12\n\tb.go:34 \"x\""},`...)
	}
	b = fmt.Appendf(b, `"latency_ms":%d.75,"ok":true,"tags":["a","bé","c"],"labels":{"env":"prod","team":"payments"},"message":"%s"}`, i%90, strings.Repeat("served from cache ", 4))
	return b
}

func BenchmarkSplitJSON(b *testing.B) {
	const piece = 256 << 10
	array := jsonArray(piece, ",")
	lines := bytes.ReplaceAll(array[1:], []byte(`},{"ts`), []byte("}\n"+`{"ts`))
	lines = lines[:len(lines)-1]
	for name, c := range map[string]struct {
		f   frame.Framer
		buf []byte
	}{
		"array": {frame.JSONArray(1 << 20), array}, "values": {frame.JSON(1 << 20), lines},
		"records": {frame.JSONPath([]string{"Records"}, 1<<20), slices.Concat([]byte(`{"Records":`), array)},
		"numbers": {frame.JSONArray(1 << 20), []byte("[" + strings.Repeat("[1,2],[3,4],", 1<<14))},
		"ndjson":  {frame.NDJSON(1 << 20), lines},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(c.buf)))
			b.ReportAllocs()
			var dst []record.Frame
			for b.Loop() {
				c.f.Reset(0)
				dst, _, _ = c.f.Split(dst[:0], c.buf, false)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(dst)), "ns/record")
		})
	}
}
