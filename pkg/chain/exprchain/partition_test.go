package exprchain_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/spate-go/spate/pkg/chain/exprchain"
)

func TestKeyIsWhatARowSays(t *testing.T) {
	for _, c := range []struct{ expr, row, want string }{
		{`"year=" + ts[0:4]`, `{"ts":"2026-01-31"}`, "year=2026"},
		{`"year=" + ts[0:4] + "/month=" + ts[5:7]`, `{"ts":"2026-01-31","x":1}`, "year=2026/month=01"},
		{`region`, `{"region":"eu"}`, "eu"},
		{`region`, `{"region":"e\u0075/\u00fc\n"}`, "eu/ü\n"},
		{`a.b`, `{"a":{"b":"c"}}`, "c"},
		{`this.object`, `{"object":"o"}`, "o"},
		{`id`, `{"id":12345678901234567890}`, "12345678901234567890"},
		{`n + 1`, `{"n":1}`, "2"},
		{`ok`, `{"ok":true}`, "true"},
		{`status >= 500 ? "bad" : "good"`, `{"status":503}`, "bad"},
		{`lower(region)`, `{"region":"EU"}`, "eu"},
		{`"all"`, `{}`, "all"},
		// A row without a value has no key.
		{`region`, `{}`, ""},
		{`region`, `{"region":null}`, ""},
		{`a.b`, `{"a":{}}`, ""},
		{`"year=" + ts[0:4]`, `{}`, ""},
		{`"year=" + ts[0:4]`, `{"ts":null}`, ""},
		{`lower(region)`, `{"regio":"EU"}`, ""},
		{`a + b`, `{"a":"x"}`, ""},
		{`(ts ?? "0000")[0:4]`, `{}`, "0000"},
		{`status >= 500 ? "bad" : "good"`, `{}`, ""},
		{`region`, `{"region":""}`, ""},
	} {
		key, err := exprchain.Key(c.expr)
		if err != nil {
			t.Errorf("%s: %v", c.expr, err)
			continue
		}
		for range 2 { // the second time with what the first left behind
			if got, err := key([]byte(c.row)); err != nil || got != c.want {
				t.Errorf("%s of %s: got %q, %v, want %q", c.expr, c.row, got, err, c.want)
			}
		}
	}
}

func TestARowThatHasNoKeyButValuesIsAnError(t *testing.T) {
	for _, c := range []struct{ expr, row, says string }{
		{`"year=" + ts[0:4]`, `{"ts":20260131}`, "slice"},
		{`lower(region)`, `{"region":5}`, ""},
		{`a + b`, `{"a":"x","b":5}`, ""},
		{`tags`, `{"tags":["a"]}`, "array"},
		{`a`, `{"a":{"b":1}}`, "object"},
		{`region`, `{"region":`, "row"},
		{`region`, `text`, ""},
	} {
		key, err := exprchain.Key(c.expr)
		if err != nil {
			t.Errorf("%s: %v", c.expr, err)
			continue
		}
		got, err := key([]byte(c.row))
		if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(c.says, "row")) {
			t.Errorf("%s of %s: got %q, %v", c.expr, c.row, got, err)
		}
		// The next row is as any other.
		if got, err := key([]byte(`{"ts":"2026","region":"EU","a":"x","b":"y","tags":"z"}`)); err != nil || got == "" {
			t.Errorf("%s: then %q, %v", c.expr, got, err)
		}
	}
}

func TestAnExpressionThatCanBeNoKeyIsRefused(t *testing.T) {
	for expr, says := range map[string]string{
		"":                              "line 1",
		"ts[":                           "line 1, column",
		"now()":                         "function now is not available",
		"object.key":                    "object is not in scope",
		`ts + object.partition["year"]`: "object is not in scope",
		"record.index":                  "record is not in scope",
		"ts\n + lowerr(region)":         "line 2, column 4: function lowerr is not known",
	} {
		if _, err := exprchain.Key(expr); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want %q", expr, err, says)
		}
	}
}

func TestKeysMayBeAskedForTogether(t *testing.T) {
	key, err := exprchain.Key(`"n=" + (n > 5 ? "many" : "few") + name[0:3]`)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 500 {
				want := "n=few" + fmt.Sprintf("%03d", worker*100+i%100)
				if i%10 > 5 {
					want = strings.Replace(want, "few", "many", 1)
				}
				got, err := key(fmt.Appendf(nil, `{"n":%d,"name":"%03d-x"}`, i%10, worker*100+i%100))
				if err != nil || got != want {
					t.Errorf("got %q, %v, want %q", got, err, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

// What rows make does not add up (INV-6): many rows may grow as far as one.
func TestKeysOfManyRowsGrowNothing(t *testing.T) {
	key, err := exprchain.Key(`s + s + s + s + s + s + s + s`)
	if err != nil {
		t.Fatal(err)
	}
	row := []byte(`{"s":"` + strings.Repeat("x", 1<<19) + `"}`)
	for i := range 40 { // a pool may forget
		if got, err := key(row); err != nil || len(got) != 4<<20 {
			t.Fatalf("row %d: %d bytes, %v", i, len(got), err)
		}
	}
}
