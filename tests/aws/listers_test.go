package aws_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/spate-go/spate/pkg/report"
)

// atOnce runs commands that are started together.
func (s *stack) atOnce(t *testing.T, commands ...[]string) []result {
	t.Helper()
	results := make([]result, len(commands))
	var wg sync.WaitGroup
	for i, args := range commands {
		wg.Go(func() {
			var stdout, stderr bytes.Buffer
			c := s.command(t.Context(), args...)
			c.Stdout, c.Stderr = &stdout, &stderr
			_ = c.Run() // the code says it
			results[i] = result{c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
		})
	}
	wg.Wait()
	return results
}

// started is what spate job start prints.
type started struct {
	Job   string
	Run   int
	Token string
}

func TestOfTwoStartsAtOnceOneRunComes(t *testing.T) {
	s := onStack(t)
	t.Parallel()
	start := func(job, token string) []string {
		return []string{"start", job, "--url", "s3://" + s.source + "/" + job + "/", "--token", token, "-o", "json"}
	}
	t.Run("of the same token it is the same run", func(t *testing.T) {
		const job = "same-token"
		source := s.few(t, job)
		for _, r := range s.atOnce(t, start(job, "one"), start(job, "one")) {
			if r.code != 0 || into[started](t, r) != (started{job, 1, "one"}) {
				t.Errorf("%+v", r)
			}
		}
		s.complete(t, job, 1, source)
	})
	t.Run("of two tokens one is refused, and told the run", func(t *testing.T) {
		const job = "two-tokens"
		source := s.few(t, job)
		results := s.atOnce(t, start(job, "one"), start(job, "two"))
		slices.SortFunc(results, func(a, b result) int { return a.code - b.code })
		if a, b := results[0], results[1]; a.code != 0 || into[started](t, a).Run != 1 || b.code != 1 || !strings.Contains(b.stderr, "run 1") {
			t.Errorf("%+v", results)
		}
		s.complete(t, job, 1, source)
	})
}

func TestTwoListersOfOneRunListItOnce(t *testing.T) {
	s := onStack(t)
	t.Parallel()
	const job = "two-listers"
	source := s.few(t, job)
	request := map[string]any{"job": job, "url": "s3://" + s.source + "/" + job + "/", "token": "one", "detach": true}
	if _, err := s.call(t, "lister", request); err != nil {
		t.Fatal(err)
	}
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = s.call(t, "lister", map[string]any{"job": job, "run": 1}) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	s.complete(t, job, 1, source)
}

// call calls a function; it may be called by any goroutine of the test.
func (s *stack) call(t *testing.T, function string, request any) (string, error) {
	event, err := json.Marshal(request)
	if err != nil {
		return "", err
	}
	out, err := s.functions.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String(s.name + "-" + function), Payload: event})
	if err == nil && out.FunctionError != nil {
		err = fmt.Errorf("%s: %s", function, out.Payload)
	}
	if err != nil {
		return "", err
	}
	return string(out.Payload), nil
}

// few is a source of a few units.
func (s *stack) few(t *testing.T, job string) []object {
	t.Helper()
	source := []object{ranges(t, job+"/0.ndjson", 2)}
	for n := range 130 {
		source = append(source, ndjson(t, fmt.Sprintf("%s/small/%03d.ndjson.gz", job, n), 5))
	}
	s.put(t, source...)
	return source
}

// complete waits for the run's end: completed, of the source's rows exactly.
func (s *stack) complete(t *testing.T, job string, run int, source []object) {
	t.Helper()
	r := s.watch(t, 0, job)
	if r.State != report.Completed || r.Run != run || r.Objects.Done != int64(len(source)) || r.Units.Done != r.Units.Planned ||
		r.Records != records(source) {
		t.Errorf("report %+v", r)
	}
	if items := s.items(t, job); len(items) != r.Units.Planned {
		t.Errorf("%d units in the ledger, %d are planned", len(items), r.Units.Planned)
	}
	exactly(t, s.delivered(t, job), source...)
}
