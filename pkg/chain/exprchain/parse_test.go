package exprchain_test

import (
	"testing"

	"github.com/spate-go/spate/pkg/chain/exprchain"
)

func parse(p exprchain.Parse) []exprchain.Step { return steps(exprchain.Step{Parse: &p}) }

func TestParse(t *testing.T) {
	js, kv := exprchain.Parse{Field: "m", As: "json"}, exprchain.Parse{Field: "m", As: "key_value"}
	query := exprchain.Parse{Field: "m", As: "query"}
	regex := exprchain.Parse{Field: "m", As: "regex", Pattern: `(?P<ip>\S+) (?P<user>\w+)?(?:-(?P<no>x))?`}
	into := func(p exprchain.Parse, path string) []exprchain.Step {
		p.Into = path
		return parse(p)
	}
	for _, c := range []edited{
		{"json merges an object, whose members win", parse(js), `{"m":" {\"a\":1.10,\"\\u00e9\":12345678901234567890} ","a":2}`,
			`{"m":" {\"a\":1.10,\"\\u00e9\":12345678901234567890} ","a":1.10,"\u00e9":12345678901234567890}`},
		{"json may replace its field", into(js, "m"), `{"m":"[1, 2]","a":2}`, `{"m":[1, 2],"a":2}`},
		{"json may go anywhere", into(js, "x.y"), `{"m":"\"s\""}`, `{"m":"\"s\"","x":{"y":"s"}}`},
		{"json is on one line", into(js, "m"), `{"m":"{\n\"a\":\n1}"}`, `{"m":{"a":1}}`},
		{"json without a name for it must be an object", parse(js), `{"m":"[1]"}`, `record 100: chain[0].parse: the JSON in m is an array, not an object: say where it goes with into`},
		{"json must be json", parse(js), `{"m":"{\"a\":"}`, `record 100: chain[0].parse: m: decode json: want more: the text ends early at offset 5, near "{\"a\":"`},
		{"nothing is parsed of nothing", parse(js), `{"a":1}`, `{"a":1}`},
		{"nothing is parsed of null", parse(kv), `{"m":null}`, `{"m":null}`},
		{"only strings are parsed", parse(kv), `{"m":5}`, `record 100: chain[0].parse: m is a number, not a string`},

		{"key_value reads words and quotes", into(kv, "kv"), `{"m":"  a=1 b=\"x \\\"y\\\\\\n=\"\tc= flag d=e=f\n"}`, `{"m":"  a=1 b=\"x \\\"y\\\\\\n=\"\tc= flag d=e=f\n","kv":{"a":"1","b":"x \"y\\\n=","c":"","flag":true,"d":"e=f"}}`},
		{"key_value goes to the top", parse(kv), `{"m":"a=1 a=2 n=3","n":0}`, `{"m":"a=1 a=2 n=3","n":"3","a":"2"}`},
		{"key_value may find nothing", into(kv, "m"), `{"m":" "}`, `{"m":{}}`},
		{"key_value wants keys", parse(kv), `{"m":"a=1 =2"}`, `record 100: chain[0].parse: no key before "=2"`},
		{"key_value wants quotes closed", parse(kv), `{"m":"a=\"1\\"}`, `record 100: chain[0].parse: "\"1\\": a quote is not closed`},

		{"query decodes", into(query, "q"), `{"m":"a=1&b=x%20y+z&&c&d=%C3%A9=&a=2"}`, `{"m":"a=1&b=x%20y+z&&c&d=%C3%A9=&a=2","q":{"a":"2","b":"x y z","c":"","d":"é="}}`},
		{"query knows paths and URLs", into(query, "m"), `{"m":"/p?a=1&b=/?#a=2"}`, `{"m":{"a":"1","b":"/?"}}`},
		{"query knows URLs without one", into(query, "m"), `{"m":"https://x/y#a=1"}`, `{"m":{}}`},
		{"query keeps a question mark in a value", into(query, "m"), `{"m":"a=b?c=d"}`, `{"m":{"a":"b?c=d"}}`},
		{"query takes a question mark in front", into(query, "m"), `{"m":"?a=what?"}`, `{"m":{"a":"what?"}}`},
		{"query makes text of what is none", into(query, "m"), `{"m":"a=%FF"}`, "{\"m\":{\"a\":\"\uFFFD\"}}"},
		{"query wants escapes that are", parse(query), `{"m":"a=%zz"}`, `record 100: chain[0].parse: the query in "a=%zz": invalid URL escape "%zz"`},

		{"regex keeps its named groups", parse(regex), `{"m":"10.0.0.1 bob-x"}`, `{"m":"10.0.0.1 bob-x","ip":"10.0.0.1","user":"bob","no":"x"}`},
		{"regex makes null of a group without part", into(regex, "r"), `{"m":"10.0.0.1 "}`, `{"m":"10.0.0.1 ","r":{"ip":"10.0.0.1","user":null,"no":null}}`},
		{"regex keeps what is empty", parse(exprchain.Parse{Field: "m", As: "regex", Pattern: `^(?P<a>x*)`}), `{"m":"y"}`, `{"m":"y","a":""}`},
		{"regex must match", parse(regex), `{"m":"0123456789012345678901234567890123456789--"}`, `record 100: chain[0].parse: "0123456789012345678901234567890123456789"… does not match the pattern`},
	} {
		c.check(t)
	}
}

