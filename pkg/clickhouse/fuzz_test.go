package clickhouse_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"net/netip"
	"strconv"
	"testing"

	"github.com/spate-go/spate/pkg/clickhouse"
)

func FuzzParseType(f *testing.F) {
	for _, v := range load[[]value](f, "values.json") {
		f.Add(v.Type)
	}
	for _, text := range []string{"AggregateFunction(sum, UInt64)", "Enum8('a', 'b')", "Tuple(`a` UInt8)", "JSON(a.b UInt8, SKIP `x`)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		of, err := clickhouse.ParseType(text)
		if err != nil {
			return
		}
		again, err := clickhouse.ParseType(of.String())
		if err != nil || again.String() != of.String() || again.Name() != of.Name() || again.Width() != of.Width() {
			t.Fatalf("%q is %v, read again %v, %v", text, of, again, err)
		}
		cols := clickhouse.Columns{{Name: "c", Type: of}}
		row, err := encoder(t, cols, clickhouse.RowOptions{}).Append(nil, [][]byte{nil})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := cols.Skip(row); n != len(row) || err != nil {
			t.Fatalf("%v: the default of %d bytes is read as %d, %v", of, len(row), n, err)
		}
	})
}

// Whatever bytes a value is of, it is an error or a row that can be read; and
// the JSON of a row that valid JSON made makes that row again.
func FuzzAppend(f *testing.F) {
	values := load[[]value](f, "values.json")
	for i, v := range values {
		var text string
		if err := json.Unmarshal(v.JSON, &text); err != nil {
			f.Fatal(err)
		}
		f.Add(i, []byte(text))
	}
	f.Fuzz(func(t *testing.T, i int, raw []byte) {
		if len(raw) == 0 {
			return
		}
		cols := column(t, values[uint(i)%uint(len(values))].Type)
		e := encoder(t, cols, clickhouse.RowOptions{})
		row, err := e.Append(nil, [][]byte{raw})
		if err != nil {
			if len(row) > 0 {
				t.Fatalf("%q is left of %q", row, raw)
			}
			return
		}
		if n, err := cols.Skip(row); n != len(row) || err != nil {
			t.Fatalf("%s of %q: %x is read as %d bytes, %v", cols[0].Type, raw, row, n, err)
		}
		doc, err := cols.AppendJSON(nil, row)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(raw) || bytes.ContainsAny(raw[:1], " \t\r\n") || !bytes.Equal(bytes.ToValidUTF8(row, nil), row) && !bytes.Equal(bytes.ToValidUTF8(raw, nil), raw) {
			return
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(doc, &members); err != nil {
			t.Fatalf("%s of %q: %s: %v", cols[0].Type, raw, doc, err)
		}
		if back, err := e.Append(nil, [][]byte{members["c"]}); err != nil || !bytes.Equal(back, row) {
			t.Fatalf("%s of %q: %s makes %x, %v: want %x", cols[0].Type, raw, doc, back, err, row)
		}
	})
}

// Any bytes can be taken for rows: they are read, or refused.
func FuzzRows(f *testing.F) {
	values := load[[]value](f, "values.json")
	for i, v := range values {
		row, _ := hex.DecodeString(v.Row)
		f.Add(i, row)
	}
	f.Fuzz(func(t *testing.T, i int, row []byte) {
		cols := column(t, values[uint(i)%uint(len(values))].Type)
		n, err := cols.Skip(row)
		if err != nil {
			n = len(row)
		}
		_, _ = cols.AppendJSON(nil, row[:n])
		_, _ = cols.Value(row, 0)
		native, err2 := clickhouse.NewNative(cols)
		if err2 != nil {
			t.Fatal(err2)
		}
		if _, err2 := native.Append(nil, row[:n], 1); (err == nil) != (err2 == nil) {
			t.Fatalf("%v: skip says %v, a block %v", cols[0].Type, err, err2)
		}
	})
}

// Numbers and addresses are what the standard library reads.
func FuzzScalars(f *testing.F) {
	for _, s := range []string{"0", "-1", "1.5", "1e3", "0.1", "123456789012345678", "4.35", "9007199254740993", "1e-7", "::1", "1.2.3.4", "1::", "::ffff:1.2.3.4", "1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:8", "::1:2:3:4:5:6:7:8"} {
		f.Add(s)
	}
	cols := map[string]clickhouse.Columns{}
	for _, of := range []string{"Float64", "Float32", "Int256", "Decimal(76, 20)", "IPv4", "IPv6"} {
		cols[of] = column(f, of)
	}
	f.Fuzz(func(t *testing.T, s string) {
		quoted, err := json.Marshal(s)
		if err != nil || len(s) > 100 {
			return
		}
		row := func(of string, raw []byte) ([]byte, bool) {
			row, err := encoder(t, cols[of], clickhouse.RowOptions{}).Append(nil, [][]byte{raw})
			return row, err == nil
		}
		v6, ok6 := row("IPv6", quoted)
		a, err := netip.ParseAddr(s)
		if valid := err == nil && a.Zone() == ""; valid != ok6 || valid && a.As16() != [16]byte(v6) {
			t.Fatalf("address %q: %x, %v", s, v6, ok6)
		}
		if v4, ok := row("IPv4", quoted); ok != (err == nil && a.Zone() == "" && a.Unmap().Is4()) || ok && a.Unmap().As4() != [4]byte{v4[3], v4[2], v4[1], v4[0]} {
			t.Fatalf("address %q: %x, %v", s, v4, ok)
		}
		if !json.Valid([]byte(s)) || s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') || s[len(s)-1] <= ' ' {
			return
		}
		f64, err := strconv.ParseFloat(s, 64)
		if got, ok := row("Float64", []byte(s)); ok && (err != nil || math.Float64bits(f64) != le(got)) || !ok && err == nil && f64 != 0 {
			t.Fatalf("%s is %x, want %v", s, got, f64)
		}
		f32, err := strconv.ParseFloat(s, 32)
		if got, ok := row("Float32", []byte(s)); ok && (err != nil || uint64(math.Float32bits(float32(f32))) != le(got)) {
			t.Fatalf("%s is %x, want %v", s, got, f32)
		}
		exactly(t, s, row)
	})
}

