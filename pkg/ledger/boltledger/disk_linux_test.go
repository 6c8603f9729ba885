package boltledger_test

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// TestAFullDiskCostsNothingThatWasAcked fills a file system of its own, where
// that is allowed.
func TestAFullDiskCostsNothingThatWasAcked(t *testing.T) {
	disk := t.TempDir()
	err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=512k")
	if errors.Is(err, syscall.EPERM) {
		t.Skip("mounting needs root")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	path, ctx := filepath.Join(disk, "ledger.db"), t.Context()
	l := open(t, path)
	listing(t, l)
	acked := 0
	for ; err == nil; acked += 100 {
		err = sent(ctx, l, page(acked, acked+100))
	}
	acked -= 100
	for range 2 {
		if s, _ := failure.Of(err); s != failure.Job || !strings.Contains(err.Error(), disk) || !strings.Contains(err.Error(), "free space") {
			t.Errorf("after %d units: %v", acked, err)
		}
		if _, err = l.Meta(ctx, "j"); err == nil {
			t.Error("the ledger goes on as if nothing had happened")
		}
	}
	if _, again := l.Done(ctx, ref(1, 0), counts); again == nil || again.Error() != err.Error() {
		t.Errorf("then %v", again)
	}
	shut(t, l)
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=4m"); err != nil {
		t.Fatal(err)
	}
	l = open(t, path)
	defer shut(t, l)
	if c := must[ledger.Census](t)(l.Prove(ctx, "j", 1)); c.Open < acked || c.Open > acked+100 || acked == 0 {
		t.Errorf("%d units are there, and %d were acked", c.Open, acked)
	}
	must[ledger.Meta](t)(l.Lease(ctx, lister))
	if _, _, err := l.Publish(ctx, lister, page(acked, acked+100)); err != nil {
		t.Error(err)
	}
}
