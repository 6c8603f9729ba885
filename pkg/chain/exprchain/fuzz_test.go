package exprchain_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/chain/exprchain"
	"github.com/spate-go/spate/pkg/jsontext"
)

// FuzzParse parses any text in any way: a row is JSON that holds the text as it
// was, or the record is rejected.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"a":[1.10],"a":2}`, `a=1 b="x \" y" c`, "/p?a=1&b=%41+c#d", "10.0.0.1 bob", "2026-11-01T12:00:00.120+01:00",
		"1793534400.5", "-1e-9", "9e99", "\xff=\xfe", "a=\"", "%", "Sun, 01 Nov 2026 12:00:00 CET", `"x"`, " ",
	} {
		f.Add(s)
	}
	var chains []chain.Constructor
	for _, p := range []exprchain.Parse{
		{As: "json", Into: "x"}, {As: "json"}, {As: "key_value"}, {As: "key_value", Into: "x.y"}, {As: "query", Into: "x"},
		{As: "regex", Pattern: `(?P<x>\w+)(?:=(?P<y>.))?`},
		{As: "timestamp", Into: "x"}, {As: "timestamp", Layout: "rfc1123", Into: "x"}, {As: "timestamp", Layout: "unix", Into: "x"}, {As: "timestamp", Layout: "unix_ns", Into: "x"},
	} {
		p.Field = "m"
		c, err := exprchain.Compile(parse(p), exprchain.Options{})
		if err != nil {
			f.Fatal(err)
		}
		chains = append(chains, c)
	}
	f.Fuzz(func(t *testing.T, s string) {
		in := jsontext.AppendQuoted([]byte(`{"m":`), s)
		for i, c := range chains {
			out, err := run(c, string(in)+"}")
			if err != nil || out.Counts.Out+out.Counts.Rejected != 1 || out.Undecoded > 0 {
				t.Fatalf("%d: %q: %+v, %v", i, s, out.Counts, err)
			}
			if out.Counts.Out == 0 {
				continue
			}
			var row struct {
				M any `json:"m"`
				X any `json:"x"`
			}
			if err := json.Unmarshal(out.Sinks[0].Data, &row); err != nil {
				t.Fatalf("%d: %q: %s: %v", i, s, out.Sinks[0].Data, err)
			}
			if m, ok := row.M.(string); i > 5 && (!ok || m != string([]rune(s))) {
				t.Errorf("%d: %q is now %v", i, s, row.M)
			}
			if x, ok := row.X.(string); i > 5 {
				if at, err := time.Parse(time.RFC3339, x); !ok || err != nil || at.Year() > 9999 {
					t.Errorf("%d: %q is the time %v", i, s, row.X)
				}
			}
		}
	})
}
