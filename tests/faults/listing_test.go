package faults_test

import (
	"testing"

	"github.com/spate-go/spate/tests/lambdakit"
)

func TestAListingThatFailsForAWhileIsRepeatedInPlace(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]lambdakit.Fault{
		"500":                 s3Says(500, "InternalError"),
		"503 SlowDown":        s3Says(503, "SlowDown"),
		"no answer":           {Before: true},
		"a reset in mid-body": {Cut: 500},
		"a body cut short":    {Cut: 500, Ends: lambdakit.Short},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrial(t)
			w := tr.listing(newWrong(3, list, f))
			tr.listed("a")
			tr.poll()
			tr.schedule()
			tr.completes("a")
			tr.exact()
			tr.unburnt("a", 1)
			w.was(t, 3)
		})
	}
}
