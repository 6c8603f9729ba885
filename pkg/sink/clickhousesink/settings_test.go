package clickhousesink_test

import (
	"net/http"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink/clickhousesink"
)

// The server answers an insert with a setting's bad value as it does one with a
// row's: every row of every unit would be rejected, and the job complete.
func TestASettingsValueIsTriedBeforeARowIsBlamed(t *testing.T) {
	for code, says := range map[int]string{27: "try settings max_threads", 115: "correct the sink's section"} {
		s := newServer(t, wide()...)
		o := options(s)
		o.Settings = map[string]string{"max_threads": "many"}
		o.Transport = trip{map[string]http.Handler{"ch:8123": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if q := r.URL.Query(); q.Get("max_threads") != "" && q.Get("query") == "SELECT 1" {
				refuse(w, http.StatusBadRequest, fault{code, "Cannot parse input: expected 'eof' before: 'many'"})
				return
			}
			s.ServeHTTP(w, r)
		})}}
		_, err := clickhousesink.New(t.Context(), o)
		expect(t, err, failure.Job, failure.Config, "expected 'eof' before: 'many'", says)
	}
}

func TestAServerThatCannotBeReachedIsNamedWithWhatToCheck(t *testing.T) {
	o := options(newServer(t, wide()...))
	o.Transport = trip{}
	_, err := clickhousesink.New(t.Context(), o)
	expect(t, err, failure.Transient, failure.RetriesExhausted, "ch:8123", "connection refused", "check the URL")
}
