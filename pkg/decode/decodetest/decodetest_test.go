package decodetest_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/decode"
	"github.com/spate-go/spate/pkg/decode/decodetest"
	"github.com/spate-go/spate/pkg/failure"
)

// pairs decodes records such as a=1;b=2, with at most one fault.
type pairs struct {
	fault string
	own   *[64]byte // of values
	used  int
}

type value struct{ a, b []byte }

func (d *pairs) Decode(record []byte, v *value) error {
	if d.fault != "keeps what a value held" {
		*v = value{}
	}
	if d.fault == "refuses all after an error" && d.used < 0 {
		return failure.Errorf(failure.Record, failure.Undecodable, "no more")
	}
	d.used = 0
	for part := range bytes.SplitSeq(record, []byte(";")) {
		name, text, ok := bytes.Cut(part, []byte("="))
		if d.fault == "panics" && len(part) == 1 {
			panic("boom")
		}
		switch {
		case len(record) == 0:
		case ok && string(name) == "a":
			v.a = d.keep(text)
		case ok && string(name) == "b":
			v.b = d.keep(text)
		default:
			d.used = -1
			return d.refuse(record)
		}
	}
	return nil
}

// keep is a decoder's own memory in which values lie.
func (d *pairs) keep(text []byte) []byte {
	if d.fault == "writes to the record" {
		copy(text, bytes.ToUpper(text))
	}
	n := d.used
	d.used += copy(d.own[n:], text)
	return d.own[n:d.used]
}

func (d *pairs) refuse(record []byte) error {
	switch d.fault {
	case "marks nothing":
		return fmt.Errorf("want a or b")
	case "fails the unit":
		return failure.Errorf(failure.Unit, failure.Undecodable, "want a or b")
	case "shows the record":
		return failure.Errorf(failure.Record, failure.Undecodable, "want a or b in %q", record)
	case "accepts anything":
		return nil
	}
	return failure.Errorf(failure.Record, failure.Undecodable, "want a or b")
}

const faultVariable = "DECODETEST_FAULT"

// TestHarness runs the suite on a decoder with the fault that the environment
// names, for TestSuite.
func TestHarness(t *testing.T) {
	fault, shared := os.Getenv(faultVariable), new([64]byte)
	decodetest.Run(t, decodetest.Harness[value]{
		New: func() decode.Decoder[value] {
			if fault == "shares its memory" {
				return &pairs{fault: fault, own: shared}
			}
			return &pairs{fault: fault, own: new([64]byte)}
		},
		Good: []string{"a=one;b=two", "b=three", "a=four", ""},
		Bad:  []string{"c=5", "a=1;x", "="},
		Show: func(v *value) string { return fmt.Sprintf("%q %q", v.a, v.b) },
	})
}

func TestSuite(t *testing.T) {
	for _, fault := range []string{
		"keeps what a value held", "refuses all after an error", "panics", "writes to the record", "marks nothing",
		"fails the unit", "shows the record", "accepts anything", "shares its memory",
	} {
		t.Run("a decoder that "+fault+" fails", func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHarness$")
			cmd.Env = append(os.Environ(), faultVariable+"="+fault)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestHarness/") {
				t.Errorf("the suite passed it: %v\n%s", err, out)
			}
		})
	}
}
