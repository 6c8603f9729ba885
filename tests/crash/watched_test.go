package crash_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/tests/lambdakit"
)

// TestWhatIsWatchedHoldsNothingThatIsWritten has an intake asked to open its job, as
// bucket connect does, where what the stack writes would be announced to it
// (INV-8).
func TestWhatIsWatchedHoldsNothingThatIsWritten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		variable, more string
		says           []string
	}{
		"rows":    {"OUTPUT_URL", "", []string{"sink.s3.url"}},
		"rejects": {"REJECTS_URL", "rejects: {url: \"${REJECTS_URL}\"}\n", []string{"rejects.url"}},
		"reports": {"REPORT_URL", "", []string{"open job " + live, "its report"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, lambdakit.StackOptions{}, pipeline("1MiB", "")+c.more)
			f := w.start(t, intake, lambdakit.Options{Env: map[string]string{c.variable: "s3://" + w.Name + "/in/written/"}})
			o, err := f.Invoke(t.Context(), []byte(`{"open":true}`))
			if err != nil {
				t.Fatal(err)
			}
			if o.OK() {
				t.Errorf("the job is opened: %s", o.Response)
			}
			for _, want := range append(c.says, "written/ lies inside the source", "would be read again") {
				if said := o.Error + o.Init; !strings.Contains(said, want) {
					t.Errorf("%q is not in %s", want, said)
				}
			}
			if name == "reports" {
				unread(t, f)
			}
			if _, err := w.ledger.Meta(t.Context(), live); !errors.Is(err, ledger.ErrNoJob) {
				t.Errorf("the job is there: %v", err)
			}
		})
	}
}

// unread checks that an intake says what is wrong to who only asks, and leaves
// notifications where they are.
func unread(t *testing.T, f *function) {
	t.Helper()
	o, err := f.Invoke(t.Context(), []byte(`{}`))
	if err != nil || !strings.Contains(string(o.Response), `"refused":"its report`) {
		t.Errorf("%+v, %v", o, err)
	}
	o, err = f.Invoke(t.Context(), []byte(`{"Records":[{"messageId":"m","body":"{}"}]}`))
	if err != nil || !strings.Contains(string(o.Response), `"itemIdentifier":"m"`) {
		t.Errorf("%+v, %v", o, err)
	}
}
