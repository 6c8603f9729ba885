package function

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
)

// fakeAWS answers calls in the place of AWS and keeps what it was asked.
type fakeAWS struct {
	answers map[string]string // by operation; "" is an empty success, what begins with ! an error's type
	asked   []string          // operation and body
}

func (a *fakeAWS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	body, _ := io.ReadAll(r.Body) // what is cut short fails the comparison
	a.asked = append(a.asked, op+" "+string(body))
	answer := a.answers[op]
	if kind, ok := strings.CutPrefix(answer, "!"); ok {
		w.Header().Set("X-Amzn-ErrorType", kind)
		w.WriteHeader(http.StatusBadRequest)
		answer = `{"message":"as the test wants"}`
	}
	_, _ = io.WriteString(w, "{"+strings.Trim(answer, "{}")+"}")
}

func serviced(t *testing.T, a *fakeAWS, env map[string]string) *services {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
	} {
		t.Setenv(name, value)
	}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	s, err := connect(t.Context(), setup{env: lookup, log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ended(state report.State) *report.Report {
	return &report.Report{Job: "j", Run: 3, State: state, Callback: "token"}
}

func TestTheEndOfAJobIsAnnounced(t *testing.T) {
	bus := map[string]string{envBus: "bus"}
	for _, c := range []struct {
		says    string
		env     map[string]string
		answers map[string]string
		report  *report.Report
		asked   []string // beginnings
		fails   string
	}{
		{"as an event and to the task that waits", bus, nil, ended(report.Completed), []string{"SendTaskSuccess", "PutEvents"}, ""},
		{"as a failure of the task", bus, nil, ended(report.Failed), []string{"SendTaskFailure", "PutEvents"}, ""},
		{"to nobody where nobody waits", nil, nil, &report.Report{Job: "j"}, nil, ""},
		{"again, where the bus did not take the event", bus, map[string]string{"PutEvents": `"Entries":[{"ErrorCode":"Throttled","ErrorMessage":"later"}]`},
			ended(report.Completed), []string{"SendTaskSuccess", "PutEvents"}, "Throttled"},
		{"to a task that waits no more", nil, map[string]string{"SendTaskSuccess": "!TaskTimedOut"}, ended(report.Completed), []string{"SendTaskSuccess"}, ""},
		{"to one that is gone", nil, map[string]string{"SendTaskFailure": "!TaskDoesNotExist"}, ended(report.Failed), []string{"SendTaskFailure"}, ""},
		{"again, where the task may not be answered, before anybody else is told", bus, map[string]string{"SendTaskSuccess": "!AccessDeniedException"}, ended(report.Completed), []string{"SendTaskSuccess"}, "AccessDenied"},
	} {
		t.Run(c.says, func(t *testing.T) {
			a := &fakeAWS{answers: c.answers}
			err := serviced(t, a, c.env).ended(t.Context(), c.report)
			if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("error %v, want %q", err, c.fails)
			}
			if len(a.asked) != len(c.asked) {
				t.Fatalf("asked %q, want %q", a.asked, c.asked)
			}
			for i, want := range c.asked {
				if !strings.HasPrefix(a.asked[i], want+" ") || strings.Contains(want, "Task") && !strings.Contains(a.asked[i], `"token"`) {
					t.Errorf("asked %q, want %s", a.asked[i], want)
				}
			}
		})
	}
}

// crowded is a report of dead units whose keys JSON escapes.
func crowded(units int) *report.Report {
	r := ended(report.Failed)
	n := r.Names()
	for range units {
		n.Dead(report.Dead{Detail: strings.Repeat("<&>", 300), Objects: []report.Object{}})
	}
	return r
}

func TestACauseNamesWhatItHasRoomFor(t *testing.T) {
	for units, want := range map[int]string{3: `"dead":[{`, 10: `"dead":[],"missing":[],"omitted":{"dead":10,"missing":0}`} {
		text, err := brief(crowded(units))
		if err != nil || len(text) > maxCause || !strings.Contains(text, want) {
			t.Errorf("%d units: %d bytes, error %v, want %s", units, len(text), err, want)
		}
	}
}

func TestAHaltIsPublished(t *testing.T) {
	a := new(fakeAWS)
	h := ledger.Halt{Reason: failure.Denied, Detail: "no s3:GetObject on b/k", At: time.Unix(0, 0).UTC()}
	if err := serviced(t, a, map[string]string{envBus: "bus"}).halted(t.Context(), "j", 2, h); err != nil {
		t.Fatal(err)
	}
	want := `{\"job\":\"j\",\"run\":2,\"reason\":\"denied\",\"detail\":\"no s3:GetObject on b/k\",\"at\":\"1970-01-01T00:00:00Z\"}`
	if len(a.asked) != 1 || !strings.Contains(a.asked[0], want) || !strings.Contains(a.asked[0], eventHalted) {
		t.Errorf("asked %q, want %s", a.asked, want)
	}
}

func TestAVariableThatIsMissingIsNamed(t *testing.T) {
	s := serviced(t, new(fakeAWS), map[string]string{envFeed: "q", envMaxReceives: "many"})
	for name, err := range map[string]error{
		envTable:       second(s.ledger()),
		envMaxReceives: second(s.feed()),
		envFinalizer:   second(s.finalize()),
		envLister:      second(s.list()),
		envReports:     second(s.reports(t.Context())),
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
