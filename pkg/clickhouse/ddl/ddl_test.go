package ddl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/clickhouse/ddl"
)

// suggested is the statement for records of one member v with those values, an
// empty one being a record without it.
func suggested(t *testing.T, values ...string) string {
	t.Helper()
	var s ddl.Sample
	for _, v := range values {
		record := `{"v":` + v + `}`
		if v == "" {
			record = `{}`
		}
		if err := s.Add([]byte(record)); err != nil {
			t.Fatal(record, err)
		}
	}
	text, err := s.Table("t")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAColumnTakesAllThatWasSeen(t *testing.T) {
	many := func(s ...string) (all []string) {
		for range 8 {
			all = append(all, s...)
		}
		return all
	}
	for _, c := range []struct {
		values []string
		want   string
	}{
		{[]string{"true", "false"}, "Bool"},
		{[]string{"0", "255"}, "UInt32"},
		{[]string{"2147483647"}, "UInt32"},
		{[]string{"2147483648"}, "UInt64"}, // no room to grow
		{[]string{"-1", "1"}, "Int32"},
		{[]string{"-1073741824"}, "Int32"},
		{[]string{"-1073741825"}, "Int64"},
		{[]string{"9223372036854775808"}, "UInt128"},
		{[]string{"18446744073709551616"}, "UInt128"},
		{[]string{"-340282366920938463463374607431768211456"}, "Int256"},
		{[]string{"115792089237316195423570985008687907853269984665640564039457584007913129639935"}, "UInt256"},
		{[]string{"115792089237316195423570985008687907853269984665640564039457584007913129639936"}, "Float64"},
		{[]string{"1.5"}, "Float64"},
		{[]string{"1", "1.5", "2e3"}, "Float64"},
		{[]string{"9007199254740993", "1.5"}, "String"}, // no double is the first
		{[]string{`"a"`, `"b"`}, "String"},
		{[]string{`"12.50"`}, "String"},
		{many(`"a"`, `"b"`), "LowCardinality(String)"},
		{many(`"a"`, `null`), "LowCardinality(Nullable(String))"},
		{[]string{`"a"`, `"a"`, `"a"`}, "String"}, // too few to tell
		{[]string{`"6ba7b810-9dad-11d1-80b4-00c04fd430c8"`}, "UUID"},
		{many(`"6ba7b810-9dad-11d1-80b4-00c04fd430c8"`), "UUID"},
		{[]string{`"2026-11-30"`}, "Date"},
		{[]string{`"1912-06-23"`, `"2026-11-30"`}, "Date32"},
		{[]string{`"1812-06-23"`}, "String"},
		{[]string{`"2026-02-30"`}, "String"},
		{[]string{`"2026-11-30T12:00:00Z"`, `"2026-11-30T12:00:00+02:00"`}, "DateTime('UTC')"},
		{[]string{`"2026-11-30 12:00:00"`}, "DateTime('UTC')"},
		{[]string{`"2026-11-30T12:00:00.5Z"`, `"2026-11-30T12:00:00Z"`}, "DateTime64(3, 'UTC')"},
		{[]string{`"2026-11-30 12:00:00.1234"`}, "DateTime64(6, 'UTC')"},
		{[]string{`"2026-11-30T12:00:00.123456789Z"`}, "DateTime64(9, 'UTC')"},
		{[]string{`"2270-11-30T12:00:00.123456789Z"`}, "String"},
		{[]string{`"1960-11-30T12:00:00Z"`}, "DateTime64(0, 'UTC')"},
		{[]string{`"2026-11-30T12:00:00Z"`, `"2026-11-30 12:00:00"`}, "String"}, // whose zone?
		{[]string{`"2026-11-30T12:00:00"`, `"2026-11-30 12:00:00"`}, "DateTime('UTC')"},
		{[]string{`"2026-11-30T12:00:00.1234567890Z"`}, "String"},
		{[]string{"1", "null"}, "Nullable(UInt32)"},
		{[]string{"1", ""}, "Nullable(UInt32)"},
		{[]string{"null"}, "Nullable(String)"},
		{[]string{"1", `"a"`}, "String"},
		{[]string{"true", "{}", ""}, "Nullable(String)"},
		{[]string{"[1,2]", "[]"}, "Array(UInt32)"},
		{[]string{"[]", ""}, "Array(String)"},
		{[]string{"[1,null]"}, "Array(Nullable(UInt32))"},
		{[]string{"[[1],[]]"}, "Array(Array(UInt32))"},
		{[]string{"[1]", "null"}, "Nullable(String)"}, // no array is null
		{[]string{`{"a":1,"b":"x"}`, `{"a":2}`}, "Tuple(`a` UInt32, `b` Nullable(String))"},
		{[]string{`[{"a":1},{"a":null}]`}, "Array(Tuple(`a` Nullable(UInt32)))"},
		{[]string{`{}`}, "Map(String, String)"},
		{[]string{"{\"a`\\\\\\n\":1}"}, "Tuple(`a\\`\\\\\\n` UInt32)"},
		{[]string{`[[[[[[[1]]]]]]]`}, "Array(Array(Array(Array(Array(String)))))"},
	} {
		text := suggested(t, c.values...)
		if want := "    `v` " + c.want + "\n)"; !strings.Contains(text, want) {
			t.Errorf("%.90q: want %s in\n%s", c.values, c.want, text)
		}
	}
}

func TestManyMembersAreAMap(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, `,"k%d":%d.5`, i, i)
	}
	if text := suggested(t, "{"+b.String()[1:]+"}"); !strings.Contains(text, "`v` Map(String, Float64)") {
		t.Errorf("%s", text)
	}
}

