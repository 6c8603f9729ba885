package clickhouse_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/clickhouse"
)

func TestAValueThatDoesNotFitIsRefused(t *testing.T) {
	berlin := "DateTime('Europe/Berlin')"
	for _, c := range []struct{ of, json, want string }{
		{"UInt8", "256", "out of range"}, {"UInt8", "-1", "negative"}, {"Int8", "128", "out of range"}, {"Int8", "-129", "out of range"},
		{"Int16", "32768", "out of range"}, {"UInt32", "4294967296", "out of range"}, {"Int64", "9223372036854775808", "out of range"},
		{"Int64", "-9223372036854775809", "out of range"}, {"UInt64", "18446744073709551616", "out of range"},
		{"UInt64", "1e20", "out of range"}, {"UInt64", "1e999999999999", "out of range"}, {"UInt8", "0.5", "not a whole number"},
		{"UInt8", "1e-3", "not a whole number"}, {"UInt8", `""`, "not a number"}, {"UInt8", `"1x"`, "not a number"}, {"UInt8", `" 1"`, "not a number"},
		{"UInt8", `"+1"`, "not a number"}, {"UInt8", `"1e"`, "not a number"}, {"UInt8", `"1."`, "not a number"}, {"UInt8", `"-"`, "not a number"},
		{"UInt8", "null", "not Nullable"}, {"UInt8", "[1]", "an array"}, {"UInt8", "{}", "an object"},
		{"Int128", "170141183460469231731687303715884105728", "out of range"}, {"UInt128", "-1", "negative"},
		{"Int256", "-57896044618658097711785492504343953926634992332820282019728792003956564819969", "out of range"},
		{"UInt256", "115792089237316195423570985008687907853269984665640564039457584007913129639936", "out of range"},
		{"UInt256", "1e78", "out of range"},
		{"Float32", "3.5e38", "out of range"}, {"Float64", "1e309", "out of range"}, {"Float64", "1e-400", "out of range"},
		{"Float32", "1e-60", "out of range"}, {"Float64", `"x"`, "not a number"}, {"Float64", `"0x1p3"`, "not a number"}, {"Float64", `"1_0"`, "not a number"},
		{"Float64", "true", "true or false"},
		{"Bool", "2", "true or false"}, {"Bool", `"true"`, "text"}, {"Bool", "-0", "true or false"},
		{"FixedString(2)", `"abc"`, "3 bytes"}, {"FixedString(2)", "123", "3 bytes"}, {"String", "null", "not Nullable"}, {"String", `"\x"`, "not JSON"}, {"Map(String, UInt8)", `{"\x":1}`, "not JSON"}, {"Tuple(a UInt8)", `{"\x":1}`, "no element"},
		{"Array(UInt8)", "[1,]", "not JSON"}, {"Array(UInt8)", "[1 2]", "not JSON"},
		{"Decimal(3, 1)", "100", "out of range"}, {"Decimal(3, 1)", "1.25", "more decimals"}, {"Decimal(76, 0)", "1e76", "out of range"},
		{"Decimal(9, 2)", `"1,5"`, "not a number"}, {"Decimal(9, 9)", "1e-10", "more decimals"}, {"Decimal(9, 9)", "1e-99", "more decimals"},
		{"Decimal(9, 2)", "true", "true or false"},
		{"Date", `"1969-12-31"`, "out of range"}, {"Date", `"2149-06-07"`, "out of range"}, {"Date", `"2026-02-29"`, "not a date"},
		{"Date", `"2026-11-30 00:00:01"`, "time of day"}, {"Date", "20260101", "number"},
		{"Date", `"2026-11-30T12:00:00Z"`, "time of day"}, {"Date", `"2026-11-30T00:00:00Z"`, "an instant"}, {"Date32", `"2026-11-30 00:00:00+02:00"`, "an instant"},
		{"Date", `"2026-1-1"`, "not a date"}, {"Date", `"2026-00-01"`, "not a date"}, {"Date32", `"1899-12-31"`, "out of range"}, {"Date32", `"2300-01-01"`, "out of range"},
		{"DateTime", `"1969-12-31 23:59:59"`, "out of range"}, {"DateTime", `"2106-02-07 06:28:16"`, "out of range"}, {"DateTime", "-1", "out of range"},
		{"DateTime", "4294967296", "milliseconds"}, {"DateTime", `"2026-11-30 12:34:56.1"`, "more decimals"}, {"DateTime", "1.5", "more decimals"},
		{"DateTime", `"2026-11-30 24:00:00"`, "not a time"}, {"DateTime", `"2026-11-30 12:60:00"`, "not a time"}, {"DateTime", `"2026-11-30 12:00:60"`, "not a time"},
		{"DateTime", `"1700000000"`, "not a time"}, {"DateTime", `"2026-11-30 12:34:56+0100"`, "not a time"}, {"DateTime", `"2026-11-30 12:34:56 "`, "not a time"},
		{"DateTime", `"2026-11-30T12:34:56+24:00"`, "not a time"}, {"DateTime", `"2026-11-30 12:34:56."`, "not a time"}, {"DateTime", "true", "true or false"},
		{berlin, `"2026-03-29 02:30:00"`, "Europe/Berlin skip"}, {berlin, `"2026-10-25 02:30:00"`, "Europe/Berlin show that time twice"},
		{"DateTime64(3)", `"2026-11-30 12:34:56.0001"`, "more decimals"}, {"DateTime64(3)", "1700000000000", "milliseconds"},
		{"DateTime64(3)", `"1899-12-31 23:59:59"`, "out of range"}, {"DateTime64(3)", `"2300-01-01 00:00:00"`, "out of range"},
		{"DateTime64(9)", `"2262-04-11 23:47:16.854775808"`, "out of range"}, {"DateTime64(9)", "1e60", "milliseconds"},
		{"DateTime64(3, 'Asia/Tokyo')", `"2299-12-31T15:00:00Z"`, "out of range"},
		{"Time", `"1000:00:00"`, "not a time"}, {"Time", "3600000", "out of range"}, {"Time", `"1:2:3"`, "not a time"}, {"Time", `"00:00:00.5"`, "not a time|more decimals"},
		{"Time64(3)", `"00:00:00.0001"`, "more decimals"}, {"Time64(3)", "0.0001", "more decimals"},
		{"Enum8('a' = 1)", `"b"`, "not one of the names"}, {"Enum8('a' = 1)", "2", "not one of the numbers"}, {"Enum8('a' = 1)", "257", "out of range"},
		{"UUID", `"0123"`, "not a UUID"}, {"UUID", `"0123456789-ab-cdef-0123-456789abcdef"`, "not a UUID"}, {"UUID", `"g1234567-89ab-cdef-0123-456789abcdef"`, "not a UUID"},
		{"IPv4", `"1.2.3"`, "not an IPv4"}, {"IPv4", `"1.2.3.256"`, "not an IPv4"}, {"IPv4", `"::1"`, "not an IPv4"}, {"IPv4", "1", "number"}, {"IPv4", `"01.2.3.4"`, "not an IPv4"},
		{"IPv6", `"fe80::1%eth0"`, "not an IPv6"}, {"IPv6", `"1::2::3"`, "not an IPv6"},
		{"Nullable(UInt8)", "256", "out of range"}, {"LowCardinality(String)", "null", "not Nullable"},
		{"Array(UInt8)", "[1,256]", "element 1: it is out of range"}, {"Array(UInt8)", "[null]", "element 0"}, {"Array(UInt8)", "1", "number"},
		{"Tuple(UInt8, UInt8)", "[1]", "each element"}, {"Tuple(UInt8, UInt8)", "[1,2,3]", "each element"}, {"Tuple(UInt8, UInt8)", `{"a":1}`, "an object"},
		{"Tuple(a UInt8)", `{"b":1}`, `no element "b"`}, {"Tuple(a UInt8)", `{"a":-1}`, "element a"},
		{"Map(UInt8, UInt8)", `{"x":1}`, `key "x"`}, {"Map(UInt8, UInt8)", `{"1":256}`, `value of "1"`}, {"Map(String, UInt8)", `[]`, "an array"},
		{"JSON", "1", "number"}, {"JSON", `"{}"`, "text"}, {"JSON", "null", "not Nullable"},
		{"Point", "[1]", "each element"},
	} {
		e := encoder(t, column(t, c.of), clickhouse.RowOptions{})
		row, err := e.Append([]byte("x"), [][]byte{[]byte(c.json)})
		v, ok := errors.AsType[*clickhouse.ValueError](err)
		if !ok || string(row) != "x" {
			t.Errorf("%s of %s: row %q, %v: want a ValueError", c.of, c.json, row, err)
			continue
		}
		said := false
		for _, want := range strings.Split(c.want, "|") {
			said = said || strings.Contains(v.Err.Error(), want)
		}
		if !said {
			t.Errorf("%s of %s: %q does not say %q", c.of, c.json, err, c.want)
		}
	}
}

