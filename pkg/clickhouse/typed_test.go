package clickhouse_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/clickhouse"
)

type place struct {
	X float64 `ch:"x"`
	Y float64 `ch:"y"`
}

type common struct {
	ID   uint64
	Name string `json:"name,omitempty"`
}

// everything has a field of every kind, with and without a type of its own.
type everything struct {
	common
	Bool    bool             `ch:"bool"`
	I8      int8             `ch:"i8"`
	I16     int16            `ch:"i16"`
	I32     int32            `ch:"i32"`
	I64     int64            `ch:"i64"`
	Int     int              `ch:"int"`
	U8      uint8            `ch:"u8"`
	U16     uint16           `ch:"u16"`
	U32     uint32           `ch:"u32"`
	F32     float32          `ch:"f32"`
	F64     float64          `ch:"f64"`
	Bytes   []byte           `ch:"bytes"`
	Fixed   [4]byte          `ch:"fixed"`
	UUID    [16]byte         `ch:"uuid"`
	At      time.Time        `ch:"at"`
	Milli   time.Time        `ch:"milli,type=DateTime64(3, 'Europe/Berlin')"`
	Second  time.Time        `ch:"second,type=DateTime"`
	Day     time.Time        `ch:"day,type=Date"`
	Took    time.Duration    `ch:"took"`
	Took3   time.Duration    `ch:"took3,type=Time64(3)"`
	Addr    netip.Addr       `ch:"addr"`
	Addr4   netip.Addr       `ch:"addr4,type=IPv4"`
	Big     *big.Int         `ch:"big"`
	BigU    big.Int          `ch:"bigu,type=UInt128"`
	Amount  string           `ch:"amount,type=Decimal(20, 4)"`
	Kind    string           `ch:"kind,type=Enum8('a' = 1, 'b' = 2)"`
	Low     string           `ch:"low,type=LowCardinality(Nullable(String))"`
	Maybe   *string          `ch:"maybe"`
	None    *int32           `ch:"none"`
	Tags    []string         `ch:"tags"`
	Grid    [][]int16        `ch:"grid"`
	Pair    [2]uint8         `ch:"pair,type=Array(UInt8)"`
	Count   map[string]int64 `ch:"count"`
	Place   place            `ch:"place"`
	Point   place            `ch:"point,type=Point"`
	Ring    []place          `ch:"ring,type=Ring"`
	Swapped place            `ch:"swapped,type=Tuple(y Float64, x Float64)"`
	Nested  []place          `ch:"nested,type=Nested(x Float64, y Float64)"`
	Narrow  int64            `ch:"narrow,type=UInt8"`
	Unix    int64            `ch:"unix,type=DateTime"`
	Doc     json.RawMessage  `ch:"doc"`
	DocText string           `ch:"doctext,type=JSON"`
	Inline  place            `ch:",inline"`
	Left    chan int         `ch:"-"`
}

func full() *everything {
	maybe := "x"
	at := time.Date(2026, 11, 30, 12, 34, 56, 0, time.UTC)
	return &everything{
		common: common{ID: math.MaxUint64, Name: "ü"}, Bool: true, I8: -128, I16: -2, I32: -3, I64: math.MinInt64, Int: 5, U8: 255, U16: 6, U32: 7,
		F32: 1.5, F64: -2.5, Bytes: []byte("b"), Fixed: [4]byte{'a', 'b'}, UUID: [16]byte{1, 2, 15: 3},
		At: at.Add(1), Milli: at.Add(time.Millisecond), Second: at, Day: at.Truncate(24 * time.Hour), Took: time.Hour + 1, Took3: -time.Millisecond,
		Addr: netip.MustParseAddr("2001:db8::1"), Addr4: netip.MustParseAddr("1.2.3.4"), Big: big.NewInt(-5), BigU: *new(big.Int).Lsh(big.NewInt(1), 127),
		Amount: "-12.5", Kind: "b", Low: "l", Maybe: &maybe, Tags: []string{"a", strings.Repeat("b", 200)}, Grid: [][]int16{{1, -1}, {}}, Pair: [2]uint8{1, 2},
		Count: map[string]int64{"z": 1, "a": 2, "m": 3}, Place: place{1, 2}, Point: place{3, 4}, Ring: []place{{5, 6}}, Swapped: place{7, 8}, Nested: []place{{9, 10}},
		Narrow: 200, Unix: 1_700_000_000, Doc: json.RawMessage(`{"a":1}`), DocText: `{"b":2}`, Inline: place{11, 12},
	}
}

const fullJSON = `{"ID":18446744073709551615,"name":"ü","bool":true,"i8":-128,"i16":-2,"i32":-3,"i64":-9223372036854775808,"int":5,"u8":255,"u16":6,"u32":7,` +
	`"f32":1.5,"f64":-2.5,"bytes":"b","fixed":"ab","uuid":"01020000-0000-0000-0000-000000000003",` +
	`"at":"2026-11-30T12:34:56.000000001Z","milli":"2026-11-30T12:34:56.001Z","second":"2026-11-30T12:34:56Z","day":"2026-11-30","took":"01:00:00.000000001","took3":"-00:00:00.001",` +
	`"addr":"2001:db8::1","addr4":"1.2.3.4","big":-5,"bigu":170141183460469231731687303715884105728,"amount":-12.5,"kind":"b","low":"l","maybe":"x","none":null,` +
	`"tags":["a","BB"],"grid":[[1,-1],[]],"pair":[1,2],"count":{"a":2,"m":3,"z":1},"place":{"x":1,"y":2},"point":[3,4],"ring":[[5,6]],"swapped":{"y":8,"x":7},"nested":[{"x":9,"y":10}],` +
	`"narrow":200,"unix":"2023-11-14T22:13:20Z","doc":{"a":1},"doctext":{"b":2},"x":11,"y":12}`