func TestTheKeyIsWhatRepeatsAndTheTime(t *testing.T) {
	var s ddl.Sample
	for i := range 100 {
		record := fmt.Sprintf(`{"id":%d,"at":"2026-11-30T00:00:%02d.5Z","region":"r%d","level":"l%d","kind":"k%d","maybe":%s,"text":"one of a few sentences that people would rather read than look for"}`, i, i%60, i%5, i%2, i%9, []string{"null", `"x"`}[i%2])
		if err := s.Add([]byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := s.Table("a`b")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"CREATE TABLE `a\\`b`\n", "ORDER BY (`level`, `region`, `at`)\n", "SETTINGS non_replicated_deduplication_window = 10000;\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if text := suggested(t, "1"); !strings.Contains(text, "ORDER BY tuple()") {
		t.Errorf("a table without a key:\n%s", text)
	}
}

func TestWhatIsLeftOutIsSaid(t *testing.T) {
	var s ddl.Sample
	for _, r := range []string{`{"a":1,"":2,"b.c":3}`, `[1]`, `text`, `{"a":`, ``} {
		_ = s.Add([]byte(r))
	}
	text, err := s.Table("t")
	if err != nil || s.Records() != 1 {
		t.Fatal(s.Records(), err)
	}
	for _, want := range []string{"4 records are not JSON objects", "without a name", `columns: {"b.c": '["b.c"]'}`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for _, none := range []string{"[1]", "{}"} {
		var s ddl.Sample
		_ = s.Add([]byte(none))
		if text, err := s.Table("t"); err == nil {
			t.Errorf("%s: %s", none, text)
		}
	}
}

func TestNames(t *testing.T) {
	for key, want := range map[string]string{
		"2026/11/access-log.ndjson.gz": "access_log", "part-00000.json": "part_00000", "a b/ü.ndjson": "rows",
		"x/2026-11-30.gz": "t_2026_11_30", "events": "events", "": "rows",
	} {
		if got := ddl.Name(key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}

func FuzzAdd(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":null}],"c":"2026-11-30"}`))
	f.Add([]byte(`{"a":1e400,"a":"x","":{}}`))
	f.Fuzz(func(t *testing.T, record []byte) {
		var a, b ddl.Sample
		ok := a.Add(record) == nil
		if (b.Add(record) == nil) != ok || ok != (a.Records() == 1) {
			t.Fatal("it is an object, and is none")
		}
		x, err := a.Table("t")
		y, again := b.Table("t")
		if x != y || (err == nil) != (again == nil) {
			t.Fatalf("%s\n%s", x, y)
		}
	})
}
