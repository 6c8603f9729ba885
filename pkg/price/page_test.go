package price_test

import (
	"flag"
	"fmt"
	"math"
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
	for name, table := range map[string]string{"constants": constants(), "examples": examples(), "unit": perUnit()} {
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
	b.WriteString("| work | memory | concurrency | duration | compute | requests | total |\n|---|---|---|---|---|---|---|\n")
	for _, c := range []struct {
		what        string
		n           int
		bytes, gets int64
		f           price.Function
	}{
		{"10^12 bytes in units of 64 MiB", 14_902, 64 << 20, 8, price.Function{}},
		{"the same", 14_902, 64 << 20, 8, price.Function{Concurrency: 100}},
		{"the same", 14_902, 64 << 20, 8, price.Function{MemoryMB: 884, Concurrency: 100}},
		{"10 million objects of 10 kB, 64 per unit", 156_250, 640_000, 64, price.Function{}},
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

// perUnit is what a million units that succeed at once take, divided by a million.
func perUnit() string {
	const n = 1_000_000
	var b strings.Builder
	b.WriteString("| per unit | amount | $ per million units |\n|---|---|---|\n")
	row := func(what string, amount float64, cost price.Usage) {
		fmt.Fprintf(&b, "| %s | %s | %.2f |\n", what, strconv.FormatFloat(amount, 'f', -1, 64), price.Cost(cost).Total)
	}
	one := price.Of(units(n, 64<<20, 8), price.Function{}).Usage
	row("Lambda: invocations", float64(one.Invocations)/n, price.Usage{Invocations: one.Invocations})
	row("SQS: requests", float64(one.QueueRequests)/n, price.Usage{QueueRequests: one.QueueRequests})
	row("DynamoDB: writes", float64(one.WriteUnits)/n, price.Usage{WriteUnits: one.WriteUnits})
	row("DynamoDB: reads, strongly consistent", float64(one.ReadUnits)/n, price.Usage{ReadUnits: one.ReadUnits})
	bare := price.Usage{Invocations: one.Invocations, QueueRequests: one.QueueRequests, WriteUnits: one.WriteUnits, ReadUnits: one.ReadUnits}
	row("subtotal", float64(bare.Requests())/n, bare)
	for _, c := range []struct {
		what        string
		bytes, gets int64
	}{{"one object of 64 MiB", 64 << 20, 8}, {"64 objects of 10 kB", 640_000, 64}} {
		u := price.Of(units(n, c.bytes, c.gets), price.Function{}).Usage
		row("S3: GETs, "+c.what, float64(u.Gets)/n, price.Usage{Gets: u.Gets})
		row("Lambda: GB-seconds, "+c.what, math.Round(u.GBSeconds/n*1000)/1000, price.Usage{GBSeconds: u.GBSeconds})
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
