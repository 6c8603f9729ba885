package faults_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spate-go/spate/tests/lambdakit"
)

// always is the count of a fault that does not end by itself.
const always = 1 << 30

// wrong is a wrong response to the first n calls that match.
type wrong struct {
	match  func(lambdakit.Call) bool
	answer func(lambdakit.Call) lambdakit.Fault
	left   atomic.Int64
	given  atomic.Int64
}

func newWrong(times int, match func(lambdakit.Call) bool, f lambdakit.Fault) *wrong {
	w := &wrong{match: match, answer: func(lambdakit.Call) lambdakit.Fault { return f }}
	w.left.Store(int64(times))
	return w
}

func (w *wrong) fault(c lambdakit.Call) lambdakit.Fault {
	if !w.match(c) || w.left.Add(-1) < 0 {
		return lambdakit.Fault{}
	}
	w.given.Add(1)
	return w.answer(c)
}

// mend ends it.
func (w *wrong) mend() { w.left.Store(0) }

// was checks that it was given at least so often.
func (w *wrong) was(t *testing.T, times int64) {
	t.Helper()
	if n := w.given.Load(); n < times {
		t.Errorf("the wrong answer was given %d times, want %d", n, times)
	}
}

// What calls are.

func get(key string) func(lambdakit.Call) bool {
	return func(c lambdakit.Call) bool {
		return c.Service == "s3" && c.Op == http.MethodGet && strings.Contains(c.Path, "/"+key)
	}
}

func list(c lambdakit.Call) bool {
	return c.Service == "s3" && c.Op == http.MethodGet && strings.Contains(c.Path, "list-type=2")
}

func put(prefix string) func(lambdakit.Call) bool {
	return func(c lambdakit.Call) bool {
		return c.Service == "s3" && c.Op == http.MethodPut && strings.Contains(c.Path, "/"+prefix)
	}
}

func call(service string, ops ...string) func(lambdakit.Call) bool {
	return func(c lambdakit.Call) bool {
		for _, op := range ops {
			if c.Service == service && c.Op == op {
				return true
			}
		}
		return false
	}
}

// How services say no.

func s3Says(status int, code string) lambdakit.Fault {
	return lambdakit.Fault{
		Status: status, Header: http.Header{"Content-Type": {"application/xml"}},
		Answer: fmt.Sprintf("<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>it is said so</Message></Error>", code),
	}
}

func dynamoSays(status int, code string) lambdakit.Fault {
	return jsonSays(status, fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"it is said so"}`, code))
}

func sqsSays(status int, code string) lambdakit.Fault {
	f := jsonSays(status, fmt.Sprintf(`{"__type":"com.amazonaws.sqs#%s","message":"it is said so"}`, code))
	f.Header.Set("x-amzn-query-error", code+";Sender")
	return f
}

func lambdaSays(status int, code string) lambdakit.Fault {
	f := jsonSays(status, `{"Message":"it is said so"}`)
	f.Header.Set("X-Amzn-ErrorType", code)
	return f
}

func jsonSays(status int, body string) lambdakit.Fault {
	return lambdakit.Fault{Status: status, Answer: body, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}}
}
