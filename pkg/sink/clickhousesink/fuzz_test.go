package clickhousesink_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink/clickhousesink"
)

// Whatever an answer says, it is no ack, and its error is bounded.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{"Code: 241. DB::Exception: x. (X) (version 1 (y))", "Code: 469, e.displayText() = DB::Exception: y, e.what() = z", "<html>", "\xff\x00", "Code: 99999999999999999999. ", "1\nCode: 6.", "__exception__\r\n"} {
		f.Add(200, text)
		f.Add(500, text)
	}
	f.Fuzz(func(t *testing.T, status int, text string) {
		if status < 200 || status > 599 || strings.TrimSpace(text) == "" {
			return
		}
		s := newServer(t, wide()...)
		s.script = func(int, *http.Request) step {
			return step{before: func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				_, _ = w.Write([]byte(text))
			}}
		}
		o := options(s)
		o.Rejected = clickhousesink.RejectFail
		err := open(t, o).Write(t.Context(), block(0, 0, 3))
		if err == nil || !failure.Marked(err) || len(err.Error()) > 1200 {
			t.Errorf("status %d, %q: %v", status, text, err)
		}
	})
}
