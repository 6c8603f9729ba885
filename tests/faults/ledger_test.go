package faults_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/tests/lambdakit"
)

// Each function gets the answer at each of its first calls that match.
func TestATableThatFailsForAWhileIsAskedAgain(t *testing.T) {
	t.Parallel()
	anything := func(c lambdakit.Call) bool { return c.Service == "dynamodb" }
	writes := call("dynamodb", "UpdateItem", "TransactWriteItems")
	conflict := jsonSays(400, `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
		"message":"Transaction cancelled","CancellationReasons":[{"Code":"TransactionConflict","Message":"conflict"},{"Code":"None"}]}`)
	for name, c := range map[string]struct {
		match func(lambdakit.Call) bool
		f     lambdakit.Fault
		times int
	}{
		"throttled":                 {anything, dynamoSays(400, "ProvisionedThroughputExceededException"), 4},
		"500":                       {anything, dynamoSays(500, "InternalServerError"), 4},
		"no answer":                 {anything, lambdakit.Fault{Before: true}, 4},
		"answers of writes lost":    {writes, lambdakit.Fault{After: true}, 4},
		"a transaction in conflict": {call("dynamodb", "TransactWriteItems"), conflict, 5},
		"an item in conflict":       {call("dynamodb", "UpdateItem"), dynamoSays(400, "TransactionConflictException"), 5},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrial(t)
			w := tr.listing(newWrong(c.times, c.match, c.f))
			r := tr.reading(newWrong(c.times, c.match, c.f))
			f := tr.finalizing(newWrong(c.times, c.match, c.f))
			tr.listed("a")
			tr.poll()
			tr.schedule()
			tr.completes("a")
			tr.exact()
			tr.unburnt("a", 1)
			w.was(t, int64(c.times))
			if name != "a transaction in conflict" { // a unit that goes well takes none
				r.was(t, int64(c.times))
				f.was(t, 1)
			}
		})
	}
}

// A batch that is throttled says so by leaving keys unprocessed.
func TestKeysThatStayUnprocessedAreAskedForAgain(t *testing.T) {
	tr := newTrial(t)
	w := newWrong(3, call("dynamodb", "BatchGetItem"), lambdakit.Fault{})
	w.answer = func(c lambdakit.Call) lambdakit.Fault {
		var asked struct{ RequestItems json.RawMessage }
		if err := json.Unmarshal(c.Body, &asked); err != nil {
			t.Error(err)
		}
		return jsonSays(200, fmt.Sprintf(`{"Responses":{},"UnprocessedKeys":%s}`, asked.RequestItems))
	}
	tr.reading(newWrong(always, call("lambda", "POST"), lambdaSays(403, "AccessDeniedException"))) // who else ends the job
	tr.listed("a")
	tr.poll()
	tr.emptied("a")
	tr.finalizing(w)
	if o := tr.tick(); !o.OK() {
		t.Errorf("tick: %+v", o)
	}
	w.was(t, 3)
	if m := tr.until("a", "known", func(ledger.Meta) bool { return true }); m.State != ledger.Completed {
		t.Errorf("the job is %s after a tick", m.State)
	}
	tr.exact()
}

// Readers that may not write cannot even say so: their messages fail without an
// attempt, into the dead-letter queue, while their units stay open. Once they may,
// the schedule sends these again.
func TestReadersThatMayNotWriteUseUpNoUnit(t *testing.T) {
	tr := newTrial(t)
	w := tr.reading(newWrong(always, call("dynamodb", "UpdateItem"), dynamoSays(400, "AccessDeniedException")))
	tr.listed("a")
	tr.poll()
	tr.drained(tr.Feed)
	c, err := tr.ledger.Prove(t.Context(), "a", 1)
	if err != nil || c.Open == 0 || c.Dead+c.Done > 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if log := tr.log(); !strings.Contains(log, "dynamodb:UpdateItem on table "+tr.Name) {
		t.Error("no line names action and table")
	}
	w.mend()
	tr.schedule()
	tr.completes("a")
	tr.exact()
}
