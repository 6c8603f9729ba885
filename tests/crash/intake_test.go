package crash_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/spate-go/spate/pkg/unit"
	"github.com/spate-go/spate/tests/lambdakit"
)

// What a window holds, which an intake is killed over.
const (
	messagesOfWindow = 6
	objectsOfWindow  = 6
)

// window puts objects under a name and announces them, each in a way of its own:
// small ones, one of them twice; one of unknown size; one that is cut; one whose
// version was overtaken when it was claimed, and is current again; and one that the
// same unit had read. Among them there are a body that is none, and an object of
// another bucket.
func (w *world) window(t *testing.T, name string) {
	t.Helper()
	w.put(t, name+"/a-0", 2, 0)
	w.put(t, name+"/a-1.gz", 3, 0)
	w.put(t, name+"/untold", 2, 0)
	w.put(t, name+"/large", 1200, 1<<10)
	w.put(t, name+"/back", 2, 0)
	w.write(t, name+"/old", []byte(`{"read":"before"}`+"\n"))

	n := w.notices(t, name+"/")
	l := &ledgerOf{w.ledger, live}
	r, _ := w.entered(t, l, objectOf(n["back"]), objectOf(n["old"]))
	l.passed(t, r, 0, objectOf(n["back"]))

	untold, elsewhere := n["untold"], n["a-0"]
	untold.Size, untold.ETag = -1, ""
	elsewhere.Bucket = "another"
	w.announce(t,
		lambdakit.FromS3(n["a-0"], n["a-1.gz"]),
		lambdakit.FromEventBridge(n["a-0"]),
		lambdakit.ThroughSNS(lambdakit.FromS3(untold, elsewhere)),
		lambdakit.FromEventBridge(n["large"]),
		lambdakit.FromS3(n["old"], n["back"]),
		garbage(name))
}

func garbage(name string) string { return "no notification of " + name }

func objectOf(n lambdakit.Notice) unit.Object {
	return unit.Object{Key: n.Key, Size: n.Size, ETag: n.ETag}
}

// TestIntakeKilledAtEveryCall kills intakes over a window each. What they did not
// ack comes again, to others and in other company, and that alone must bring all
// of it about: no schedule ticks.
func TestIntakeKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lambdakit.StackOptions{Visibility: 20 * time.Second}, pipeline("1MiB", ""))
	victim := w.start(t, intake, lambdakit.Options{})
	w.open(t, victim)

	var outcome lambdakit.Outcome
	m := &lambdakit.Mapping{Client: w.SQS, Queue: w.Intake, Batch: 10, Each: func(_ []types.Message, o lambdakit.Outcome) { outcome = o }}
	give := func(name string) []types.Message {
		w.window(t, name)
		ms := w.receive(t, m, messagesOfWindow)
		victim.Kill() // so that each begins as a new one
		if err := m.Give(t.Context(), victim.Function, ms); err != nil {
			t.Fatal(err)
		}
		return ms
	}
	victim.Proxy.Inject(nil)
	give("whole")
	if !well(outcome) {
		t.Fatalf("a window that nothing disturbs: %+v, %s", outcome, outcome.Response)
	}
	all := strikesByOp(victim.Proxy.Calls())

	names := []string{"whole"}
	struck := map[strike]bool{}
	var left []types.Message
	for _, s := range all {
		tr := set(victim, s)
		ms := give(s.String())
		if struck[s] = tr.struck(t, outcome); struck[s] {
			left = append(left, ms...)
		}
		names = append(names, s.String())
		t.Logf("kill %v: %v", s, tr.hit.Load())
	}
	check(t, all, 0, struck)
	w.again(t, w.Intake, left)
	w.take(t, watch{}, w.start(t, intake, lambdakit.Options{}), w.start(t, intake, lambdakit.Options{}))
	w.poll(t, hooks{}, w.start(t, reader, lambdakit.Options{}), w.start(t, reader, lambdakit.Options{}))
	w.rest(t, live, nil)

	w.checkRows(t)
	claims := w.checkClaims(t, objectsOfWindow*len(names), live)[live]
	refused := w.refused(t)
	for _, name := range names {
		if refused[garbage(name)] == 0 {
			t.Errorf("%s: the body that is none is not among the dead letters", name)
		}
		delete(refused, garbage(name))
		back := objectOf(w.notices(t, name+"/")["back"])
		if c := claims[back.ID()]; c.take != "1" {
			t.Errorf("%s: what is current again was taken %s times more", name, c.take)
		}
	}
	if len(refused) > 0 {
		t.Errorf("dead letters: %v", refused)
	}
	if letters := w.letters(t); len(letters) > 0 {
		t.Errorf("units given up: %v", letters)
	}
	t.Logf("%d kills", len(left)/messagesOfWindow)
}

// TestIntakeKilledAtTheFirstEvent kills it while it opens the job.
func TestIntakeKilledAtTheFirstEvent(t *testing.T) {
	t.Parallel()
	for _, s := range []strike{{op: "dynamodb-TransactWriteItems", at: 1}, {op: "dynamodb-TransactWriteItems", at: 1, after: true}} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, lambdakit.StackOptions{}, pipeline("1MiB", ""))
			f := w.start(t, intake, lambdakit.Options{})
			w.put(t, "a", 2, 0)
			w.announce(t, lambdakit.FromS3(w.notices(t, "")["a"]))
			tr := set(f, s)
			m := &lambdakit.Mapping{Client: w.SQS, Queue: w.Intake, Each: func(_ []types.Message, o lambdakit.Outcome) {
				if !tr.struck(t, o) {
					t.Errorf("it was not killed: %+v", o)
				}
			}}
			ms := w.receive(t, m, 1)
			if err := m.Give(t.Context(), f.Function, ms); err != nil {
				t.Fatal(err)
			}
			f.Proxy.Inject(nil)
			w.again(t, w.Intake, ms)
			w.take(t, watch{}, f)
			w.poll(t, hooks{}, w.start(t, reader, lambdakit.Options{}))
			w.rest(t, live, nil)
			w.checkRows(t)
			w.checkClaims(t, 1, live)
		})
	}
}
