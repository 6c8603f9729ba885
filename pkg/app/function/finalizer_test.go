package function

import (
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

func TestOverwrittenKeysAreTaken(t *testing.T) {
	w := newWorld(t)
	l := memledger.NewShared()
	m, err := l.Open(t.Context(), "p-live", ledger.Start{})
	if err != nil {
		t.Fatal(err)
	}
	key := []unit.Object{{Key: "in/a", Size: 3, ETag: `"e"`, Again: 1}}
	errs, err := w.take(t.Context(), l, w)(t.Context(), m, key)
	if err != nil || len(errs) != 1 || errs[0] != nil || len(w.sent) != 1 {
		t.Errorf("sent %d: %v, %v", len(w.sent), errs, err)
	}
	t.Run("where the source cannot be announced, that is said of the keys alone", func(t *testing.T) {
		for name, spoil := range map[string]func(*world){
			"cannot look at single objects": func(w *world) { w.pipeline.Source = struct{ object.Bucket }{w.bucket} },
			"is a directory":                func(w *world) { w.config.Source.S3.URL = "file:///logs/" },
			"pipeline.name":                 func(w *world) { w.config.Pipeline.Name = strings.Repeat("p", 96) },
		} {
			w := newWorld(t)
			spoil(w)
			if _, err := w.take(t.Context(), l, w)(t.Context(), m, key); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: error %v", name, err)
			}
		}
	})
}
