package function

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/object/memobject"
)

const pipeline = `
pipeline: {name: p}
source: {s3: {url: "s3://bucket/in/"}}
feed: {sqs: {}}
sink: {blackhole: {}}
`

// world is a lister function over drivers in memory.
type world struct {
	listing
	t         *testing.T
	bucket    *memobject.Bucket
	sent      []feed.Message
	finalized []string
	halts     []ledger.Halt
}

func newWorld(t *testing.T, sets ...string) *world {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipeline.yaml")
	if err := os.WriteFile(path, []byte(pipeline), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := app.Load(path, sets, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, bucket: new(memobject.Bucket)}
	for _, key := range []string{"in/a", "in/b", "other/c"} {
		w.bucket.Put(key, []byte("{}\n"))
	}
	w.listing = listing{
		setup:    setup{config: c, pipeline: app.Pipeline{Source: w.bucket}, log: slog.New(slog.DiscardHandler)},
		ledger:   memledger.NewShared(),
		sender:   w,
		finalize: func(_ context.Context, job string) error { w.finalized = append(w.finalized, job); return nil },
		halted: func(_ context.Context, _ string, _ int, h ledger.Halt) error {
			w.halts = append(w.halts, h)
			return nil
		},
	}
	return w
}

func (w *world) Send(_ context.Context, ms ...feed.Message) error {
	w.sent = append(w.sent, ms...)
	return nil
}

func (w *world) asked(r control.ListRequest) control.ListAnswer {
	w.t.Helper()
	a, err := w.handle(w.t.Context(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func (w *world) refused(r control.ListRequest, want string) {
	w.t.Helper()
	if a, err := w.handle(w.t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
		w.t.Errorf("%+v: %+v, error %v, want one with %q", r, a, err, want)
	}
}

func TestARequestStartsAJobAndListsIt(t *testing.T) {
	w := newWorld(t)
	if a := w.asked(control.ListRequest{Job: "j"}); a != (control.ListAnswer{Job: "j", Run: 1, State: ledger.Running}) {
		t.Errorf("answer %+v", a)
	}
	if len(w.sent) != 1 || len(w.finalized) != 1 || w.finalized[0] != "j" {
		t.Errorf("sent %d, asked for the end of %v", len(w.sent), w.finalized)
	}
}

func TestADetachedStartListsNothingUntilItIsToldTo(t *testing.T) {
	w := newWorld(t)
	if a := w.asked(control.ListRequest{Job: "j", Detach: true}); a != (control.ListAnswer{Job: "j", Run: 1, State: ledger.Listing}) || len(w.sent) > 0 {
		t.Errorf("answer %+v, sent %d", a, len(w.sent))
	}
	if a := w.asked(control.ListRequest{Job: "j", Run: 1}); a.State != ledger.Running || len(w.sent) != 1 {
		t.Errorf("answer %+v, sent %d", a, len(w.sent))
	}
}

func TestTheSourceOfARequestIsTheJobs(t *testing.T) {
	w := newWorld(t)
	w.asked(control.ListRequest{Job: "j", Detach: true, Selection: control.Selection{URL: "s3://bucket/in/", Include: []string{"a"}}})
	w.asked(control.ListRequest{Job: "j", Run: 1})
	if len(w.sent) != 1 || strings.Contains(string(w.sent[0].Body), "in/b") {
		t.Errorf("sent %+v", w.sent)
	}
}

func TestRequestsThatStartNothing(t *testing.T) {
	w := newWorld(t)
	w.refused(control.ListRequest{}, `job ""`)
	w.refused(control.ListRequest{Job: "a/b"}, `job "a/b"`)
	w.refused(control.ListRequest{Job: "j", Selection: control.Selection{URL: "ftp://x"}}, "ftp://x")
	w.refused(control.ListRequest{Job: "j", Selection: control.Selection{Exclude: []string{strings.Repeat("x", ledger.MaxSource)}}}, "of at most 2048")
	w.refused(control.ListRequest{Job: "j", Run: 1}, "no such job")
	w.asked(control.ListRequest{Job: "j", Detach: true})
	w.refused(control.ListRequest{Job: "j"}, "run 1 is listing")
}

func TestAnEventThatIsRepeatedIsTheSameStart(t *testing.T) {
	w := newWorld(t)
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "one"})
	for range 2 {
		if a, err := w.handle(ctx, control.ListRequest{Job: "j", Detach: true}); err != nil || a.Run != 1 {
			t.Errorf("%+v, %v", a, err)
		}
	}
	w.asked(control.ListRequest{Job: "k", Token: "t", Detach: true})
	w.asked(control.ListRequest{Job: "k", Token: "t", Detach: true})
}

func TestWhoComesLateDoesNothing(t *testing.T) {
	w := newWorld(t)
	w.asked(control.ListRequest{Job: "j"})
	n := len(w.sent)
	for _, run := range []int{1, 2} { // listed already; not there yet
		if a := w.asked(control.ListRequest{Job: "j", Run: run}); a.Run != 1 || a.State != ledger.Running || len(w.sent) != n {
			t.Errorf("run %d: %+v, %d sent", run, a, len(w.sent)-n)
		}
	}
	w.asked(control.ListRequest{Job: "k", Detach: true})
	if _, err := w.ledger.Lease(t.Context(), ledger.Lease{Job: "k", Run: 1, Holder: "another"}); err != nil {
		t.Fatal(err)
	}
	if a := w.asked(control.ListRequest{Job: "k", Run: 1}); a.State != ledger.Listing || len(w.sent) != n {
		t.Errorf("while another lists: %+v, %d sent", a, len(w.sent)-n)
	}
}

func TestAListerOfAnotherConfigurationHaltsTheJobWithBothDigests(t *testing.T) {
	w := newWorld(t)
	w.asked(control.ListRequest{Job: "j", Detach: true})
	before, err := w.ledger.Meta(t.Context(), "j")
	if err != nil {
		t.Fatal(err)
	}
	other := newWorld(t, "source.s3.target=1MiB")
	other.ledger = w.ledger
	other.asked(control.ListRequest{Job: "j", Run: 1})
	m, err := w.ledger.Meta(t.Context(), "j")
	if err != nil || m.Halt == nil || m.Halt.Reason != failure.Fingerprint || !strings.Contains(m.Halt.Detail, before.Digests.Plan) {
		t.Fatalf("meta %+v, error %v", m, err)
	}
	if len(other.halts) != 1 || len(other.sent) > 0 {
		t.Errorf("told of %v, sent %d", other.halts, len(other.sent))
	}
	t.Run("and one that comes after leaves the halted job alone", func(t *testing.T) {
		if w.asked(control.ListRequest{Job: "j", Run: 1}); len(w.sent) > 0 || len(w.halts) > 0 {
			t.Errorf("sent %d, told of %v", len(w.sent), w.halts)
		}
	})
}

func TestAFileThatDoesNotSuitTheJobAnyMoreHaltsIt(t *testing.T) {
	w := newWorld(t)
	w.asked(control.ListRequest{Job: "j", Detach: true, Selection: control.Selection{URL: "s3://bucket/"}})
	other := newWorld(t, "rejects.url=s3://bucket/rejects/")
	other.ledger = w.ledger
	other.asked(control.ListRequest{Job: "j", Run: 1})
	if len(other.halts) != 1 || other.halts[0].Reason != failure.Config || !strings.Contains(other.halts[0].Detail, "rejects.url") {
		t.Errorf("told of %+v", other.halts)
	}
}

func TestAJobIsListedWhileItsSinkIsDown(t *testing.T) {
	for reason, want := range map[failure.Reason]ledger.State{failure.SinkDown: ledger.Running, failure.Denied: ledger.Listing} {
		w := newWorld(t)
		w.asked(control.ListRequest{Job: "j", Detach: true})
		if _, err := w.ledger.Halt(t.Context(), "j", ledger.Halt{Reason: reason}); err != nil {
			t.Fatal(err)
		}
		if a := w.asked(control.ListRequest{Job: "j", Run: 1}); a.State != want {
			t.Errorf("%s: %+v", reason, a)
		}
	}
}

func TestAStartWaitsForTheReportOfTheRunBefore(t *testing.T) {
	for says, retires := range map[string]bool{"which comes": true, "as long as it makes sense": false} {
		t.Run(says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.asked(control.ListRequest{Job: "j"})
				if err := w.ledger.Conclude(t.Context(), "j", 1, 0, ledger.Failed); err != nil {
					t.Fatal(err)
				}
				if retires {
					time.AfterFunc(3*time.Second, func() {
						if err := w.ledger.Retire(context.Background(), "j", 1, 0); err != nil {
							t.Error(err)
						}
					})
				}
				began := time.Now()
				a, err := w.handle(t.Context(), control.ListRequest{Job: "j", Detach: true})
				switch took := time.Since(began); {
				case retires && (err != nil || a.Run != 2 || took < 3*time.Second):
					t.Errorf("%+v, %v after %v", a, err, took)
				case !retires && (err == nil || !strings.Contains(err.Error(), "run 1 is failed and not reported yet") || took > time.Minute):
					t.Errorf("%+v, %v after %v", a, err, took)
				}
			})
		})
	}
}

