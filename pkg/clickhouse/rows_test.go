package clickhouse_test

import (
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/clickhouse"
)

func table(t testing.TB, pairs ...string) clickhouse.Columns {
	t.Helper()
	var cols clickhouse.Columns
	for i := 0; i < len(pairs); i += 2 {
		cols = append(cols, clickhouse.Column{Name: pairs[i], Type: column(t, pairs[i+1])[0].Type})
	}
	return cols
}

func TestRowsWithDefaults(t *testing.T) {
	cols := table(t, "id", "UInt8", "name", "String", "maybe", "Nullable(UInt8)", "list", "Array(String)")
	for i := range cols {
		cols[i].Default = "DEFAULT"
	}
	e := encoder(t, cols, clickhouse.RowOptions{Defaults: true})
	rows := clickhouse.Rows{Columns: cols, Defaults: true}
	for _, c := range []struct {
		values []string // "": absent
		row    string
		json   string
	}{
		{[]string{"7", `"x"`, "null", `["a"]`}, "\x00\x07\x00\x01x\x00\x01\x00\x01\x01a", `{"id":7,"name":"x","maybe":null,"list":["a"]}`},
		{[]string{"", `"x"`, "", ""}, "\x01\x00\x01x\x01\x01", `{"name":"x"}`},
		{[]string{"", "", "", ""}, "\x01\x01\x01\x01", `{}`},
	} {
		values := make([][]byte, len(c.values))
		for i, v := range c.values {
			if v != "" {
				values[i] = []byte(v)
			}
		}
		row, err := e.Append(nil, values)
		if err != nil || string(row) != c.row {
			t.Errorf("%q: row %q, %v: want %q", c.values, row, err, c.row)
			continue
		}
		if n, err := rows.Skip(append(row, 9)); n != len(row) || err != nil {
			t.Errorf("%q: skip %d, %v", row, n, err)
		}
		if doc, err := rows.AppendJSON(nil, row); err != nil || string(doc) != c.json {
			t.Errorf("%q: %s, %v: want %s", row, doc, err, c.json)
		}
		for i, v := range c.values {
			if got, err := rows.Value(row, i); err != nil || (got == nil) != (v == "") {
				t.Errorf("%q: value %d is %q, %v", row, i, got, err)
			}
		}
		for cut := range row {
			if _, err := rows.Skip(row[:cut]); err == nil {
				t.Errorf("%q is taken for a row", row[:cut])
			}
		}
	}
}

// The server makes zero bytes of a default that nothing gives, which no Enum
// without a 0 can hold: from then on it cannot read the table.
func TestTheTypesDefaultIsWrittenWhereAColumnHasNone(t *testing.T) {
	cols := table(t, "id", "UInt8", "level", "Enum8('low' = -2, 'high' = 3)", "pair", "Tuple(Enum16('a' = 5), String)", "maybe", "Nullable(Enum8('x' = 1))")
	cols[0].Default = "DEFAULT"
	row, err := encoder(t, cols, clickhouse.RowOptions{Defaults: true}).Append(nil, make([][]byte, len(cols)))
	if want := "\x01\x00\xfe\x00\x05\x00\x00\x00\x01"; err != nil || string(row) != want {
		t.Errorf("row %q, %v: want %q", row, err, want)
	}
}

func TestAValueOfARowIsAsItIsEncoded(t *testing.T) {
	cols := table(t, "id", "UInt16", "name", "String", "list", "Array(Tuple(UInt8, String))", "last", "Int8")
	row := []byte("\x01\x02\x03abc\x02\x01\x01x\x02\x00\x7f")
	for i, want := range []string{"\x01\x02", "\x03abc", "\x02\x01\x01x\x02\x00", "\x7f"} {
		if got, err := cols.Value(row, i); err != nil || string(got) != want {
			t.Errorf("value %d is %q, %v: want %q", i, got, err, want)
		}
	}
	if n, err := cols.Skip(append(row, row...)); n != len(row) || err != nil {
		t.Errorf("skip %d, %v", n, err)
	}
	for _, bad := range []string{string(row[:len(row)-1]), "\x01", "\x01\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01abc", "\x01\x02\x00\xff\xff\xff\xff\x0f"} {
		if _, err := cols.Skip([]byte(bad)); err == nil {
			t.Errorf("%q is taken for a row", bad)
		}
		if doc, err := cols.AppendJSON([]byte("x"), []byte(bad)); err == nil || string(doc) != "x" {
			t.Errorf("%q becomes %q", bad, doc)
		}
	}
	if _, err := table(t, "wide", "Array(UInt32)").Skip([]byte("\x02\x01\x00\x00\x00\x02\x00")); err == nil {
		t.Error("an array of more than there is")
	}
	if _, err := cols.AppendJSON(nil, append(row, 0)); err == nil {
		t.Error("what follows a row is left out")
	}
}

func TestTimesWithoutAZoneAreInTheRows(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	cols := table(t, "own", "DateTime('UTC')", "none", "DateTime", "deep", "Array(Nullable(DateTime64(0)))")
	local := []byte(`"2026-11-30 09:00:00"`)
	row, err := encoder(t, cols, clickhouse.RowOptions{Zone: tokyo}).Append(nil, [][]byte{local, local, []byte(`["2026-11-30 09:00:00"]`)})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := cols.AppendJSON(nil, row)
	if want := `{"own":"2026-11-30T09:00:00Z","none":"2026-11-30T00:00:00Z","deep":["2026-11-30T00:00:00Z"]}`; err != nil || string(doc) != want {
		t.Errorf("%s, %v: want %s", doc, err, want)
	}
}

// The server converts what a block says a column is.
func TestABlockNamesTheTypesThatItIsOf(t *testing.T) {
	for of, want := range map[string]string{
		"LowCardinality(Nullable(String))":                   "Nullable(String)",
		"Array(LowCardinality(String))":                      "Array(String)",
		"Map(LowCardinality(String), UInt8)":                 "Map(String, UInt8)",
		"Tuple(`a b` LowCardinality(String), c JSON)":        "Tuple(`a b` String, c String)",
		"SimpleAggregateFunction(max, DateTime64(3, 'UTC'))": "DateTime64(3, 'UTC')",
		"JSON(max_dynamic_paths = 3)":                        "String",
		"Nullable(Enum8('a' = 1))":                           "Nullable(Enum8('a' = 1))",
		"Polygon":                                            "Polygon",
	} {
		n, err := clickhouse.NewNative(table(t, "c", of))
		if err != nil {
			t.Fatal(err)
		}
		block, err := n.Append(nil, nil, 0)
		if wanted := "\x01\x00\x01c" + string(rune(len(want))) + want; err != nil || string(block) != wanted {
			t.Errorf("%s: block %q, %v: want %q", of, block, err, wanted)
		}
	}
}
