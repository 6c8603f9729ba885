package exprchain_test

import (
	"testing"

	"github.com/spate-go/spate/pkg/chain"
)

const sample = `{"status":503,"ms":1.50,"big":9007199254740993,"huge":123456789012345678901234567890,` +
	`"wide":1e400,"tiny":1e-400,"neg":-0,"name":"caf\u00e9 \"x\"","ok":true,"no":false,"none":null,` +
	`"tags":["a","b",3],"http":{"path":"/api/v1","code":{"n":7}},"object":{"key":"mine"},"odd name":1,"id":"7",` +
	`"min":-9223372036854775808,"max":9223372036854775807}`

// judge judges each case as a test on the record's bytes and in the virtual
// machine, which must agree. Members are written $name.
func judge(t *testing.T, sentences map[string]map[string]string) {
	for sentence, cases := range sentences {
		t.Run(sentence, func(t *testing.T) {
			for text, want := range cases {
				if got := verdict(t, direct(text), sample); got != want {
					t.Errorf("%s: got %s, want %s", direct(text), got, want)
				}
				if got := verdict(t, inVM(text), sample); got != want {
					t.Errorf("%s: got %s, want %s", inVM(text), got, want)
				}
			}
		})
	}
}

func TestComparisons(t *testing.T) {
	judge(t, map[string]map[string]string{
		"numbers compare by value": {
			`$status >= 500`: "true", `$status > 503`: "false", `500 < $status`: "true", `503 == $status`: "true",
			`$status != 503`: "false", `$status == 503.0`: "true", `$ms == 1.5`: "true", `$ms < 2`: "true",
			`$neg == 0`: "true", `$status > -1`: "true", `-1 > $status`: "false", `$ms > -1.5`: "true",
		},
		"numbers compare exactly beyond a float's reach": {
			`$big == 9007199254740992`: "false", `$big == 9007199254740993`: "true", `$big > 9007199254740992`: "true",
			`$big == 9007199254740992.0`: "false", `$huge > 9223372036854775807`: "true", `$huge > 1e29`: "true",
			`$huge < 1e30`: "true", `$wide > 1e300`: "true", `$tiny > 0`: "true", `$tiny == 0`: "false",
			`$wide > $huge`: "true", `$huge == $huge`: "true", `$huge != $huge`: "false", `$big < $huge`: "true",
		},
		"strings compare by what they mean": {
			"$name == \"café \\\"x\\\"\"": "true", `$name < "d"`: "true", `$id == "7"`: "true", `$id > "6"`: "true",
			`$http.path == "/api/v1"`: "true", `$http.code.n == 7`: "true", `$http.path != "/"`: "true",
		},
	})
}

func TestComparisonsOfNilAndUnlikeTypes(t *testing.T) {
	judge(t, map[string]map[string]string{
		"nil compares false": {
			`$gone > 5`: "false", `$gone < 5`: "false", `$gone == 5`: "false", `$gone != 5`: "false", `$none == 5`: "false",
			`$none != "x"`: "false", `$gone == $none`: "false", `$gone != $status`: "false", `$gone.deep == 1`: "false",
			`$status.deep == 1`: "false", `$gone > nil`: "false", `$status > nil`: "false",
		},
		"nil is asked for by name": {
			`$gone == nil`: "true", `$none == nil`: "true", `nil == $none`: "true", `$status == nil`: "false",
			`$status != nil`: "true", `$gone != nil`: "false", `nil != $status`: "true", `$no == nil`: "false",
		},
		"unlike types compare false": {
			`$id == 7`: "false", `$id != 7`: "false", `$status == "503"`: "false", `$status < "503"`: "false",
			`$ok == 1`: "false", `$ok > false`: "false", `$tags == 1`: "false", `$tags > "a"`: "false", `$http != 1`: "false",
			`$ok == "true"`: "false", `$status == true`: "false", `$http < $http`: "false",
		},
		"a comparison that is false for nil leaves the others their say": {
			`$gone >= 5 || $id == "7"`: "true", `not ($gone > 5)`: "true", `!($gone > 5) && $ok`: "true",
			`$gone > 5 or $status > 5`: "true", `$gone > 5 and $status > 5`: "false", `not ($id == 7)`: "true",
		},
	})
}

