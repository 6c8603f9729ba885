package dynamoledger_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
)

// largePage has units of 64 members whose keys are 1 KiB long, as many as a page
// may hold.
func largePage() ledger.Page {
	r := random{rand.New(rand.NewPCG(1, 6))}
	p := ledger.Page{Last: strings.Repeat("z", 1024)}
	for n, size := 0, 0; ; n++ {
		var body strings.Builder
		first := fmt.Sprintf("%04d", n) + r.word()
		for m := range 64 {
			fmt.Fprintf(&body, `{"key":"%s%s/%02d/%s","size":%d,"etag":"\"%x\""},`, strings.Repeat("p", 900), first, m, r.word(), r.IntN(1e6), r.bytes(16))
		}
		if size += body.Len(); size > ledger.MaxPageBytes {
			return p
		}
		p.Units = append(p.Units, ledger.Planned{ID: id(n), FirstKey: strings.Repeat("p", 900) + first, Objects: 64, Body: []byte(body.String())})
	}
}

func TestALargePage(t *testing.T) {
	for name, large := range map[string]ledger.Page{"of long keys": largePage(), "of what does not compress": incompressible()} {
		t.Run(name, func(t *testing.T) {
			api := newTable()
			s := &teller{T: t, Ledger: alone(api)}
			s.list(1, large)
			parts := api.keys("job#j#plan#1")
			if len(parts) < 10 || api.largest > 350_000 {
				t.Errorf("%d parts, the largest item has %d bytes", len(parts), api.largest)
			}
			n := 0
			s.ok(func() error {
				return s.Pending(t.Context(), "j", 1, func(p ledger.Planned) error {
					same(t, p, large.Units[n])
					n++
					return nil
				})
			})
			if n != len(large.Units) {
				t.Errorf("%d of %d pending", n, len(large.Units))
			}
			last := len(large.Units) - 1
			calls := api.since(func() {
				body := tell(s, func() ([]byte, error) { return s.Body(t.Context(), ref(1, last)) })
				if !bytes.Equal(body, large.Units[last].Body) {
					t.Error("another body")
				}
			})
			differ(t, "calls for a body", calls, map[string]int{"GetItem": 2})

			again := newTable()
			(&teller{T: t, Ledger: alone(again)}).list(1, large)
			for _, at := range parts {
				if !bytes.Equal(packed(again.items[at]), packed(api.items[at])) {
					t.Errorf("%v: another lister enters it in other bytes", at)
				}
			}
		})
	}
}

func same(t *testing.T, got, want ledger.Planned) {
	t.Helper()
	if got.ID != want.ID || got.FirstKey != want.FirstKey || got.Objects != want.Objects || !bytes.Equal(got.Body, want.Body) {
		t.Errorf("%s came back as another one, %s", want.ID, got.ID)
	}
}

func packed(part item) []byte { return part["units"].(*types.AttributeValueMemberB).Value }

func incompressible() ledger.Page {
	r := random{rand.New(rand.NewPCG(1, 7))}
	p := ledger.Page{Last: "z"}
	for n := range 16 {
		p.Units = append(p.Units, ledger.Planned{ID: id(n), FirstKey: key(n), Objects: 1000, Body: r.bytes(ledger.MaxPageBytes / 16)})
	}
	return p
}

func TestALargePageIsNotMixedWithAnother(t *testing.T) {
	// The first lister dies between the transactions that enter its page.
	api := newTable()
	s := &teller{T: t, Ledger: alone(api)}
	tell(s, func() (ledger.Meta, error) { return s.Start(t.Context(), "j", ledger.Start{}) })
	tell(s, func() (ledger.Meta, error) { return s.Lease(t.Context(), lister(1)) })
	n := 0
	api.fault = func(_ int, call string) (bool, error) {
		if call == "TransactWriteItems" {
			if n++; n == 2 {
				return false, away
			}
		}
		return false, nil
	}
	large := incompressible()
	if _, _, err := s.Publish(t.Context(), lister(1), large); err == nil || len(api.keys("job#j#plan#1")) == 0 {
		t.Fatalf("%v, %d parts", err, len(api.keys("job#j#plan#1")))
	}
	api.fault = nil
	small := ledger.Page{Last: "z", Units: large.Units[:2]}
	small.Units = append(slices.Clone(small.Units), large.Units[15])
	for range 2 {
		got, due, err := s.Publish(t.Context(), lister(1), small)
		if err != nil || len(due) != 3 {
			t.Errorf("%v, %d due", err, len(due))
		}
		if len(got.Units) != 3 || got.Last != small.Last {
			t.Fatalf("%d units", len(got.Units))
		}
		for i, u := range got.Units {
			same(t, u, small.Units[i])
		}
	}
	pending := 0
	s.ok(func() error {
		return s.Pending(t.Context(), "j", 1, func(ledger.Planned) error { pending++; return nil })
	})
	if pending != 3 {
		t.Errorf("%d pending", pending)
	}
}

