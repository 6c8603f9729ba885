package clickhousesink_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/clickhouse"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/clickhousesink"
)

// What the functions of server 26.9 make of values: bytes of the value, then
// xxHash64, cityHash64, sipHash64 and, of integers, intHash64.
func TestHashesAreTheServers(t *testing.T) {
	for _, c := range []struct {
		kind, value         string // in hex; of a String without its length
		xx, city, sip, ints uint64
	}{
		{"Int8", "ff", 10764519495013463364, 8055013221972926055, 2368135510806073586, 14600443904207254319},
		{"Int16", "d4fe", 15980187881560019422, 764491623834447718, 13163731337187889622, 10815491383623776647},
		{"Int32", "f9ffffff", 7562510126331999253, 4188926555673498850, 240844489181312638, 7305644607706455255},
		{"Int32", "ffffff7f", 2971168436322821236, 11648569063521156533, 3253162839032603426, 11648569063521156533},
		{"Int64", "f9ffffffffffffff", 12164597492893923930, 7305644607706455255, 12639353187684206192, 7305644607706455255},
		{"UInt8", "c8", 164852255672563262, 14204231057850003148, 1753173532764929511, 14204231057850003148},
		{"UInt16", "ffff", 6082608244382383757, 6547939410751295652, 8113996510853865403, 6547939410751295652},
		{"UInt32", "00286bee", 8910727867732998967, 17569984465525623843, 5896057426609206206, 17569984465525623843},
		{"UInt64", "ffffffffffffffff", 9642548396912002761, 14600443904207254319, 9246102839527854430, 14600443904207254319},
		{"Date", "3351", 10571932865460131291, 10886757549619577626, 4697388576097112564, 10886757549619577626},
		{"DateTime", "40650d6b", 3348661728376259813, 6695178854210098434, 10559632535263855029, 6695178854210098434},
		{"Bool", "01", 9962287286179718960, 10577349846663553072, 7385293435322750976, 10577349846663553072},
		{"String", "", 17241709254077376921, 11160318154034397263, 2202906307356721367, 0},
		{"String", "61", 15154266338359012955, 2603192927274642682, 10863254463029944905, 0},
		{"String", "637573746f6d65722d3432", 14586762172023802895, 10175791313396922224, 8730375961331824933, 0},
		{"String", "c3bc6ec3af", 999882015271521225, 16588656162854907279, 4665009171627972833, 0},
		{"String", strings.Repeat("78", 16), 392565628354714129, 2843108347308131580, 9103958514848020635, 0},
		{"String", strings.Repeat("616263", 50), 2910977416178741689, 12753926329179212561, 1929318544830356070, 0},
		{"FixedString(4)", "61620000", 15679274124971222257, 17250913062071214179, 16585030869718839765, 0},
		{"LowCardinality(String)", "6575", 3498964892626078167, 14111289662691354718, 15494980544599322323, 0},
	} {
		for f, want := range map[string]uint64{"xxHash64": c.xx, "cityHash64": c.city, "sipHash64": c.sip, "intHash64": c.ints} {
			if f == "intHash64" && strings.Contains(c.kind, "String") {
				continue
			}
			kind, err := clickhouse.ParseType(c.kind)
			if err != nil {
				t.Fatal(err)
			}
			value := unhex(c.value)
			if c.kind == "String" || c.kind == "LowCardinality(String)" {
				value = append(uvarint(len(value)), value...)
			}
			got, err := clickhousesink.HashOf(f, kind, value)
			if err != nil || got != want {
				t.Errorf("%s(%s %s) is %d, want %d: %v", f, c.kind, c.value, got, want, err)
			}
		}
	}
	// Without a function the server makes one of 32 bits of what has fewer than 64.
	for kind, c := range map[string]struct {
		value string
		want  uint64
	}{
		"Int8": {"ff", 1<<32 - 1}, "Int16": {"0080", 1<<32 - 32768}, "Int32": {"f9ffffff", 1<<32 - 7}, "UInt16": {"ffff", 65535},
		"Int64": {"fffffffffffffffe", 0xfeffffffffffffff}, "UInt64": {"ffffffffffffffff", 1<<64 - 1},
	} {
		parsed, err := clickhouse.ParseType(kind)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := clickhousesink.HashOf("", parsed, unhex(c.value)); err != nil || got != c.want {
			t.Errorf("%s %s is %d, want %d: %v", kind, c.value, got, c.want, err)
		}
	}
}