func TestConditions(t *testing.T) {
	judge(t, map[string]map[string]string{
		"booleans": {
			`$ok`: "true", `$no`: "false", `$ok == true`: "true", `$ok == false`: "false", `$no != true`: "true",
			`not $no`: "true", `$ok && $no`: "false", `$ok || $no`: "true", `$ok and not $no`: "true",
		},
		"nil where a truth is wanted is false": {
			`$gone`: "false", `$none`: "false", `not $gone`: "true", `$gone || $ok`: "true", `$gone ? $ok : $no`: "false",
		},
		"in": {
			`$status in [500, 503]`: "true", `$status in [500, 501]`: "false", `$id in ["6", "7"]`: "true",
			`$id in [6, 7]`: "false", `$gone in [1, nil]`: "false", `$status not in [500]`: "true", `$gone not in [1]`: "true",
			`"a" in $tags`: "true", `3 in $tags`: "true", `"z" in $tags`: "false", `"path" in $http`: "true",
			`"a" in $gone`: "false", `"a" in $id`: "false", `$status in 500..503`: "true", `$status in []`: "false",
			`$big in [9007199254740992]`: "false",
		},
		"string operators are false for what is no string": {
			`$name contains "\"x"`: "true", `$name startsWith "caf"`: "true", `$name endsWith "\""`: "true",
			`$name matches "^caf. "`: "true", `$status contains "5"`: "false", `$gone contains ""`: "false",
			`$none startsWith ""`: "false", `$status endsWith ""`: "false", `$tags matches "."`: "false",
			`not ($gone matches ".")`: "true", `$id not contains "8"`: "true", `$id contains $id`: "true", `$id contains $gone`: "false",
		},
	})
}