func TestAUnitOfTwoPagesCountsOnce(t *testing.T) {
	api := newTable()
	s := &teller{T: t, Ledger: alone(api)}
	tell(s, func() (ledger.Meta, error) { return s.Start(t.Context(), "j", ledger.Start{}) })
	tell(s, func() (ledger.Meta, error) { return s.Lease(t.Context(), lister(1)) })
	second := page(4, 7)
	second.Units = append(second.Units, page(2, 4).Units...)
	second.Units = append(second.Units, second.Units[0])
	for _, p := range []ledger.Page{page(0, 4), second, page(7, 8)} {
		for range 2 {
			if _, _, err := s.Publish(t.Context(), lister(1), p); err != nil {
				t.Fatal(err)
			}
		}
		s.ok(func() error { return s.Advance(t.Context(), lister(1), p) })
	}
	s.ok(func() error { return s.Finish(t.Context(), lister(1)) })
	for n := range 8 {
		s.done(1, n)
	}
	m := s.meta()
	census := tell(s, func() (ledger.Census, error) { return s.Prove(t.Context(), "j", 1) })
	progress := tell(s, func() (ledger.Progress, error) { return s.Progress(t.Context(), "j", 1) })
	if m.Planned != 8 || !census.Complete(m) || !progress.Settled() {
		t.Errorf("%d planned, %+v, %+v", m.Planned, census, progress)
	}
	for n := range 8 {
		if tally := s.done(1, n); !tally.Settled() || tally.Done != tally.Planned {
			t.Errorf("unit %d: its shard is at %+v", n, tally)
		}
	}
}

func TestOnlyWhatARunNeedsAloneExpires(t *testing.T) {
	api := newTable()
	now := time.Unix(1_800_000_000, 0)
	s := &teller{T: t, Ledger: dynamoledger.New(api, "ledger", dynamoledger.Options{Now: func() time.Time { return now }})}
	s.live()
	for at, a := range api.items {
		raw, expires := a["expires"]
		passing := strings.Contains(at[0], "#plan#") || strings.HasPrefix(at[1], "count#") || strings.HasSuffix(at[0], "#todo") || strings.HasPrefix(at[1], "token#")
		if expires != passing {
			t.Errorf("%v: it expires: %v", at, expires)
		}
		if n, ok := raw.(*types.AttributeValueMemberN); ok && n.Value != "1815552000" { // seconds, half a year from now
			t.Errorf("%v: expires %s", at, n.Value)
		}
		if strings.HasPrefix(at[1], "s3-") && size(a) > 1024 {
			t.Errorf("%v has %d bytes", at, size(a))
		}
	}
}

func TestOnlyTheFirstFaultsOfAUnitKeepLongDetails(t *testing.T) {
	api := newTable()
	s := &teller{T: t, Ledger: alone(api)}
	s.list(1, page(0, 1))
	serial := s.begin(1, 0)
	for m := range 200 {
		f := ledger.Fault{Member: m, Record: 5, Detail: strings.Repeat("stack ", 1000)}
		s.ok(func() error { return s.Fault(t.Context(), ref(1, 0), serial, f) })
		f.Record = 6 // which changes nothing
		s.ok(func() error { return s.Fault(t.Context(), ref(1, 0), serial, f) })
	}
	it := tell(s, func() (ledger.Item, error) { return s.Begin(t.Context(), ref(1, 0), 1, 10) })
	if len(it.Faults) != 200 || api.largest > 60<<10 {
		t.Errorf("%d faults, %d bytes", len(it.Faults), api.largest)
	}
	for m, f := range it.Faults {
		if f.Member != m || f.Record != 5 || !strings.HasSuffix(f.Detail, "(6000 bytes)") {
			t.Fatalf("%+v", f)
		}
		if long := len(f.Detail) > 400; long != (m < 64) {
			t.Fatalf("fault %d has a detail of %d bytes", m, len(f.Detail))
		}
	}
}

func TestASourceThatIsTooLongIsRefused(t *testing.T) {
	_, err := alone(newTable()).Start(t.Context(), "j", ledger.Start{Source: strings.Repeat("s", 2<<10+1)})
	if err == nil || !strings.Contains(err.Error(), "2049 bytes") {
		t.Error(err)
	}
}
