package lister_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/lister"
	"github.com/spate-go/spate/pkg/unit"
)

// What a survey says is what a listing does.
func TestASurveyFindsTheUnitsThatAListerPlans(t *testing.T) {
	for _, skip := range []bool{true, false} {
		for _, size := range []int{1, 7, 1000} {
			o := zooOptions()
			o.Filter.SkipArchived = skip
			listed := newZoo(t)
			listed.size = size
			if err := listed.run(o); err != nil {
				t.Fatal(err)
			}
			m := listed.meta()
			var want []unit.ID
			for _, p := range listed.pages {
				for _, u := range p.Units {
					want = append(want, u.ID)
				}
			}

			w := newZoo(t)
			w.size = size
			var got []unit.ID
			found, err := lister.Survey(t.Context(), "job", &actor{w, w.fault}, o, func(u *unit.Unit) { got = append(got, u.ID()) })
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d units, want %d", len(got), len(want))
			}
			if d := cmp.Diff(m.Inventory, found.Inventory); d != "" {
				t.Errorf("inventory (-want +got):\n%s", d)
			}
			waiting, waitingBytes := int64(2), int64(99+9*mib)
			if skip {
				waiting, waitingBytes = 0, 0
			}
			if found.Waiting != waiting || found.WaitingBytes != waitingBytes {
				t.Errorf("%d waiting with %d bytes, want %d with %d", found.Waiting, found.WaitingBytes, waiting, waitingBytes)
			}
			if n := found.Listed(); n != int64(len(w.objects)) {
				t.Errorf("%d listed of %d", n, len(w.objects))
			}
			if len(w.pages)+len(w.sends) > 0 || w.finished || w.reading > 0 {
				t.Errorf("%d pages, %d sends, %d bodies open", len(w.pages), len(w.sends), w.reading)
			}
			if !slices.Equal(w.asked, listed.asked) && size == 1 {
				t.Errorf("it read %q and the lister %q", w.asked, listed.asked)
			}
		}
	}
}

func TestASurveyCountsOnceWhatItHadToListAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := zooOptions()
		o.Filter.SkipArchived = false
		for _, applied := range []bool{false, true} {
			for n := 1; ; n++ {
				w := newZoo(t)
				w.op, w.at, w.applied = "List", n, applied
				found, err := lister.Survey(t.Context(), "job", &actor{w, w.fault}, o, func(*unit.Unit) {})
				if err != nil {
					t.Fatal(err)
				}
				if found.Listed() != int64(len(w.objects)) || found.Waiting != 2 {
					t.Errorf("call %d failed, applied %v: %+v", n, applied, found)
				}
				if w.seen("List") < n {
					break
				}
			}
		}
	})
}

func TestASurveyThatIsDeniedSaysSo(t *testing.T) {
	w := newZoo(t)
	w.op, w.at, w.err = "List", 1, failure.Errorf(failure.Job, failure.Denied, "no")
	found, err := lister.Survey(t.Context(), "job", &actor{w, w.fault}, zooOptions(), func(*unit.Unit) {})
	if !failure.Is(err, failure.Job) || found.Inventory != (ledger.Inventory{}) {
		t.Errorf("%+v, %v", found, err)
	}
}
