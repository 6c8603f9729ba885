package faults_test

import (
	"net/http"
	"testing"

	"github.com/spate-go/spate/tests/lambdakit"
)

// first is a call that the SDK has not repeated yet, and will. Listings and reads of
// objects are repeated by others.
func first(c lambdakit.Call) bool {
	return !c.Again && (c.Service != "s3" || c.Op != http.MethodGet)
}

// Whatever a function asks for is carried out, and the answer does not come, or not
// as a whole; so it is asked for and carried out again.
func TestWhatIsCarriedOutTwiceHappensOnce(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]lambdakit.Fault{
		"an answer lost":       {After: true},
		"an answer broken off": {Cut: 1},
	} {
		t.Run(name+", of a listed job", func(t *testing.T) {
			tr := newTrial(t)
			w := newWrong(always, first, f)
			tr.reading(w)
			tr.listing(w)
			tr.finalizing(w)
			tr.listed("a")
			tr.poll()
			tr.schedule()
			tr.completes("a")
			tr.exact()
			tr.unburnt("a", 2)
			w.was(t, 30)
		})
		t.Run(name+", of a continuous job", func(t *testing.T) {
			tr := newAnnounced(t)
			w := newWrong(always, first, f)
			tr.reading(w)
			tr.finalizing(w)
			failed := tr.taking(w)
			tr.poll()
			tr.schedule()
			tr.arrives()
			if len(*failed) > 0 {
				t.Errorf("windows failed: %+v", *failed)
			}
			w.was(t, 30)
		})
	}
}