func uvarint(n int) []byte {
	var b []byte
	for ; n >= 128; n >>= 7 {
		b = append(b, byte(n)|128)
	}
	return append(b, byte(n))
}

func TestKeysThatHaveNoShardAreRefused(t *testing.T) {
	for key, says := range map[string]string{
		"nmae": "no column nmae", "name": "no integer", "intHash64(name)": "takes integers", "cityHash64(maybe)": "may be NULL",
		"cityHash64(id": "want a column", "id)": "want a column", "cityHash64(id, name)": "want a column", "murmurHash3_64(id)": "want",
		"javaHash(id)": "function javaHash", "cityHash64(price)": "type Float64",
	} {
		o := clickhousesink.Options{Table: "db.events", Sharding: clickhousesink.Sharding{Key: key}}
		for _, s := range cluster(t, &o, 1, 1) {
			s.events().columns = append(wide(), column{"maybe", "Nullable(Int32)", ""}, column{"price", "Float64", ""})
		}
		_, err := clickhousesink.New(t.Context(), o)
		expect(t, err, failure.Job, failure.Config, says, key)
	}
	o := clickhousesink.Options{Table: "db.events", Format: clickhousesink.JSONEachRow, Sharding: clickhousesink.Sharding{Key: "id"}}
	cluster(t, &o, 1, 1)
	_, err := clickhousesink.New(t.Context(), o)
	expect(t, err, failure.Job, failure.Config, "not looked into")
	o.Format, o.Sharding.Key = clickhousesink.RowBinary, " intHash64( `id` ) "
	open(t, o)
}

func TestARowWithoutAKeyIsRefused(t *testing.T) {
	o := clickhousesink.Options{Table: "db.events", Sharding: clickhousesink.Sharding{Key: "cityHash64(name)"}}
	cluster(t, &o, 1, 1)
	b := &sink.Block{Unit: unitID, Token: "t", Rows: 1, Data: []byte("\x01\x00\x00\x00\x05ab"), Ends: []int{7}}
	expect(t, open(t, o).Write(t.Context(), b), failure.Unit, failure.SinkRejected, "row 0")
}

// A column file of server 18.16, which checks what it reads: two strings.
const fromServer = "7a0a224938f86dfb29c770baa018fd16821a000000340000007f2f737061746520060015506503656e64"

func TestLZ4IsTheServersOwn(t *testing.T) {
	got, err := blocks(unhex(fromServer))
	if want := "\x2f" + strings.TrimSuffix(strings.Repeat("spate ", 8), " ") + "\x03end"; err != nil || string(got) != want {
		t.Fatalf("the test reads %q, want %q: %v", got, want, err)
	}
	for _, size := range []int{0, 1, 11, 1000, 1<<18 - 1, 1 << 18, 1<<18 + 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 2<<20 + 7} {
		for name, fill := range map[string]func(int) byte{
			"runs":  func(i int) byte { return byte(i >> 8) },
			"noise": func(i int) byte { return byte(uint64(i) * 0x9e3779b97f4a7c15 >> 56 * uint64(i|1) >> 3) },
		} {
			data := bytes.Repeat([]byte{0}, size)
			for i := range data {
				data[i] = fill(i)
			}
			t.Run(fmt.Sprint(name, " ", size), func(t *testing.T) {
				for _, chunk := range []int{1 << 20, 100_003} {
					packed := clickhousesink.LZ4Blocks(data, chunk)
					got, err := blocks(packed)
					if err != nil || !bytes.Equal(got, data) {
						t.Errorf("%d bytes of %d: %v", len(got), size, err)
					}
					if size > 0 && len(packed) > size+25*(1+size>>18) {
						t.Errorf("%d bytes for %d", len(packed), size)
					}
				}
			})
		}
	}
}