func TestAStructIsTheRowOfItsJSON(t *testing.T) {
	e, err := clickhouse.NewEncoder[everything]()
	if err != nil {
		t.Fatal(err)
	}
	for range 20 { // maps have no order of their own
		row, err := e.Append(nil, full())
		if err != nil {
			t.Fatal(err)
		}
		doc, err := e.Columns().AppendJSON(nil, row)
		want := strings.Replace(fullJSON, "BB", strings.Repeat("b", 200), 1)
		if err != nil || string(doc) != want {
			t.Fatalf("row is\n%s, %v, want\n%s", doc, err, want)
		}
	}
	types := map[string]string{}
	for _, c := range e.Columns() {
		types[c.Name] = c.Type.String()
	}
	for name, want := range map[string]string{
		"ID": "UInt64", "int": "Int64", "bytes": "String", "fixed": "FixedString(4)", "uuid": "UUID", "at": "DateTime64(9)", "took": "Time64(9)",
		"addr": "IPv6", "big": "Int256", "maybe": "Nullable(String)", "grid": "Array(Array(Int16))", "count": "Map(String, Int64)",
		"place": "Tuple(x Float64, y Float64)", "doc": "JSON", "u8": "UInt8", "f32": "Float32", "bool": "Bool",
	} {
		if types[name] != want {
			t.Errorf("%s is %s, want %s", name, types[name], want)
		}
	}
}

// Keys that differ in Go may not in the column, and equal maps are equal rows.
func TestKeysOfTheSameBytesHaveAnOrderToo(t *testing.T) {
	e, err := clickhouse.NewEncoder[struct {
		M map[string]int64 `ch:"m,type=Map(Float64, Int64)"`
	}]()
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for range 100 {
		row, err := e.Append(nil, &struct {
			M map[string]int64 `ch:"m,type=Map(Float64, Int64)"`
		}{map[string]int64{"1": 1, "1.0": 2, "1e0": 3, "10e-1": 4}})
		if err != nil {
			t.Fatal(err)
		}
		rows[string(row)] = true
	}
	if len(rows) != 1 {
		t.Errorf("one map makes %d rows", len(rows))
	}
}

func TestAFieldThatDoesNotFitIsRefused(t *testing.T) {
	e, err := clickhouse.NewEncoder[everything]()
	if err != nil {
		t.Fatal(err)
	}
	for column, change := range map[string]func(*everything){
		"narrow":  func(v *everything) { v.Narrow = 256 },
		"unix":    func(v *everything) { v.Unix = -1 },
		"milli":   func(v *everything) { v.Milli = v.Milli.Add(1) },
		"second":  func(v *everything) { v.Second = time.Time{} },
		"day":     func(v *everything) { v.Day = v.Day.Add(time.Second) },
		"took3":   func(v *everything) { v.Took3++ },
		"addr":    func(v *everything) { v.Addr = netip.Addr{} },
		"addr4":   func(v *everything) { v.Addr4 = v.Addr },
		"big":     func(v *everything) { v.Big = nil },
		"bigu":    func(v *everything) { v.BigU = *big.NewInt(-1) },
		"amount":  func(v *everything) { v.Amount = "1.23456" },
		"kind":    func(v *everything) { v.Kind = "c" },
		"doctext": func(v *everything) { v.DocText = "" },
	} {
		v := full()
		change(v)
		row, err := e.Append([]byte("x"), v)
		if f, ok := errors.AsType[*clickhouse.ValueError](err); !ok || f.Column != column || string(row) != "x" {
			t.Errorf("%s: row %q, %v", column, row, err)
		}
	}
}

func TestAStructThatMakesNoRowIsRefused(t *testing.T) {
	check := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
	_, err := clickhouse.NewEncoder[int]()
	check(err, "not a struct")
	_, err = clickhouse.NewEncoder[struct{}]()
	check(err, "no fields")
	_, err = clickhouse.NewEncoder[struct{ C chan int }]()
	check(err, "no type holds a chan int")
	_, err = clickhouse.NewEncoder[struct {
		A int `ch:"a"`
		B int `ch:"a"`
	}]()
	check(err, "two fields are called a")
	_, err = clickhouse.NewEncoder[struct {
		A int `ch:"a,String"`
	}]()
	check(err, "want ch:")
	_, err = clickhouse.NewEncoder[struct {
		A int `ch:"a,type=Foo"`
	}]()
	check(err, "Foo is not known")
	_, err = clickhouse.NewEncoder[struct {
		A float64 `ch:"a,type=Decimal(9, 2)"`
	}]()
	check(err, "cannot hold a float64")
	_, err = clickhouse.NewEncoder[struct {
		A *int `ch:"a,type=Int64"`
	}]()
	check(err, "cannot hold a *int")
	_, err = clickhouse.NewEncoder[struct {
		A place `ch:"a,type=Tuple(x Float64, z Float64)"`
	}]()
	check(err, "no field z")
	_, err = clickhouse.NewEncoder[struct {
		A bool `ch:"a,type=Float64"`
	}]()
	check(err, "cannot hold a bool")
	type loop struct{ Next *loop }
	_, err = clickhouse.NewEncoder[loop]()
	check(err, "too deep")
}
