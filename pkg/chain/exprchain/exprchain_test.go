package exprchain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/chain/exprchain"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/unit"
)

// object is what the records of these tests come from.
func object() *unit.Object {
	return &unit.Object{
		Key:          "logs/year=2026/city=K%C3%B6ln/part-1.ndjson",
		Size:         1234,
		ETag:         `"9b2cf5"`,
		LastModified: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
	}
}

// batch has one record per line.
func batch(lines ...string) *chain.Batch {
	b := &chain.Batch{Object: object(), First: 100, Base: 1 << 33}
	for _, l := range lines {
		start := len(b.Buf)
		b.Buf = append(append(b.Buf, l...), '\n')
		b.Frames = append(b.Frames, record.Frame{Start: start, End: start + len(l), Next: len(b.Buf)})
	}
	return b
}

func run(c chain.Constructor, lines ...string) (*chain.Output, error) {
	out := &chain.Output{Sinks: make([]chain.Rows, 1)}
	err := c().Process(batch(lines...), out)
	return out, err
}

func compile(t *testing.T, p chain.Policy, steps ...exprchain.Step) chain.Constructor {
	t.Helper()
	c, err := exprchain.Compile(steps, exprchain.Options{OnError: p})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func filter(text string) exprchain.Step { return exprchain.Step{Filter: text} }

func selects(entries ...string) exprchain.Step { return exprchain.Step{Select: entries} }

// verdict is what a filter makes of a record: true, false or the error's text.
func verdict(t *testing.T, text, rec string) string {
	t.Helper()
	out, err := run(compile(t, chain.Fail, filter(text)), rec)
	switch {
	case err != nil:
		return err.Error()
	case out.Counts.Out == 1:
		return "true"
	default:
		return "false"
	}
}

// inVM spells a filter so that it needs the virtual machine: $x for a member is
// made [x][0], which has the same value.
func inVM(text string) string { return spell(text, "[", "][0]") }

func direct(text string) string { return spell(text, "", "") }

func spell(text, before, after string) string {
	var b strings.Builder
	for {
		head, rest, ok := strings.Cut(text, "$")
		b.WriteString(head)
		if !ok {
			return b.String()
		}
		n := strings.IndexFunc(rest, func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz._", r) })
		if n < 0 {
			n = len(rest)
		}
		b.WriteString(before + rest[:n] + after)
		text = rest[n:]
	}
}