func TestParseTimestamp(t *testing.T) {
	ts := func(layout, zone string) []exprchain.Step {
		return parse(exprchain.Parse{Field: "t", As: "timestamp", Layout: layout, Zone: zone})
	}
	for _, c := range []struct{ layout, zone, in, want string }{
		{"", "", `"2026-11-01T12:00:00Z"`, "2026-11-01T12:00:00Z"},
		{"rfc3339", "", `"2026-11-01T12:00:00.120+02:00"`, "2026-11-01T10:00:00.120Z"},
		{"rfc3339", "", `"2026-11-01T12:00:00.000000001-00:30"`, "2026-11-01T12:30:00.000000001Z"},
		{"clf", "", `"10/Oct/2000:13:55:36 -0700"`, "2000-10-10T20:55:36Z"},
		{"rfc1123", "", `"Sun, 01 Nov 2026 12:00:00 GMT"`, "2026-11-01T12:00:00Z"},
		{"rfc1123z", "", `"Sun, 01 Nov 2026 12:00:00 +0100"`, "2026-11-01T11:00:00Z"},
		{"date", "", `"2026-11-01"`, "2026-11-01T00:00:00Z"},
		{"date", "Europe/Berlin", `"2026-07-01"`, "2026-06-30T22:00:00Z"},
		{"datetime", "+02:00", `"2026-11-01 00:30:00.5"`, "2026-10-31T22:30:00.5Z"},
		{"02.01.2006 15:04:05,000", "America/New_York", `"01.11.2026 12:00:00,120"`, "2026-11-01T17:00:00.120Z"},
		{"02.01.2006 15:04:05 MST", "Europe/Berlin", `"01.07.2026 12:00:00 CEST"`, "2026-07-01T10:00:00Z"},
		{"unix", "", `1793534400`, "2026-11-01T12:00:00Z"},
		{"unix", "", `1793534400.120`, "2026-11-01T12:00:00.120Z"},
		{"unix", "", `1.79353440012E9`, "2026-11-01T12:00:00.12Z"},
		{"unix", "", `"1793534400.1234567891"`, "2026-11-01T12:00:00.123456789Z"},
		{"unix", "", `-0.5`, "1969-12-31T23:59:59.5Z"},
		{"unix", "", `1e3`, "1970-01-01T00:16:40Z"},
		{"unix_ms", "", `1793534400007`, "2026-11-01T12:00:00.007Z"},
		{"unix_ms", "", `7`, "1970-01-01T00:00:00.007Z"},
		{"unix_ms", "", `1793534400007.25`, "2026-11-01T12:00:00.00725Z"},
		{"unix_us", "", `1793534400000001`, "2026-11-01T12:00:00.000001Z"},
		{"unix_ns", "", `"1793534400000000001"`, "2026-11-01T12:00:00.000000001Z"},
	} {
		edited{c.layout + " " + c.in, ts(c.layout, c.zone), `{"a":1,"t":` + c.in + `,"z":2}`, `{"a":1,"t":"` + c.want + `","z":2}`}.check(t)
	}
	for _, c := range []edited{
		{"may go elsewhere", parse(exprchain.Parse{Field: "t", As: "timestamp", Into: "x"}), `{"t":"2026-11-01T12:00:00Z"}`, `{"t":"2026-11-01T12:00:00Z","x":"2026-11-01T12:00:00Z"}`},
		{"must fit", ts("", ""), `{"t":"2026-11-01"}`, `record 100: chain[0].parse: "2026-11-01" does not fit the layout "2006-01-02T15:04:05Z07:00"`},
		{"must be a string", ts("", ""), `{"t":5}`, `record 100: chain[0].parse: want a string, got a number`},
		{"must have a zone that is known", ts("rfc1123", ""), `{"t":"Sun, 01 Nov 2026 12:00:00 CET"}`, `record 100: chain[0].parse: "Sun, 01 Nov 2026 12:00:00 CET": the zone CET has no known offset: name one that has it by zone`},
		{"must be a number", ts("unix", ""), `{"t":"soon"}`, `record 100: chain[0].parse: "\"soon\"": want a number`},
		{"must be in range", ts("unix", ""), `{"t":1e30}`, `record 100: chain[0].parse: "1e30": it is out of range`},
		{"must have a year of four digits", ts("unix_ms", ""), `{"t":1793534400007000}`, `record 100: chain[0].parse: the year is not one of four digits`},
	} {
		c.check(t)
	}
}
