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
	"github.com/spate-go/spate/pkg/feed/memfeed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/lister"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

const (
	listedEnv   = "SPATE_TEST_LISTED_KEYS" // how many keys TestMemoryIsFlat lists
	listedKeys  = 10_000_000
	memoryBound = 128 << 20
)

// INV-6: what a lister holds does not grow with what it lists.
func TestMemoryIsFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("lists ten million keys")
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
	n, units := manyKeys(t)/5, 0 // all of them take half a minute and no more memory
	p := &prefix{n: n}
	began := time.Now()
	found, err := lister.Survey(t.Context(), "job", p, lister.Options{Bucket: "bucket"}, func(*unit.Unit) { units++ })
	if err != nil || found.Objects != int64(n) || units < n/64 {
		t.Fatalf("%d units, %+v: %v", units, found, err)
	}
	t.Logf("%d keys in %d units in %v; peak heap %d MiB, peak resident %d MiB",
		n, units, time.Since(began).Round(time.Millisecond), p.peak>>20, resident()>>20)
	if p.peak > memoryBound/2 || resident() > memoryBound/2 {
		t.Errorf("peak heap %d and resident %d bytes, want at most %d", p.peak, resident(), memoryBound/2)
	}
}

func manyKeys(t *testing.T) int {
	s := os.Getenv(listedEnv)
	if s == "" {
		return listedKeys
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s: %v", listedEnv, err)
	}
	return n
}

func listMany(t *testing.T) {
	n := manyKeys(t)
	ctx := t.Context()
	store, queue := memledger.New(), memfeed.New(memfeed.Options{})
	m, err := store.Start(ctx, "job", ledger.Start{})
	if err != nil {
		t.Fatal(err)
	}
	var consumed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		consumed = queue.Run(ctx, 1, func(ctx context.Context, d feed.Delivery) error {
			_, err := store.Done(ctx, ledger.Ref{Job: "job", Run: 1, ID: d.ID}, ledger.Counts{})
			return err
		})
	}()
	p := &prefix{n: n}
	began := time.Now()
	if err := lister.New(p, store, queue, lister.Options{Bucket: "bucket"}).Run(ctx, "job", m); err != nil {
		t.Fatal(err)
	}
	for !queue.Depth().Empty() {
		time.Sleep(time.Millisecond)
	}
	took := time.Since(began)
	queue.Stop()
	<-done
	census, err := store.Prove(ctx, "job", 1)
	if err != nil || consumed != nil {
		t.Fatal(err, consumed)
	}
	if m, err = store.Meta(ctx, "job"); err != nil || !census.Complete(m) || m.Inventory.Objects != int64(n) {
		t.Fatalf("%d of %d objects, %+v: %v", m.Inventory.Objects, n, census, err)
	}
	t.Logf("%d keys in %d units in %v: %.0f keys/s; peak heap %d MiB, peak resident %d MiB",
		n, m.Planned, took.Round(time.Millisecond), float64(n)/took.Seconds(), p.peak>>20, resident()>>20)
	if p.peak > memoryBound || resident() > memoryBound {
		t.Errorf("peak heap %d and resident %d bytes, want at most %d", p.peak, resident(), memoryBound)
	}
}

// prefix makes up n keys of about 100 bytes, and looks at the heap now and then.
type prefix struct {
	n, pages int
	peak     uint64
}

func (p *prefix) List(_ context.Context, after string) (object.Page, error) {
	if p.pages++; p.pages%100 == 0 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		p.peak = max(p.peak, m.HeapInuse)
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