func TestAnErrorNamesColumnValueAndType(t *testing.T) {
	e := encoder(t, column(t, "UInt8"), clickhouse.RowOptions{})
	for _, c := range []struct{ json, want string }{
		{"256", `column "c" cannot take 256 as UInt8: it is out of range`},
		{`"a\nb"`, `column "c" cannot take "a\nb" as UInt8: it is not a number`},
		{"[1,\n2]", `column "c" cannot take [1, 2] as UInt8: it is an array`},
	} {
		if _, err := e.Append(nil, [][]byte{[]byte(c.json)}); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	_, err := e.Append(nil, [][]byte{[]byte(`"` + strings.Repeat("é", 500) + `"`)})
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("an error of %d bytes for a long value", len(err.Error()))
	}
	if _, err := e.Append(nil, nil); err == nil {
		t.Error("a row without values")
	}
}

func TestATypeThatIsNoneIsRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "name of a type"}, {"Foo", "not known"}, {"Int7", "not known"}, {"Int512", "not known"}, {"Int", "not known"}, {"Int08", "not known"},
		{"String(1)", "takes no arguments"}, {"UInt8)", "want the end"}, {"Array(UInt8", "comma or )"}, {"Array(UInt8, String)", "one type"}, {"Array()", "one type"},
		{"Array(1)", "want types"}, {"FixedString(0)", "number of bytes"}, {"FixedString(x)", "number"}, {"FixedString", "1 numbers"},
		{"DateTime64(10)", "precision"}, {"DateTime('Mars/Base')", "Mars/Base"}, {"DateTime(UTC)", "quotes"}, {"DateTime('')", "zone"}, {"DateTime('Local')", "zone"},
		{"Decimal(77, 1)", "precision"}, {"Decimal(5, 6)", "scale"}, {"Decimal512(1)", "not known"}, {"Decimal(1, 2, 3)", "numbers"},
		{"Enum8()", "no values"}, {"Enum8('a' = 128)", "-128 to 127"}, {"Enum8('a' = 1, 'a' = 2)", "twice"}, {"Enum8('a' = 1, 'b' = 1)", "twice"}, {"Enum8(a)", "quotes"},
		{"Enum16('a' = 32768)", "out of range"}, {"Enum8('a)", "closing"},
		{"Nullable(Array(UInt8))", "cannot hold"}, {"Nullable(Nullable(UInt8))", "cannot hold"}, {"LowCardinality(LowCardinality(String))", "cannot hold"},
		{"Nullable(LowCardinality(String))", "cannot hold"}, {"LowCardinality(Array(UInt8))", "cannot hold"}, {"Nullable(Map(UInt8, UInt8))", "cannot hold"},
		{"Tuple()", "no elements"}, {"Tuple(a UInt8, UInt8)", "for none"}, {"Nested(UInt8)", "name for each"}, {"Map(UInt8)", "keys and one of values"},
		{"AggregateFunction(sum, UInt64)", "ENGINE = Null"}, {"Dynamic", "not supported"}, {"Variant(UInt8, String)", "not supported"},
		{"Dynamic(max_types=3)", "not supported"}, {"QBit(Float32, 8)", "not supported"}, {"Array(AggregateFunction(uniq, String))", "ENGINE = Null"},
		{"Geometry", "not supported"}, {"Object('json')", "not supported"}, {"SimpleAggregateFunction(sum)", "function and a type"},
		{strings.Repeat("Array(", 100) + "UInt8" + strings.Repeat(")", 100), "too deep"},
	} {
		if _, err := clickhouse.ParseType(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v: want %q", c.text, err, c.want)
		}
	}
}