func TestFilterOfEverythingElse(t *testing.T) {
	for text, want := range map[string]string{
		`object.key contains "year="`:                            "true",
		`object.size == 1234`:                                    "true",
		`object.etag == "\"9b2cf5\""`:                            "true",
		`object.last_modified > date("2026-10-31")`:              "true",
		`object.last_modified < date("2026-10-31")`:              "false",
		`object.partition["year"] == "2026"`:                     "true",
		`object.partition.city == "Köln"`:                        "true",
		`object.partition["month"] == nil`:                       "true",
		`int(object.partition["year"]) >= 2026`:                  "true",
		`record.index == 100`:                                    "true",
		`record.index % 2 == 0`:                                  "true",
		`record.offset == 8589934592`:                            "true",
		`this.object.key == "mine"`:                              "true",
		`this["object"]["key"] == "mine"`:                        "true",
		`this["odd name"] == 1`:                                  "true",
		`len(this) == 18`:                                        "true",
		`tags[0] == "a"`:                                         "true",
		`tags[-1] == 3`:                                          "true",
		`tags[9] == nil`:                                         "true",
		`gone[0].x == nil`:                                       "true",
		`tags == ["a", "b", 3]`:                                  "true",
		`tags == ["a", "b", 4]`:                                  "false",
		`http.code == {"n": 7}`:                                  "true",
		`any(tags, # == "b")`:                                    "true",
		`all(gone, # == "b")`:                                    "true",
		`any(gone, .x > 1)`:                                      "false",
		`count(tags, # in ["a", 3]) == 2`:                        "true",
		`any([{"x": 1}, {"x": nil}], .x > 0)`:                    "true",
		`len(filter(tags, # != "a")) == 1`:                       "true",
		`let limit = status - 3; limit == 500`:                   "true",
		`let status = 1; status == 1`:                            "true",
		`(gone ?? 0) + 1 == 1`:                                   "true",
		`status * 2 == 1006`:                                     "true",
		`ms * 2 == 3`:                                            "true",
		`upper(id + "x") == "7X"`:                                "true",
		`http?.code?.n == 7`:                                     "true",
		`(status > 500 ? "a" : "b") == "a"`:                      "true",
		`string(huge) == "123456789012345678901234567890"`:       "true",
		`toJSON(huge) == "123456789012345678901234567890"`:       "true",
		`$env == nil`:                                            "true", // a member of that name
		`big * 10000 > 1`:                                        "record 100: chain[0].filter: line 1, column 5: 9007199254740993 * 10000 is beyond 64 bits: use float(…)",
		`gone + 1 > 0`:                                           "record 100: chain[0].filter: line 1, column 6: invalid operation: <nil> + int",
		`huge + 1 > 0`:                                           "record 100: chain[0].filter: line 1, column 6: invalid operation: jsondecode.Number + int",
		`let l = [nil, 1]; l == [nil, 1]`:                        "true",
		`{"x": nil} == {"y": nil}`:                               "false",
		`{"x": nil} == {"x": nil}`:                               "true",
		`any(tags, let y = #; y == "b") && y == nil`:             "true",
		`any([{"ok": nil}, {"ok": true}], .ok)`:                  "true",
		`len(1..99999) > 1`:                                      "true",
		`len(1..100001) > 1`:                                     "record 100: chain[0].filter: line 1, column 6: memory budget exceeded",
		`min + status < 0`:                                       "true",
		`min - 1 < 0`:                                            "record 100: chain[0].filter: line 1, column 5: -9223372036854775808 - 1 is beyond 64 bits: use float(…)",
		`max + 1 > 0`:                                            "record 100: chain[0].filter: line 1, column 5: 9223372036854775807 + 1 is beyond 64 bits: use float(…)",
		`min * -1 > 0`:                                           "record 100: chain[0].filter: line 1, column 5: -9223372036854775808 * -1 is beyond 64 bits: use float(…)",
		`0 * min + min - 0 == min`:                               "true",
		`status`:                                                 "record 100: chain[0].filter: want a boolean, got number",
		`id && ok`:                                               "record 100: chain[0].filter: want a boolean, got string",
		`tags[0]`:                                                "record 100: chain[0].filter: line 1, column 5: want a boolean, got string",
		`any(http, # == 1)`:                                      "record 100: chain[0].filter: line 1, column 5: any wants an array, got object",
		`len(gone) > 1`:                                          "record 100: chain[0].filter: line 1, column 1: invalid argument for len (type <nil>)",
		`len(1..9999999) > 1`:                                    "record 100: chain[0].filter: line 1, column 6: memory budget exceeded",
		`tags[id] == 1 || true`:                                  "true",
		`sum(map(1..400, sum(map(1..400, sum(1..400))))) > 1000`: "record 100: chain[0].filter: line 1, column 38: memory budget exceeded",
	} {
		if got := verdict(t, text, sample); got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestObjectsAreToldApart(t *testing.T) {
	w := compile(t, chain.Fail, selects("y: object.partition.year", "object.key"))()
	out := &chain.Output{Sinks: make([]chain.Rows, 1)}
	for _, key := range []string{"year=1/a", "year=2/year=3/b<&>c", "year=4", "year=%zz/d", "x/year=5"} {
		b := batch(`{}`)
		b.Object.Key = key
		if err := w.Process(b, out); err != nil {
			t.Fatal(err)
		}
	}
	const want = `{"y":"1","key":"year=1/a"}
{"y":"3","key":"year=2/year=3/b<&>c"}
{"y":null,"key":"year=4"}
{"y":"%zz","key":"year=%zz/d"}
{"y":null,"key":"x/year=5"}
`
	if got := string(out.Sinks[0].Data); got != want {
		t.Errorf("got %s", got)
	}
}

func TestFilterOfARecordThatIsNoObject(t *testing.T) {
	for text, want := range map[string]string{`status > 1`: "false", `status == nil`: "true", `this == 5`: "true"} {
		if got := verdict(t, text, `5`); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestFiltersInARowAllApply(t *testing.T) {
	c := compile(t, chain.Skip, filter(`a > 1`), filter(`b > 1`))
	out, err := run(c, `{"a":2,"b":2}`, `{"a":2,"b":1}`, `{"a":1,"b":2}`, `no`)
	if err != nil || string(out.Sinks[0].Data) != `{"a":2,"b":2}`+"\n" {
		t.Errorf("got %q, %v", out.Sinks[0].Data, err)
	}
	if c := out.Counts; c.In != 4 || c.Out != 1 || c.Filtered != 2 || c.Rejected != 1 || out.Undecoded != 1 {
		t.Errorf("got %+v", c)
	}
}
