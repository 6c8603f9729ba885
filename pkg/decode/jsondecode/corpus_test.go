package jsondecode_test

import (
	"math/rand/v2"

	"github.com/spate-go/spate/pkg/decode/decodetest"
)

const accessLog = `{"ts":"2026-11-01T12:34:56.789Z","id":"8f14e45fceea167a5a36dedd4bea2543","level":"info","host":"web-17.eu-west-1.example.com","service":"checkout","http":{"method":"GET","path":"/api/v1/orders/12345?expand=items","status":503,"bytes":18234,"referer":"https://example.com/cart"},"geo":{"country":"DE","lat":52.52,"lon":13.405},"latency_ms":12.75,"ok":true,"tags":["a","bé","c\n\u00e9"],"labels":{"env":"prod","team":"payments"},"retries":3,"message":"served from cache"}`

// seeds are texts that mutants are made of: every kind of value, place and
// escape, and some that are no JSON.
func seeds() []string {
	return []string{
		accessLog, `{}`, `[]`, `null`, `true`, `false`, `""`, `0`, `-0`, `1.10`, `1e400`, `-1.5E-7`, `12345678901234567890`,
		` { "a" : [ 1 , 2.5 , null , { "b" : "\ud83d\ude00 \u0000 \ud800" } ] , "c" : "` + "\xff\xc3" + `" } `,
		`{"a":{"b":1,"c":2},"a":{"c":3},"\u0061":{"b":4}}`, `{"a":1,"b":{"x":1,"x":2}}`, `[[[[{"a":[{}]}]]]]`,
		`{"tags":["a"],"tags":[],"geo":{"lat":1},"geo":{"lon":2},"labels":{"a":"b"},"labels":{"c":"d"}}`,
		`{"TS":"a","Http":{"METHOD":"x","status":1},"HTTP":null,"geo":null,"tags":[null,"x"],"retries":255}`,
		`{"any":{"a":[1,2.5,null,true,"x"]},"raw":{"x": [1]},"at":"2026-01-02T03:04:05Z","pair":[1,2],"bin":"aGVsbG8=","n":1.10,"by":{"1":"a"},"quoted":"12"}`,
		``, ` `, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `[1,`, `"`, `"\`, `"\u12`, `-`, `1.`, `1e`, `01`, `1 2`, `nul`, `{a:1}`, `{"a" 1}`, "\ufeff{}", `'a'`, "\"\x1f\"", `[1,]`, `{"a":1,}`, "\x00",
	}
}

func fragments() []string {
	return []string{`"`, `\`, `{`, `}`, `[`, `]`, `,`, `:`, ` `, "\n", "null", "true", "1e400", "-0", "-", ".", "e", "0", "\x00", "\x1f", "\x7f",
		"\x80", "\xff", `\ud800`, `\u00zz`, `\/`, `"ok":false,`, `"geo":null,`, `"geo":{},`, `"GEO":{"LAT":1},`, `256`, `99999999999999999999`, "é", "\u212a", `"a":{"b":7},`}
}

func mutate(r *rand.Rand, text string) []byte { return decodetest.Mutate(r, text, fragments()) }
