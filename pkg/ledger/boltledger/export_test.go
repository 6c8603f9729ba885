package boltledger

import (
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/spate-go/spate/pkg/ledger"
)

// Unsynced leaves it to the system when what is written reaches the disk: tests of
// something else need not wait.
func (l *Ledger) Unsynced() *Ledger {
	l.db.NoSync = true
	return l
}

// Pass moves the ledger's clock on.
func (l *Ledger) Pass(d time.Duration) {
	now := l.now
	l.now = func() time.Time { return now().Add(d) }
}

// Stall keeps transactions from being carried out until release.
func (l *Ledger) Stall() (release func()) {
	l.queue.commit.Lock()
	return l.queue.commit.Unlock
}

// Waiting is how many calls wait for a transaction.
func (l *Ledger) Waiting() int {
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	return len(l.queue.waiting)
}

// Transactions is how many there have been.
func (l *Ledger) Transactions() (n int) {
	_ = l.db.View(func(tx *bolt.Tx) error {
		n = tx.ID()
		return nil
	})
	return n
}

// Size is how much of the file has ever been in use.
func (l *Ledger) Size() (n int64) {
	_ = l.db.View(func(tx *bolt.Tx) error {
		n = tx.Size()
		return nil
	})
	return n
}

// Begun is how many units this process has begun and not ended.
func (l *Ledger) Begun() int {
	l.process.mu.Lock()
	defer l.process.mu.Unlock()
	return len(l.process.starts)
}

// Roundtrip decodes b as each record, and encodes what came of it.
func Roundtrip(b []byte) (same [][]byte) {
	var h head
	var d done
	var it ledger.Item
	var e entered
	for _, pass := range []func(*codec){
		func(c *codec) { c.head(&h) },
		func(c *codec) { c.done(&d) },
		func(c *codec) { c.item(&it) },
		func(c *codec) { c.entered(&e) },
	} {
		if decode(b, pass) == nil {
			same = append(same, encode(pass))
		}
	}
	return same
}

// RoundtripItem writes it and reads it.
func RoundtripItem(it ledger.Item) (out ledger.Item, b []byte, err error) {
	b = encode(func(c *codec) { c.item(&it) })
	return out, b, decode(b, func(c *codec) { c.item(&out) })
}

// RoundtripMeta writes m and reads it.
func RoundtripMeta(m ledger.Meta) (out ledger.Meta, b []byte, err error) {
	h, got := head{Meta: m}, head{}
	b = encode(func(c *codec) { c.head(&h) })
	err = decode(b, func(c *codec) { c.head(&got) })
	return got.Meta, b, err
}

// RoundtripPage writes p, without its bodies, and reads it.
func RoundtripPage(p ledger.Page) (out ledger.Page, b []byte, err error) {
	e, got := entered{Page: p, planned: 7}, entered{}
	b = encode(func(c *codec) { c.entered(&e) })
	err = decode(b, func(c *codec) { c.entered(&got) })
	if got.planned != e.planned {
		got.Last = "the number of its new units is lost"
	}
	return got.Page, b, err
}

// IsItem, IsMeta and IsPage report whether b is read as one.
func IsItem(b []byte) bool {
	return decode(b, func(c *codec) { c.item(new(ledger.Item)) }) == nil
}

func IsMeta(b []byte) bool { return decode(b, func(c *codec) { c.head(new(head)) }) == nil }

func IsPage(b []byte) bool { return decode(b, func(c *codec) { c.entered(new(entered)) }) == nil }
