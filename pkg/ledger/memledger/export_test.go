package memledger

import "time"

// Pass moves the ledger's clock on.
func (l *Ledger) Pass(d time.Duration) {
	now := l.now
	l.now = func() time.Time { return now().Add(d) }
}
