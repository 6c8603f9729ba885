package crash_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/feed/sqsfeed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
	"github.com/spate-go/spate/tests/lambdakit"
)

// live is the continuous job of a world: it is called after the pipeline.
const live = "crash-live"

// open begins the continuous job, as bucket connect does.
func (w *world) open(t *testing.T, f *function) {
	t.Helper()
	f.MustInvoke(t, `{"open":true}`)
	if m := w.meta(t, live); !m.Continuous || m.Run != 1 {
		t.Fatalf("the job was not opened: %+v", m)
	}
}

// notices are those of the objects under a prefix of the source, by what is left
// of their keys.
func (w *world) notices(t *testing.T, prefix string) map[string]lambdakit.Notice {
	t.Helper()
	all := map[string]lambdakit.Notice{}
	for _, o := range w.objects(t, "in/"+prefix) {
		all[strings.TrimPrefix(o.Key, "in/"+prefix)] = lambdakit.Notice{
			Bucket: w.Name, Key: o.Key, Size: o.Size, ETag: o.ETag, At: time.Now().UTC(),
		}
	}
	return all
}

func (w *world) announce(t *testing.T, bodies ...string) {
	t.Helper()
	if err := w.Announce(t.Context(), bodies...); err != nil {
		t.Fatal(err)
	}
}

// receive takes n messages off the intake's queue, which do not come again by
// themselves. Some may have been lost on the way here, and do.
func (w *world) receive(t *testing.T, m *lambdakit.Mapping, n int) (ms []types.Message) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); len(ms) < n; {
		got, err := m.Receive(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.hide(t, w.Intake, got, 15*time.Minute)
		if ms = append(ms, got...); time.Now().After(end) {
			t.Fatalf("%d messages came, of %d", len(ms), n)
		}
	}
	return ms
}

// again makes messages due at once.
func (w *world) again(t *testing.T, queue string, ms []types.Message) {
	t.Helper()
	w.hide(t, queue, ms, 0)
}

