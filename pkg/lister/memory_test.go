//go:build !race

package lister_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/lister"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

// Eight bytes kept of each key exceed the bounds.
const (
	listedKeys, listedBound     = 2_000_000, 22 << 20
	surveyedKeys, surveyedBound = 500_000, 8 << 20
	residentBound               = 96 << 20
)

// INV-6: what a lister holds does not grow with what it lists.
func TestMemoryIsFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("lists two million keys")
	}
	switch os.Getenv("SPATE_TEST_LISTING") {
	case "run":
		listMany(t)
		return
	case "survey":
		surveyMany(t)
		return
	}
	for _, what := range []string{"run", "survey"} {
		// A process of its own: the peak of this one is its tests'.
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemoryIsFlat$", "-test.v")
		cmd.Env = append(os.Environ(), "SPATE_TEST_LISTING="+what)
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Fatal(err)
		}
	}
}

func surveyMany(t *testing.T) {
	n, units := surveyedKeys, 0
	p := &prefix{n: n}
	began := time.Now()
	found, err := lister.Survey(t.Context(), "job", p, lister.Options{Bucket: "bucket"}, func(*unit.Unit) { units++ })
	if err != nil || found.Objects != int64(n) || units < n/64 {
		t.Fatalf("%d units, %+v: %v", units, found, err)
	}
	t.Logf("%d keys in %d units in %v", n, units, time.Since(began).Round(time.Millisecond))
	p.flat(t, surveyedBound)
}

// flat checks what was held at most.
func (p *prefix) flat(t *testing.T, bound uint64) {
	t.Helper()
	t.Logf("%d KiB were held at most, and %d MiB were resident", p.held>>10, resident()>>20)
	if p.held > bound || resident() > residentBound {
		t.Errorf("%d bytes were held and %d resident, want at most %d and %d", p.held, resident(), bound, residentBound)
	}
}

func listMany(t *testing.T) {
	const n = listedKeys
	ctx := t.Context()
	store := memledger.New()
	m, err := store.Start(ctx, "job", ledger.Start{})
	if err != nil {
		t.Fatal(err)
	}
	p := &prefix{n: n}
	began := time.Now()
	if err := lister.New(p, store, reader{store}, lister.Options{Bucket: "bucket"}).Run(ctx, "job", m); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	census, err := store.Prove(ctx, "job", 1)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = store.Meta(ctx, "job"); err != nil || !census.Complete(m) || m.Inventory.Objects != int64(n) {
		t.Fatalf("%d of %d objects, %+v: %v", m.Inventory.Objects, n, census, err)
	}
	t.Logf("%d keys in %d units in %v: %.0f keys/s", n, m.Planned, took.Round(time.Millisecond), n/took.Seconds())
	p.flat(t, listedBound)
}

// reader has every unit done that is sent.
type reader struct{ *memledger.Ledger }

func (r reader) Send(ctx context.Context, ms ...feed.Message) error {
	for _, m := range ms {
		if _, err := r.Done(ctx, ledger.Ref{Job: m.Job, Run: 1, ID: m.ID}, ledger.Counts{}); err != nil {
			return err
		}
	}
	return nil
}

// prefix makes up n keys of about 100 bytes, and looks now and then at what is
// held: without garbage, of which there may be as much again.
type prefix struct {
	n, pages int
	held     uint64
}

func (p *prefix) List(_ context.Context, after string) (object.Page, error) {
	if p.pages++; p.pages%100 == 0 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		p.held = max(p.held, m.HeapAlloc+m.StackInuse)
	}
	i := 0
	if after != "" {
		last, err := strconv.Atoi(after[len(after)-17 : len(after)-8])
		if err != nil {
			return object.Page{}, err
		}
		i = last + 1
	}
	page := object.Page{Objects: make([]object.Listed, min(1000, p.n-i))}
	for j := range page.Objects {
		page.Objects[j].Object = unit.Object{
			Key:          fmt.Sprintf("exports/region=eu-central-1/year=2026/month=11/day=02/service=checkout/part-%09d.json.gz", i+j),
			Size:         10_000,
			ETag:         `"d41d8cd98f00b204e9800998ecf8427e"`,
			LastModified: time.Unix(1_790_000_000, 0),
		}
	}
	if k := len(page.Objects); k > 0 {
		page.Last = page.Objects[k-1].Key
	}
	page.More = i+len(page.Objects) < p.n
	return page, nil
}

func (p *prefix) Pin(unit.Object) object.Pinned { panic("nothing is read") }

// resident is the peak of the process's memory in bytes, 0 where the system does
// not say.
func resident() uint64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "VmHWM:"); ok {
			kb, _ := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10
		}
	}
	return 0
}
