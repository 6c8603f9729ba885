package clickhouse_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/spate-go/spate/pkg/clickhouse"
)

// value is one that the engine itself wrote; see testdata/generate.py.
type value struct {
	Type      string          `json:"type"`
	JSON      json.RawMessage `json:"json"`
	Row       string          `json:"row"`
	Canonical string          `json:"canonical"`
}

func (v *value) raw(t *testing.T) []byte {
	t.Helper()
	var text string
	if err := json.Unmarshal(v.JSON, &text); err != nil {
		t.Fatal(err)
	}
	return []byte(text)
}

func load[T any](t testing.TB, name string) (v T) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func column(t testing.TB, text string) clickhouse.Columns {
	t.Helper()
	of, err := clickhouse.ParseType(text)
	if err != nil {
		t.Fatal(err)
	}
	return clickhouse.Columns{{Name: "c", Type: of}}
}

func encoder(t testing.TB, cols clickhouse.Columns, o clickhouse.RowOptions) *clickhouse.RowEncoder {
	t.Helper()
	e, err := clickhouse.NewRowEncoder(cols, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestValuesAreTheEngines(t *testing.T) {
	for _, v := range load[[]value](t, "values.json") {
		raw := v.raw(t)
		t.Run(v.Type+" of "+string(raw[:min(len(raw), 40)]), func(t *testing.T) {
			cols := column(t, v.Type)
			e := encoder(t, cols, clickhouse.RowOptions{})
			row, err := e.Append([]byte("before"), [][]byte{raw})
			if err != nil {
				t.Fatal(err)
			}
			if got := hex.EncodeToString(row[len("before"):]); got != v.Row || string(row[:6]) != "before" {
				t.Fatalf("row %s, want %s", got, v.Row)
			}
			row = row[len("before"):]
			if n, err := cols.Skip(append(bytes.Clone(row), 1, 2, 3)); n != len(row) || err != nil {
				t.Errorf("skip %d, %v: want %d", n, err, len(row))
			}
			again(t, e, row)
		})
	}
}

// again checks that the JSON of a row makes the same row.
func again(t *testing.T, e *clickhouse.RowEncoder, row []byte) {
	t.Helper()
	doc, err := e.Columns().AppendJSON(nil, row)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(doc, &members); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	back, err := e.Append(nil, [][]byte{members["c"]})
	if err != nil || !bytes.Equal(back, row) {
		t.Errorf("%s makes %x, %v: want %x", doc, back, err, row)
	}
}

func TestAnAbsentFieldIsWhatTheEngineMakesOfOne(t *testing.T) {
	for _, v := range load[[]value](t, "defaults.json") {
		cols := column(t, v.Type)
		if got := cols[0].Type.String(); got != v.Canonical {
			t.Errorf("%s is written %s, by the engine %s", v.Type, got, v.Canonical)
		}
		row, err := encoder(t, cols, clickhouse.RowOptions{}).Append(nil, [][]byte{nil})
		if got := hex.EncodeToString(row); err != nil || got != v.Row {
			t.Errorf("%s: row %s, %v: want %s", v.Type, got, err, v.Row)
		}
	}
}

func TestBlocksAreTheEngines(t *testing.T) {
	b := load[struct {
		Columns []struct{ Name, Type string }
		Count   int
		Rows    string
		Native  string
	}](t, "block.json")
	var cols clickhouse.Columns
	for _, c := range b.Columns {
		cols = append(cols, clickhouse.Column{Name: c.Name, Type: column(t, c.Type)[0].Type})
	}
	rows, _ := hex.DecodeString(b.Rows)
	n, err := clickhouse.NewNative(cols)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a block knows nothing of the one before
		got, err := n.Append([]byte("before"), rows, b.Count)
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := hex.DecodeString(b.Native); !bytes.Equal(got[6:], want) {
			i := 0
			for i < min(len(want), len(got)-6) && got[6+i] == want[i] {
				i++
			}
			t.Fatalf("the block differs at byte %d of %d and %d", i, len(got)-6, len(want))
		}
	}
	for _, bad := range [][]byte{rows[:len(rows)-1], append(bytes.Clone(rows), 0)} {
		if got, err := n.Append(nil, bad, b.Count); err == nil || len(got) > 0 {
			t.Error("rows of another length make a block")
		}
	}
}
