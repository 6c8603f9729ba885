package finalizer_test

import (
	"testing"

	"github.com/spate-go/spate/pkg/ledger"
)

func TestWhoCancelsAJobHasItReportedAtOnce(t *testing.T) {
	w := newWorld(t)
	w.listed("j", "a", "b")
	w.done("j", "a")
	w.must(nil, w.l.Conclude(t.Context(), "j", 1, 0, ledger.Cancelled))
	w.must(nil, w.shared().Triggered(t.Context(), "j"))
	if r := w.ended("j", ledger.Cancelled); r.Units.Missing != 1 {
		t.Errorf("units %+v", r.Units)
	}
	w.wantOut("")
}