func TestATypeIsReadAsItIsWritten(t *testing.T) {
	for text, want := range map[string]string{
		"Decimal32(2)": "Decimal(9, 2)", "Enum8('b' = 2, 'a' = 1)": "Enum8('a' = 1, 'b' = 2)", "Decimal(5)": "Decimal(5, 0)", "DateTime64": "DateTime64(3)", "Enum('b', 'a' = 5)": "Enum8('b' = 1, 'a' = 5)",
		"Enum('x' = 1000)": "Enum16('x' = 1000)", " Map( String ,Array(UInt8) ) ": "Map(String, Array(UInt8))",
		"Tuple(`odd x` UInt8, \"y\" String)": "Tuple(`odd x` UInt8, y String)", `Enum8('a\'b''c' = 1)`: `Enum8('a\'b\'c' = 1)`,
		"JSON(max_dynamic_paths=3, a.b UInt32, SKIP REGEXP 'x)')":    "JSON(max_dynamic_paths=3, a.b UInt32, SKIP REGEXP 'x)')",
		"SimpleAggregateFunction(groupArrayArray(10), Array(UInt8))": "SimpleAggregateFunction(groupArrayArray(10), Array(UInt8))",
	} {
		of, err := clickhouse.ParseType(text)
		if err != nil || of.String() != want {
			t.Errorf("%s: %v, %v: want %s", text, of, err, want)
			continue
		}
		if again, err := clickhouse.ParseType(of.String()); err != nil || again.String() != want {
			t.Errorf("%s is read as %v, %v", of, again, err)
		}
	}
	of := column(t, "LowCardinality(Nullable(String))")[0].Type
	if !of.Nullable() || of.Scalar().Name() != "String" || of.Width() != 0 {
		t.Errorf("%v: nullable %v, scalar %v", of, of.Nullable(), of.Scalar())
	}
	if of = column(t, "Tuple(UInt8, Int64)")[0].Type; of.Nullable() || of.Width() != 9 {
		t.Errorf("%v: nullable %v, width %d", of, of.Nullable(), of.Width())
	}
}

