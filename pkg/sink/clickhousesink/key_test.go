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

// made is rows of columns a, b, c … of such types.
func made(t *testing.T, kinds ...string) (rows clickhouse.Rows) {
	t.Helper()
	for i, text := range kinds {
		kind, err := clickhouse.ParseType(text)
		if err != nil {
			t.Fatal(err)
		}
		rows.Columns = append(rows.Columns, clickhouse.Column{Name: string(rune('a' + i)), Type: kind})
	}
	return rows
}

func checkKey(t *testing.T, text string, rows clickhouse.Rows, row []byte, want uint64) {
	t.Helper()
	of, err := clickhousesink.KeyOf(text, rows)
	if err != nil {
		t.Fatal(text, err)
	}
	if got, err := of(row); err != nil || got != want {
		t.Errorf("%s of %s %x is %d, want %d: %v", text, rows.Columns[0].Type, row, got, want, err)
	}
}

// What the functions of server 26.9 make of values: bytes of the value, then
// xxHash64, cityHash64, sipHash64 and, of what they take, intHash64 and intHash32.
func TestHashesAreTheServers(t *testing.T) {
	for _, c := range []struct {
		kind, value                 string // in hex; of a String without its length
		xx, city, sip, ints, ints32 uint64
	}{
		{"Int8", "ff", 10764519495013463364, 8055013221972926055, 2368135510806073586, 14600443904207254319, 3545659993},
		{"Int16", "d4fe", 15980187881560019422, 764491623834447718, 13163731337187889622, 10815491383623776647, 731103666},
		{"Int32", "f9ffffff", 7562510126331999253, 4188926555673498850, 240844489181312638, 7305644607706455255, 3383040767},
		{"Int32", "ffffff7f", 2971168436322821236, 11648569063521156533, 3253162839032603426, 11648569063521156533, 1334432569},
		{"Int64", "f9ffffffffffffff", 12164597492893923930, 7305644607706455255, 12639353187684206192, 7305644607706455255, 3383040767},
		{"UInt8", "c8", 164852255672563262, 14204231057850003148, 1753173532764929511, 14204231057850003148, 1366871696},
		{"UInt16", "ffff", 6082608244382383757, 6547939410751295652, 8113996510853865403, 6547939410751295652, 2814166736},
		{"UInt32", "00286bee", 8910727867732998967, 17569984465525623843, 5896057426609206206, 17569984465525623843, 3857258677},
		{"UInt64", "ffffffffffffffff", 9642548396912002761, 14600443904207254319, 9246102839527854430, 14600443904207254319, 3545659993},
		{"Date", "3351", 10571932865460131291, 10886757549619577626, 4697388576097112564, 10886757549619577626, 366004549},
		{"DateTime", "40650d6b", 3348661728376259813, 6695178854210098434, 10559632535263855029, 6695178854210098434, 2921838230},
		{"Bool", "01", 9962287286179718960, 10577349846663553072, 7385293435322750976, 10577349846663553072, 1343103100},
		{"String", "", 17241709254077376921, 11160318154034397263, 2202906307356721367, 0, 0},
		{"String", "61", 15154266338359012955, 2603192927274642682, 10863254463029944905, 0, 0},
		{"String", "637573746f6d65722d3432", 14586762172023802895, 10175791313396922224, 8730375961331824933, 0, 0},
		{"String", "c3bc6ec3af", 999882015271521225, 16588656162854907279, 4665009171627972833, 0, 0},
		{"String", strings.Repeat("78", 16), 392565628354714129, 2843108347308131580, 9103958514848020635, 0, 0},
		{"String", strings.Repeat("616263", 50), 2910977416178741689, 12753926329179212561, 1929318544830356070, 0, 0},
		{"FixedString(4)", "61620000", 15679274124971222257, 17250913062071214179, 16585030869718839765, 0, 0},
		{"LowCardinality(String)", "6575", 3498964892626078167, 14111289662691354718, 15494980544599322323, 0, 0},
		{"Int64", "0123456789abcdef", 12432224009646147820, 1074666886146130145, 9838564485806203172, 1074666886146130145, 463695395},
		{"Int8", "80", 9516710917713200287, 10573636647639147473, 9901115611908708133, 991586871591636258, 3331033089},
		{"IPv4", "0101a8c0", 6629205637717679835, 1506503690413454131, 16179887097274918383, 1506503690413454131, 1606627601},
		{"IPv6", "20010db8000000000000000000000001", 10948565182480546536, 14607601174881418106, 6053793142534953806, 0, 0},
		{"UUID", "00112233445566778899aabbccddeeff", 1424935593683455890, 7641618503994178155, 1463458896946888740, 0, 0},
		{"Enum8('a' = -3)", "fd", 16106155075887555457, 5576985929327939410, 3551710112262591690, 0, 0},
		{"Enum16('a' = -300)", "d4fe", 15980187881560019422, 764491623834447718, 13163731337187889622, 0, 0},
	} {
		value := unhex(c.value)
		if strings.Contains(c.kind, "String") && !strings.Contains(c.kind, "Fixed") {
			value = append(uvarint(len(value)), value...)
		}
		rows := made(t, c.kind)
		checkKey(t, "xxHash64(a)", rows, value, c.xx)
		checkKey(t, "cityHash64(a)", rows, value, c.city)
		checkKey(t, "sipHash64(a)", rows, value, c.sip)
		if c.ints != 0 {
			checkKey(t, "intHash64(a)", rows, value, c.ints)
			checkKey(t, "intHash32(a)", rows, value, c.ints32)
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
		checkKey(t, "a", made(t, kind), unhex(c.value), c.want)
	}
}

// As above, of one row, by the columns: xxHash64, cityHash64, sipHash64.
func TestHashesOfSeveralColumnsAreTheServers(t *testing.T) {
	rows := made(t, "Int32", "String", "UInt64", "UUID", "LowCardinality(String)", "Date", "FixedString(20)")
	row := unhex("f9ffffff" + "0b637573746f6d65722d3432" + "ffffffffffffffff" + "00112233445566778899aabbccddeeff" + "00" + "3351" + strings.Repeat("61", 20))
	for columns, want := range map[string][3]uint64{
		"a, b":                {15022295217590486911, 10921611542133392652, 6475295179449305644},
		"b, a":                {16964750243348782514, 1655837470359791009, 11711029934891890802},
		"a, a":                {15540906507959826782, 15031554079627851316, 17981200327502537740},
		"c, d, e":             {381827919960481967, 5766788883005885007, 9001909258177022773},
		"a, b, c, d, e, f, g": {10083366450213874389, 14786119443551133432, 18355164518682275401},
		"g, f, e, d, c, b, a": {15374376652504009224, 15775748135292237277, 6290752777138718738},
	} {
		for i, f := range []string{"xxHash64", "cityHash64", "sipHash64"} {
			checkKey(t, f+"("+columns+")", rows, row, want[i])
		}
	}
	for _, f := range []string{"xxHash64", "cityHash64", "sipHash64"} {
		of, err := clickhousesink.KeyOf(f+"(a, b, c, d)", rows)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() { _, _ = of(row) }); n > 0 {
			t.Errorf("%s: %v allocations a row", f, n)
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
	const known = "want a column of integers, intHash32 or intHash64 of one, or cityHash64, sipHash64 or xxHash64 of one or several columns; " +
		"for another key write to the distributed table itself"
	for key, says := range map[string]string{
		"nmae": "no column nmae", "name": "column name: String is not an integer", "intHash32(name)": "column name: String is not an integer",
		"cityHash64(id, maybe)": "column maybe: Nullable(Int32) may be NULL", "cityHash64(id, price)": "column price: Float64 is not a type of keys",
		"intHash64(id, id)": "intHash64 takes one column", "cityHash64(id, nmae)": "no column nmae",
		"murmurHash3_64(id, name)": "function murmurHash3_64 is not known", "rand(id)": "function rand is not known",
		"cityHash64(id": "", "id)": "", "id, name": "", "cityHash64()": "", "cityHash64(id,)": "", "cityHash64(id name)": "", "cityHash64(toString(id))": "",
	} {
		o := clickhousesink.Options{Table: "db.events", Sharding: clickhousesink.Sharding{Key: key}}
		for _, s := range cluster(t, &o, 1, 1) {
			s.events().columns = append(wide(), column{"maybe", "Nullable(Int32)", ""}, column{"price", "Float64", ""})
		}
		_, err := clickhousesink.New(t.Context(), o)
		expect(t, err, failure.Job, failure.Config, "sharding key "+key+": ", says, known)
	}
	o := clickhousesink.Options{Table: "db.events", Format: clickhousesink.JSONEachRow, Sharding: clickhousesink.Sharding{Key: "id"}}
	cluster(t, &o, 1, 1)
	_, err := clickhousesink.New(t.Context(), o)
	expect(t, err, failure.Job, failure.Config, "not looked into")
	for _, key := range []string{" intHash64( `id` ) ", "cityHash64(name,`id`)", "xxHash64 (\n\tid ,name\n)", " rand ( ) "} {
		o.Format, o.Sharding.Key = clickhousesink.RowBinary, key
		open(t, o)
	}
}

func TestAKeyDoesNotRestOnDefaultsOfTheServer(t *testing.T) {
	for _, defaults := range []bool{true, false} {
		o := clickhousesink.Options{Table: "db.events", Defaults: defaults, Sharding: clickhousesink.Sharding{Key: "cityHash64(id, made)"}}
		for _, s := range cluster(t, &o, 1, 1) {
			s.events().columns = append(wide(), column{"made", "Date", "DEFAULT"})
		}
		if !defaults {
			open(t, o)
			continue
		}
		_, err := clickhousesink.New(t.Context(), o)
		expect(t, err, failure.Job, failure.Config, "column made has a default")
	}
}

func TestOneShardNeedsNoKey(t *testing.T) {
	o := clickhousesink.Options{Table: "db.events", Sharding: clickhousesink.Sharding{Key: "toYear(made)"}}
	cluster(t, &o, 1)
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
