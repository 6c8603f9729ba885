package chain_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/reject"
)

// refused is a line of rejects as whoever reads JSON finds it, and what the
// record in it is.
type refused struct {
	Key, ETag, Version string
	Record, Offset     int64
	Reason, Detail     string
	content            string // "none": there is no record in it
}

func rejects(t *testing.T, rows *chain.Rows) []refused {
	t.Helper()
	var all []refused
	start := 0
	for _, end := range rows.Ends {
		line := rows.Data[start:end]
		start = end
		var r refused
		if err := json.Unmarshal(line, &r); err != nil || line[len(line)-1] != '\n' || bytes.Count(line, []byte("\n")) > 1 {
			t.Fatalf("%v: %q", err, line)
		}
		from, to, ok, err := reject.Content(line[:len(line)-1])
		if err != nil {
			t.Fatal(err)
		}
		if r.content = "none"; ok {
			r.content = string(line[from:to])
		}
		all = append(all, r)
	}
	if start != len(rows.Data) {
		t.Fatalf("lines do not cover the data: %q, ends %v", rows.Data, rows.Ends)
	}
	return all
}

func same(t *testing.T, got, want []refused) {
	t.Helper()
	if d := cmp.Diff(want, got, cmp.AllowUnexported(refused{})); d != "" {
		t.Error(d)
	}
}

func wanting() *chain.Output {
	out := output()
	out.Rejects = new(chain.Rows)
	return out
}

// strict fails at what its name says.
func strict(onUndecoded, onError chain.Policy) chain.Constructor {
	return chain.Encode(chain.Filter(decodeText(onUndecoded), func(_ *chain.Context, v *text) (bool, error) {
		switch v.s {
		case "failing":
			return false, errors.New("step: fails")
		case "long":
			return false, errors.New("x" + strings.Repeat("é", 1000))
		case "panicking":
			panic("step")
		}
		return v.s != "dropped", nil
	}), onError, encodeText)
}

func placed(lines ...string) *chain.Batch {
	b := batchOf(lines...)
	b.Object.ETag, b.Object.Version = `"e"`, "v"
	b.Base, b.From = 1000, 990
	return b
}

func TestARejectedRecordIsWrittenDown(t *testing.T) {
	out := wanting()
	w := strict(chain.Skip, chain.Skip)()
	if err := w.Process(placed("oversize", "fine", "bad \xff", "dropped", "failing", "oversize", "panicking", "half", "fine"), out); err != nil {
		t.Fatal(err)
	}
	got := rejects(t, out.Rejects)
	if p := &got[4]; strings.HasPrefix(p.Detail, "panic: step at reject_test.go:") {
		p.Detail = "panic"
	}
	const over = "record is over the framer's limit: raise max_record or skip it"
	same(t, got, []refused{
		{"k", `"e"`, "v", 7, 990, "undecodable", over, "none"},
		{"k", `"e"`, "v", 9, 1006, "undecodable", "decode text: bad", "bad \xff"},
		{"k", `"e"`, "v", 11, 1020, "operator", "step: fails", "failing"},
		{"k", `"e"`, "v", 12, 1028, "undecodable", over, "none"},
		{"k", `"e"`, "v", 13, 1029, "operator", "panic", "panicking"},
		{"k", `"e"`, "v", 14, 1039, "operator", "half a row", "half"},
	})
	check(t, out, counts(9, 2, 1, 6, 0), "fine", "fine")

	plain := process(t, strict(chain.Skip, chain.Skip), "oversize", "fine", "bad \xff", "dropped", "failing", "oversize", "panicking", "half", "fine")
	if plain.Counts != out.Counts || plain.Undecoded != out.Undecoded {
		t.Errorf("counts depend on whether rejects are wanted: %+v, %+v", plain, out)
	}
}

func TestARecordThatEndsItsMemberIsNotRejected(t *testing.T) {
	out := wanting()
	err := strict(chain.Skip, chain.Fail)().Process(placed("bad", "failing", "bad"), out)
	if _, ok := errors.AsType[*chain.RecordError](err); !ok {
		t.Fatal(err)
	}
	if got := rejects(t, out.Rejects); len(got) != 1 || got[0].Record != 7 {
		t.Errorf("got %+v, want the record before it alone", got)
	}
	out = wanting()
	if err := strict(chain.Fail, chain.Skip)().Process(placed("failing", "bad"), out); err == nil || len(out.Rejects.Ends) != 1 {
		t.Errorf("%v, %+v", err, out.Rejects)
	}
}

func TestAnErrorsTextIsBoundedInALine(t *testing.T) {
	out := wanting()
	if err := strict(chain.Skip, chain.Skip)().Process(placed("long"), out); err != nil {
		t.Fatal(err)
	}
	d := rejects(t, out.Rejects)[0].Detail
	if len(d) > 1100 || !utf8.ValidString(d) || strings.Contains(d, "\uFFFD") || strings.TrimLeft(d, "xé") != "…" {
		t.Errorf("%d bytes: %q", len(d), d)
	}
}

func TestChainsThatDecodeNothingRejectWhatIsTooLong(t *testing.T) {
	for name, c := range map[string]chain.Constructor{"raw": chain.Raw("\n"), "suffix": chain.Raw("\r\n"), "line": chain.Line()} {
		out := wanting()
		if err := c().Process(placed("a", "oversize", "oversize", "b", "oversize"), out); err != nil {
			t.Fatal(err)
		}
		var at []int64
		for _, r := range rejects(t, out.Rejects) {
			if r.content != "none" || r.Reason != "undecodable" {
				t.Errorf("%s: %+v", name, r)
			}
			at = append(at, r.Record, r.Offset)
		}
		if d := cmp.Diff([]int64{8, 1002, 9, 1003, 11, 1006}, at); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if out.Counts != (record.Counts{In: 5, Out: 2, Rejected: 3}) {
			t.Errorf("%s: %+v", name, out.Counts)
		}
	}
}
