package jsondecode_test

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
	"github.com/spate-go/spate/pkg/failure"
)

// numbers that a float64 cannot hold, or not as they are written.
var odd = []string{
	"9007199254740993", "9223372036854775808", "18446744073709551616", "123456789012345678901234567890", "1.10", "-0", "-0.0", "1e400",
	"1E+2", "0.1234567890123456789012345678901234567890", "100.00", "1e-400",
}

func TestNumbersAreKeptAsTheyAreWritten(t *testing.T) {
	for _, n := range odd {
		text := []byte(`{"n": ` + n + ` , "in":{"deep":[` + n + `]}}`)
		t.Run(n, func(t *testing.T) {
			var doc jsondecode.Document
			if err := jsondecode.Documents(jsondecode.Options{}, jsondecode.Path{"n"}, jsondecode.Path{"in"}).Decode(text, &doc); err != nil {
				t.Fatal(err)
			}
			if string(doc.Raw(0)) != n || string(doc.Raw(1)) != `{"deep":[`+n+`]}` {
				t.Errorf("members of a document: %s and %s", doc.Raw(0), doc.Raw(1))
			}
			var typed struct {
				N  json.Number
				In json.RawMessage
			}
			if err := jsondecode.Typed[struct {
				N  json.Number
				In json.RawMessage
			}](jsondecode.Options{}).Decode(text, &typed); err != nil {
				t.Fatal(err)
			}
			if typed.N.String() != n || string(typed.In) != `{"deep":[`+n+`]}` {
				t.Errorf("fields of a type: %s and %s", typed.N, typed.In)
			}
			if again, err := json.Marshal(typed.N); err != nil || string(again) != n {
				t.Errorf("written again: %s, %v", again, err)
			}
		})
	}
}

func TestExactNumbersKeepThoseOfNoType(t *testing.T) {
	for _, n := range odd {
		var v any
		d := jsondecode.Typed[any](jsondecode.Options{ExactNumbers: true})
		if err := d.Decode([]byte(`{"n":[`+n+`]}`), &v); err != nil {
			t.Fatal(err)
		}
		if got := v.(map[string]any)["n"].([]any)[0]; got != json.Number(n) {
			t.Errorf("%s became %v", n, got)
		}
	}
	for text, want := range map[string]string{`{"n":1} {}`: "want the end of the record at offset 8", `{"n":"x"}`: "cannot unmarshal string"} {
		var v struct{ N int }
		err := jsondecode.Typed[struct{ N int }](jsondecode.Options{ExactNumbers: true}).Decode([]byte(text), &v)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", text, err)
		}
		if scope, reason := failure.Of(err); scope != failure.Record || reason != failure.Undecodable {
			t.Errorf("%s: scope %v, reason %v", text, scope, reason)
		}
	}
}

func TestBigNumbersFitTypesThatHoldThem(t *testing.T) {
	const n = "123456789012345678901234567890"
	var v struct {
		Int   big.Int
		Float *big.Float
		Text  string `json:"text"`
	}
	text := []byte(`{"int":` + n + `,"float":"0.1234567890123456789","text":"` + n + `"}`)
	if err := jsondecode.Typed[struct {
		Int   big.Int
		Float *big.Float
		Text  string `json:"text"`
	}](jsondecode.Options{}).Decode(text, &v); err != nil {
		t.Fatal(err)
	}
	if v.Int.String() != n || v.Float.Text('g', 19) != "0.1234567890123456789" || v.Text != n {
		t.Errorf("got %s, %s, %s", &v.Int, v.Float.Text('g', 19), v.Text)
	}
}

func TestIntegersThatDoNotFitAreErrorsNotOtherNumbers(t *testing.T) {
	for _, n := range []string{"9223372036854775808", "-9223372036854775809", "1.5", "1e400"} {
		var v struct{ N int64 }
		if err := jsondecode.Typed[struct{ N int64 }](jsondecode.Options{}).Decode([]byte(`{"n":`+n+`}`), &v); err == nil {
			t.Errorf("%s became %d", n, v.N)
		}
	}
}

// A float that is written in its shortest form comes back the same, bit for bit.
func TestFloatsComeBack(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	d := jsondecode.Typed[struct{ N float64 }](jsondecode.Options{})
	for range 8_000 {
		f := math.Float64frombits(r.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		text := strconv.AppendFloat(nil, f, []byte("eg")[r.IntN(2)], -1, 64)
		var v struct{ N float64 }
		if err := d.Decode([]byte(`{"n":`+string(text)+`}`), &v); err != nil || math.Float64bits(v.N) != math.Float64bits(f) {
			t.Fatalf("%s became %v, %v", text, v.N, err)
		}
		if got := jsondecode.Value(text); got != f && !(f == 0) {
			if n, ok := jsondecode.Int(text); !ok || float64(n) != f {
				t.Fatalf("%s became %v", text, got)
			}
		}
	}
}