// exactly compares with rational numbers, of which no digit is cut.
func exactly(t *testing.T, s string, row func(of string, raw []byte) ([]byte, bool)) {
	t.Helper()
	if i := bytes.IndexAny([]byte(s), "eE"); i >= 0 && len(s)-i > 5 {
		return // the library would write the digits out
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return
	}
	for of, scale := range map[string]int64{"Int256": 0, "Decimal(76, 20)": 20} {
		want := new(big.Rat).Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(scale), nil)))
		bound := new(big.Int).Lsh(big.NewInt(1), 255)
		low := new(big.Int).Neg(bound)
		if scale > 0 {
			bound = new(big.Int).Exp(big.NewInt(10), big.NewInt(76), nil)
			low = new(big.Int).Add(new(big.Int).Neg(bound), big.NewInt(1))
		}
		fits := want.IsInt() && want.Num().Cmp(bound) < 0 && want.Num().Cmp(low) >= 0
		got, ok := row(of, []byte(s))
		if ok != fits {
			t.Fatalf("%s of %s: taken %v, fits %v", of, s, ok, fits)
		}
		if ok && signed(got).Cmp(want.Num()) != 0 {
			t.Fatalf("%s of %s is %v", of, s, signed(got))
		}
	}
}

func signed(b []byte) *big.Int {
	v := new(big.Int)
	for i := len(b) - 1; i >= 0; i-- {
		v.Or(v.Lsh(v, 8), big.NewInt(int64(b[i])))
	}
	if b[len(b)-1] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v
}
