package price_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/price"
)

var update = flag.Bool("update", false, "write the tables of docs/PERFORMANCE.md anew")

const page = "../../docs/PERFORMANCE.md"

// TestThePageShowsTheModel holds the tables of the page to the package.
func TestThePageShowsTheModel(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	for name, table := range map[string]string{"constants": constants(), "examples": examples()} {
		from, to := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
		head, rest, ok1 := strings.Cut(got, from)
		_, tail, ok2 := strings.Cut(rest, to)
		if !ok1 || !ok2 {
			t.Fatalf("%s has no place for %s", page, name)
		}
		got = head + from + table + to + tail
	}
	if got == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s shows other numbers than the package has: run this test with -update", page)
	}
	if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
		t.Fatal(err)
	}
}

func constants() string {
	var b strings.Builder
	b.WriteString("| constant | value | source | read |\n|---|---|---|---|\n")
	for _, c := range price.Constants() {
		value := strings.TrimSpace(strconv.FormatFloat(c.Value, 'f', -1, 64) + " " + c.Unit)
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.Name, value, c.Source, c.Date)
	}
	return b.String()
}

func examples() string {
	var b strings.Builder
	b.WriteString("| work | memory | at once | takes | compute | requests | total |\n|---|---|---|---|---|---|---|\n")
	for _, c := range []struct {
		what        string
		n           int
		bytes, gets int64
		f           price.Function
	}{
		{"10^12 bytes in units of 64 MiB", 14_902, 64 << 20, 8, price.Function{}},
		{"the same", 14_902, 64 << 20, 8, price.Function{Concurrency: 100}},
		{"the same", 14_902, 64 << 20, 8, price.Function{MemoryMB: 884, Concurrency: 100}},
		{"10 million objects of 10 kB, 64 a unit", 156_250, 640_000, 64, price.Function{}},
	} {
		w := units(c.n, c.bytes, c.gets)
		w.Listed = int64(c.n) * max(1, c.gets)
		memory, at := c.f.MemoryMB, c.f.Concurrency
		if memory == 0 {
			memory = price.DefaultMemoryMB
		}
		if at == 0 {
			at = price.DefaultConcurrency
		}
		e := price.Of(w, c.f)
		fmt.Fprintf(&b, "| %s | %d MB | %d | %.1f min | $%.2f | $%.2f | $%.2f |\n",
			c.what, memory, at, e.Duration.Minutes(), e.Dollars.Compute, e.Dollars.Requests, e.Dollars.Total)
	}
	return b.String()
}

func TestEveryConstantHasASource(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range price.Constants() {
		if c.Name == "" || c.Value <= 0 || c.Source == "" || c.Date == "" || seen[c.Name] {
			t.Errorf("%+v", c)
		}
		seen[c.Name] = true
	}
}