// The clocks of a zone are those of Go, at every hour that types reach.
func TestLocalTimesAreThoseOfTheZone(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu", "Pacific/Apia"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		e := encoder(t, column(t, "DateTime64(0)"), clickhouse.RowOptions{Zone: zone})
		from := time.Date(1900, 1, 2, 0, 0, 0, 0, time.UTC)
		for at := from; at.Year() < 2299; at = at.Add(67*time.Hour + 31*time.Minute) {
			checkLocal(t, e, at.In(zone))
		}
		for at := time.Date(2025, 1, 1, 0, 15, 0, 0, time.UTC); at.Year() < 2028; at = at.Add(30 * time.Minute) {
			checkLocal(t, e, at.In(zone))
		}
		if t.Failed() {
			return
		}
	}
}

// checkLocal reads what clocks show at an instant. It may be refused only where
// they show it twice.
func checkLocal(t *testing.T, e *clickhouse.RowEncoder, at time.Time) {
	t.Helper()
	row, err := e.Append(nil, [][]byte{at.AppendFormat(nil, `"2006-01-02 15:04:05"`)})
	twice := false
	for _, d := range []time.Duration{-time.Hour, time.Hour, -30 * time.Minute, 30 * time.Minute, -2 * time.Hour, 2 * time.Hour} {
		o := at.Add(d)
		_, a := at.Zone()
		_, b := o.Zone()
		twice = twice || time.Duration(a-b)*time.Second == d
	}
	switch {
	case twice && err == nil:
		t.Errorf("%v is taken for one of two", at)
	case twice:
	case err != nil:
		t.Errorf("%v: %v", at, err)
	default:
		if got := int64(le(row)); got != at.Unix() {
			t.Errorf("%v is %d, want %d", at, got, at.Unix())
		}
	}
}

func le(b []byte) (v uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}
