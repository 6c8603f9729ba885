package app_test

import (
	"testing"

	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/sink/capturesink"
)

// What is not computed is never another number; what is, is rounded or refused as
// decode.json.numbers says.
func TestNumbersThatExpressionsComputeWith(t *testing.T) {
	const in = `{"d":0.12345678901234567890123,"half":1.50}` + "\n"
	for _, c := range []struct{ numbers, set, want string }{
		{"float", "string(d)", `{"d":0.12345678901234567890123,"half":1.50,"x":"0.12345678901234568"}` + "\n"},
		{"exact", "string(d)", `{"d":0.12345678901234567890123,"half":1.50,"x":"0.12345678901234567890123"}` + "\n"},
		{"exact", "half * 3", `{"d":0.12345678901234567890123,"half":1.50,"x":4.5}` + "\n"},
		{"exact", "d * 2", ""}, // rejected
		{"float", "d * 2", `{"d":0.12345678901234567890123,"half":1.50,"x":0.24691357802469135}` + "\n"},
	} {
		t.Run(c.numbers+" "+c.set, func(t *testing.T) {
			b, s := new(memobject.Bucket), capturesink.New(capturesink.Options{})
			b.Put("k", []byte(in))
			conf, err := load(t, "pipeline: {name: p}\nsource: {s3: {url: \"s3://b/\"}}\nfeed: {memory: {}}\n"+
				"decode: {json: {numbers: "+c.numbers+"}}\nchain: [{set: {x: \""+c.set+"\"}}]\n")
			if err != nil {
				t.Fatal(err)
			}
			r, err := app.Run(t.Context(), conf, app.Pipeline{Source: b, Sink: s})
			if err != nil {
				t.Fatal(err)
			}
			if rows := string(s.Bytes()); rows != c.want || (r.Records.Rejected == 1) != (c.want == "") {
				t.Errorf("rows %q, %d rejected, want %q", rows, r.Records.Rejected, c.want)
			}
		})
	}
}
