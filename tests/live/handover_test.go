package live_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/ledger"
)

// skew is how far the clocks of a hand-over may differ. The intake allows a
// minute.
const skew = 50 * time.Second

// upload is an object that was begun at one time and is there from another on. S3
// dates it by the first, and announces it at the second.
type upload struct {
	key, row     string
	begun, there time.Time // by one clock
	modified     time.Time // by that of listings
	announced    time.Time // by that of notifications; zero: it was not
}

// TestAHandOverLeavesNoGap connects a bucket at some time and starts a listed job with
// the cutoff that this fixed, while uploads of all lengths go on: every row is
// there, and twice only those of uploads that were under way around the cutoff.
func TestAHandOverLeavesNoGap(t *testing.T) {
	const histories = 60
	once, twice := 0, 0
	for i := range uint64(histories) {
		synctest.Test(t, func(t *testing.T) {
			h := newHandOver(t, *seed+i)
			h.run()
			h.judge(&once, &twice)
		})
		if t.Failed() {
			t.Fatalf("-live.seed %d", *seed+i)
		}
	}
	t.Logf("%d uploads are read once, %d twice", once, twice)
	if twice == 0 {
		t.Error("no upload straddles")
	}
}

// handOver is a history of uploads.
type handOver struct {
	*world
	uploads             []*upload
	connected, notified time.Time // notified: from then on the bucket tells
	cutoff              time.Time // by the clock of the command
	// How far the clocks are off: of the command, of listings, of notifications.
	ours, listings, events time.Duration
	clock                  time.Time // of the bucket
}

func newHandOver(t *testing.T, n uint64) *handOver {
	h := &handOver{}
	h.world = newWorld(t, n, false, chances{slow: func(string) {}})
	h.queue.repeats = 0.05
	h.bucket.Now = func() time.Time { return h.clock }
	// Any two of the three differ by no more than skew.
	h.ours, h.listings, h.events = h.off(), h.off(), h.off()
	now := time.Now()
	h.connected = now.Add(30 * time.Minute)
	h.notified = h.connected.Add(time.Duration(h.rng.Int64N(int64(3 * time.Minute))))
	for i := range 120 {
		u := &upload{key: fmt.Sprintf("%s%04d.json", prefix, i)}
		u.row = fmt.Sprintf(`{"from":%q}`, u.key)
		u.begun = now.Add(time.Duration(h.rng.Int64N(int64(70 * time.Minute))))
		u.there = u.begun
		switch h.rng.IntN(3) {
		case 0: // in parts
			u.there = u.begun.Add(time.Duration(h.rng.Int64N(int64(40 * time.Minute))))
		case 1: // around the cutoff
			u.begun = h.connected.Add(notice - 3*time.Minute + time.Duration(h.rng.Int64N(int64(6*time.Minute))))
			u.there = u.begun.Add(time.Duration(h.rng.Int64N(int64(2 * time.Minute))))
		}
		u.modified = u.begun.Add(h.listings).Truncate(time.Second)
		if !u.there.Before(h.notified) {
			u.announced = u.there.Add(h.events).Truncate(time.Millisecond)
		}
		h.uploads = append(h.uploads, u)
	}
	slices.SortFunc(h.uploads, func(a, b *upload) int { return a.there.Compare(b.there) })
	return h
}

// notice is what spate bucket connect gives notifications to begin.
const notice = 5 * time.Minute

func (h *handOver) off() time.Duration {
	return [...]time.Duration{-skew / 2, skew / 2, time.Duration(h.rng.Int64N(int64(skew))) - skew/2}[h.rng.IntN(3)]
}

// run lets all of it happen.
func (h *handOver) run() {
	h.t.Helper()
	h.wg.Go(func() {
		time.Sleep(time.Until(h.connected))
		h.connect()
		time.Sleep(time.Until(h.cutoff.Add(-h.ours))) // as start --cutoff live waits
		h.list()
	})
	for i, u := range h.uploads {
		time.Sleep(time.Until(u.there))
		h.clock = u.modified
		o := h.bucket.Put(u.key, []byte(u.row+"\n"))
		o.Version = ""
		if !u.announced.IsZero() {
			h.queue.send(fromS3(notification{o, u.announced, i}), time.Duration(h.rng.Int64N(int64(latest))))
		}
	}
	time.Sleep(time.Until(h.connected.Add(time.Hour)))
	h.rest(live, "backfill")
	h.stop()
}

func (h *handOver) connect() {
	h.cutoff = time.Now().Add(h.ours + notice).Truncate(time.Second)
	if _, err := h.ledger.Open(h.t.Context(), live, h.source.Start("connect", h.cutoff)); err != nil {
		h.t.Error(err)
	}
}

// list runs the listed job's lister.
func (h *handOver) list() {
	ctx := h.t.Context()
	l, err := app.OpenListing(ctx, h.config, h.made, control.Selection{Before: h.cutoff})
	if err != nil {
		h.t.Error(err)
		return
	}
	m, err := h.ledger.Start(ctx, "backfill", ledger.Start{Token: "start", Digests: l.Digests})
	if err == nil {
		err = l.Lister(h.ledger, h.feed).Run(ctx, "backfill", m)
	}
	if err != nil {
		h.t.Error(err)
	}
}

// judge compares the rows with the uploads.
func (h *handOver) judge(once, twice *int) {
	h.t.Helper()
	rows := map[string]int{}
	for _, c := range h.sink.Calls() {
		for row := range lines(c.Taken()) {
			rows[row]++
		}
	}
	for _, u := range h.uploads {
		straddles := u.modified.Before(h.cutoff) && !u.announced.Before(h.cutoff.Add(-time.Minute))
		switch n := rows[u.row]; {
		case n == 1:
			*once++
		case n == 2 && straddles:
			*twice++
		default:
			at := func(t time.Time) time.Duration { return t.Sub(h.cutoff) }
			h.t.Errorf("%d times: %s, dated %v and announced %v after the cutoff; notifications began %v after it",
				n, u.key, at(u.modified), at(u.announced), at(h.notified))
		}
	}
}