func (w *world) hide(t *testing.T, queue string, ms []types.Message, d time.Duration) {
	t.Helper()
	for _, m := range ms {
		if _, err := w.SQS.ChangeMessageVisibility(t.Context(), &sqs.ChangeMessageVisibilityInput{
			QueueUrl: &queue, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: int32(d.Seconds()),
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// watch is told of each invocation of an intake.
type watch struct {
	before func(f *function, ms []types.Message)
	after  func(f *function, o lambdakit.Outcome)
}

// take gives what is in the intake's queue to intakes, until the test ends or stop
// is called, which waits. Where nobody watches, all of it has to go well.
func (w *world) take(t *testing.T, h watch, intakes ...*function) (stop func()) {
	t.Helper()
	return lambdakit.Poll(t, intakes, func(f *function) *lambdakit.Mapping {
		m := &lambdakit.Mapping{Client: w.SQS, Queue: w.Intake, Batch: 10}
		if h.before != nil {
			m.Before = func(ms []types.Message) { h.before(f, ms) }
		}
		m.Each = func(_ []types.Message, o lambdakit.Outcome) {
			if h.after != nil {
				h.after(f, o)
			} else if !well(o) {
				t.Errorf("intake: %+v, %s", o, o.Response)
			}
		}
		return m
	})
}

// well reports whether a batch was handled and no message of it failed.
func well(o lambdakit.Outcome) bool {
	return o.OK() && !strings.Contains(string(o.Response), "itemIdentifier")
}

// rest waits until nothing of a continuous job waits: no notification, no unit and
// no key. schedule ticks meanwhile; nil: none does.
func (w *world) rest(t *testing.T, job string, schedule *function) {
	t.Helper()
	var tick time.Time
	for end := time.Now().Add(4 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		waits, err := w.Waits(t.Context(), w.ledger, job)
		switch {
		case err != nil:
			t.Fatal(err)
		case waits == "":
			return
		case time.Now().After(end):
			t.Fatalf("job %s does not come to rest: there wait %s", job, waits)
		case schedule != nil && time.Now().After(tick):
			schedule.MustInvoke(t, "{}")
			tick = time.Now().Add(time.Second)
		}
	}
}

// keys are those that are to be looked at again.
func (w *world) keys(t *testing.T, job string) (keys []string) {
	t.Helper()
	err := w.ledger.Keys(t.Context(), job, func(k ledger.KeyTodo) error {
		keys = append(keys, k.Object.Key)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// claim is one in the table.
type claim struct {
	unit unit.ID
	take string
}

// claims are those in the table, by job and object.
func (w *world) claims(t *testing.T) map[string]map[unit.ObjectID]claim {
	t.Helper()
	jobs := map[string]map[unit.ObjectID]claim{}
	w.scan(t, "o-", func(job string, i item) {
		if jobs[job] == nil {
			jobs[job] = map[unit.ObjectID]claim{}
		}
		jobs[job][unit.ObjectID(text(i["sk"]))] = claim{unit.ID(text(i["unit"])), number(i["take"])}
	})
	return jobs
}

// checkClaims checks that so many object versions of each job are in a unit that
// is done, and that every unit is.
func (w *world) checkClaims(t *testing.T, objects int, jobs ...string) map[string]map[unit.ObjectID]claim {
	t.Helper()
	items, claims := w.items(t), w.claims(t)
	for _, job := range jobs {
		if n := len(claims[job]); n != objects {
			t.Errorf("job %s: %d object versions are claimed, of %d", job, n, objects)
		}
		for id, state := range items[job] {
			if state != string(ledger.Done) {
				t.Errorf("job %s: unit %s is %s", job, id, state)
			}
		}
		for id, c := range claims[job] {
			if items[job][c.unit] == "" {
				t.Errorf("job %s: object %s is in unit %q, which is not there", job, id, c.unit)
			}
		}
	}
	return claims
}

// entered puts a unit of the objects into a continuous job, with their claims, as
// an intake does before it sends it.
func (w *world) entered(t *testing.T, l *ledgerOf, objects ...unit.Object) (ledger.Ref, []byte) {
	t.Helper()
	u := &unit.Unit{Job: l.job, Run: 1, Bucket: w.Name, Objects: objects, Origin: unit.FromEvent}
	body, err := u.Encode()
	if err != nil {
		t.Fatal(err)
	}
	e := ledger.Entry{Job: l.job, Run: 1, Units: []ledger.Planned{{ID: u.ID(), FirstKey: objects[0].Key, Objects: len(objects), Body: body}}}
	for _, o := range objects {
		e.Claims = append(e.Claims, ledger.Claim{ID: o.ID(), Unit: u.ID(), Take: o.Take})
	}
	if held, err := l.Enter(t.Context(), e); err != nil || len(held) > 0 {
		t.Fatalf("enter %v: %v, %v", objects, held, err)
	}
	return ledger.Ref{Job: l.job, Run: 1, ID: u.ID()}, body
}

// ledgerOf is what tests enter units of a continuous job with.
type ledgerOf struct {
	ledger.Shared
	job string
}

// passed has a reader found a member of a unit overwritten, and done the unit.
func (l *ledgerOf) passed(t *testing.T, r ledger.Ref, member int, o unit.Object) {
	t.Helper()
	item, err := l.Begin(t.Context(), r, 1, 5)
	if err == nil {
		err = l.Overwritten(t.Context(), r, item.Serial, unit.Fault{Member: member, Reason: failure.ETagDrift, Detail: "overwritten"}, o)
	}
	if err == nil {
		_, err = l.Done(t.Context(), r, ledger.Counts{Overwritten: 1})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// send puts a unit into the feed.
func (w *world) send(t *testing.T, r ledger.Ref, body []byte) {
	t.Helper()
	f := sqsfeed.New(w.SQS, w.Feed, sqsfeed.Options{})
	if err := f.Send(t.Context(), feed.Message{ID: r.ID, Job: r.Job, Body: body}); err != nil {
		t.Fatal(err)
	}
}

// refused are the bodies among the intake's dead letters, each with how often it
// is there.
func (w *world) refused(t *testing.T) map[string]int {
	t.Helper()
	all := map[string]int{}
	refusals, err := w.Refusals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range refusals {
		all[r.Body]++
		if r.Reason != string(failure.UnparsableEvent) {
			t.Errorf("refused: %+v", r)
		}
	}
	return all
}