func TestAListingGoesOnInTheNextInvocation(t *testing.T) {
	w := newWorld(t)
	w.bucket.PageSize = 1
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(time.Second)) // less than what is kept in reserve
	defer cancel()
	a, err := w.handle(ctx, control.ListRequest{Job: "j"})
	if err != nil || a.State != ledger.Listing || len(w.finalized) > 0 {
		t.Fatalf("%+v, %v, finalized %v", a, err, w.finalized)
	}
}

func TestAFailureToAskForTheEndIsAnError(t *testing.T) {
	w := newWorld(t)
	w.finalize = func(context.Context, string) error { return errors.New("no finalizer") }
	w.refused(control.ListRequest{Job: "j"}, "no finalizer")
}

func TestARequestIsReadAsItIsDocumented(t *testing.T) {
	var r control.ListRequest
	err := json.Unmarshal([]byte(`{"job":"j","run":2,"url":"s3://b/","include":["i"],"exclude":["e"],"start_after":"k","token":"t","task_token":"tt","detach":true}`), &r)
	if err != nil {
		t.Fatal(err)
	}
	if r.Job != "j" || r.Run != 2 || r.URL != "s3://b/" || r.Include[0] != "i" || r.Exclude[0] != "e" ||
		r.StartAfter != "k" || r.Token != "t" || r.TaskToken != "tt" || !r.Detach {
		t.Errorf("%+v", r)
	}
}

func TestAStartThatNamesNoJobIsOfThePipelinesOwn(t *testing.T) {
	for set, want := range map[string]string{"job={}": "p", "job={name: q}": "q"} {
		w := newWorld(t, set)
		if a := w.asked(control.ListRequest{Token: "t", Detach: true}); a.Job != want || a.Run != 1 {
			t.Errorf("%s: %+v", set, a)
		}
		w.refused(control.ListRequest{}, "a name has")                   // an event of something else
		w.refused(control.ListRequest{Token: "t", Run: 1}, "a name has") // a run is of a job
	}
}

func TestAStartOfAJobThatRunsSaysHowToEndIt(t *testing.T) {
	w := newWorld(t)
	if _, err := w.handle(t.Context(), control.ListRequest{Job: "j", Token: "a", Detach: true}); err != nil {
		t.Fatal(err)
	}
	_, err := w.handle(t.Context(), control.ListRequest{Job: "j", Token: "b", Detach: true})
	if !errors.Is(err, ledger.ErrActive) || !strings.HasSuffix(err.Error(), "run 1 is listing: job is active: wait until it has ended, or end it with spate job cancel j") {
		t.Errorf("got %v", err)
	}
}
