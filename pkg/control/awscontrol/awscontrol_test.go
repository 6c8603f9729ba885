package awscontrol_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/control/awscontrol"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/report"
)

// answer is what a service says to a request.
type answer struct {
	status  int
	headers map[string]string
	body    string
}

// service serves the answers in turn, the last one from then on, and keeps what
// it was asked.
func service(t *testing.T, answers ...answer) (cfg aws.Config, asked *[]*http.Request, bodies *[]string) {
	t.Helper()
	asked, bodies = new([]*http.Request), new([]string)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*asked, *bodies = append(*asked, r), append(*bodies, string(body))
		a := answers[min(len(*asked), len(answers))-1]
		for k, v := range a.headers {
			w.Header().Set(k, v)
		}
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	}))
	t.Cleanup(srv.Close)
	return aws.Config{
		Region: "us-east-1", BaseEndpoint: &srv.URL, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}, asked, bodies
}

const described = `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>logs</StackName><StackStatus>STATUS</StackStatus><Outputs>OUTPUTS</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`

func refused(code, message string) string {
	return `<ErrorResponse><Error><Type>Sender</Type><Code>` + code + `</Code><Message>` + message + `</Message></Error></ErrorResponse>`
}

func TestAStackIsFoundByItsName(t *testing.T) {
	text := strings.NewReplacer("STATUS", "UPDATE_COMPLETE", "OUTPUTS",
		`<member><OutputKey>JobTable</OutputKey><OutputValue>jobs</OutputValue></member><member><OutputKey>ListerFunction</OutputKey><OutputValue>l</OutputValue></member><member><OutputKey>Other</OutputKey><OutputValue>x</OutputValue></member>`).Replace(described)
	cfg, _, bodies := service(t, answer{200, nil, text})
	got, err := awscontrol.Find(t.Context(), cloudformation.NewFromConfig(cfg), "logs")
	if err != nil || got != (control.Stack{Table: "jobs", Lister: "l"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if len(*bodies) != 1 || !strings.Contains((*bodies)[0], "StackName=logs") {
		t.Errorf("asked %q", *bodies)
	}
}

func TestAStackThatIsNoneSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		a     answer
		want  string
		scope failure.Scope // 0: not marked
		is    error
	}{
		"there is none of the name": {answer{400, nil, refused("ValidationError", "Stack with id logs does not exist")},
			"no such stack: logs: check its name, AWS_REGION and AWS_PROFILE", 0, awscontrol.ErrNoStack},
		"the answer is empty": {answer{200, nil, `<DescribeStacksResponse><DescribeStacksResult><Stacks/></DescribeStacksResult></DescribeStacksResponse>`},
			"no such stack: logs", 0, awscontrol.ErrNoStack},
		"it is not made yet, or another's": {answer{200, nil, strings.NewReplacer("STATUS", "CREATE_IN_PROGRESS", "OUTPUTS", "").Replace(described)},
			"stack logs is CREATE_IN_PROGRESS and has no output JobTable", 0, nil},
		"its name is not one": {answer{400, nil, refused("ValidationError", "1 validation error detected")}, "describe stack logs: ", failure.Unit, nil},
		"it may not be looked up": {answer{403, nil, refused("AccessDenied", "User: u is not authorized to perform: cloudformation:DescribeStacks on resource: arn:aws:cloudformation:x")},
			"allow cloudformation:DescribeStacks on arn:aws:cloudformation:x", failure.Job, nil},
		"too many ask": {answer{400, nil, refused("Throttling", "Rate exceeded")}, "Rate exceeded", failure.Transient, nil},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, _, _ := service(t, c.a)
			_, err := awscontrol.Find(t.Context(), cloudformation.NewFromConfig(cfg), "logs")
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("got %v", err)
			}
			if scope, _ := failure.Of(err); failure.Marked(err) != (c.scope != 0) || c.scope != 0 && scope != c.scope {
				t.Errorf("scope %d of %v", scope, err)
			}
		})
	}
}

func TestAFunctionIsCalledAndItsAnswerGiven(t *testing.T) {
	cfg, asked, bodies := service(t, answer{200, nil, `{"run":1}`})
	body, err := awscontrol.NewFunctions(lambda.NewFromConfig(cfg)).Call(t.Context(), "lister", []byte(`{"job":"x"}`))
	if err != nil || string(body) != `{"run":1}` {
		t.Errorf("%s, %v", body, err)
	}
	r := (*asked)[0]
	if r.URL.Path != "/2015-03-31/functions/lister/invocations" || r.Header.Get("X-Amz-Invocation-Type") != "RequestResponse" || (*bodies)[0] != `{"job":"x"}` {
		t.Errorf("%s, %v, %q", r.URL, r.Header, *bodies)
	}
}

func TestAFunctionThatIsQueuedIsNotWaitedFor(t *testing.T) {
	cfg, asked, _ := service(t, answer{202, nil, ""})
	if err := awscontrol.NewFunctions(lambda.NewFromConfig(cfg)).Queue(t.Context(), "lister", []byte(`{}`)); err != nil {
		t.Error(err)
	}
	if how := (*asked)[0].Header.Get("X-Amz-Invocation-Type"); how != "Event" {
		t.Errorf("invoked as %q", how)
	}
}

func TestAnErrorOfAFunctionIsToldFromItsCrash(t *testing.T) {
	for payload, want := range map[string]control.FunctionError{
		`{"errorMessage":"job x is active","errorType":"wrapError"}`:                            {Type: "wrapError", Message: "job x is active"},
		`{"errorMessage":"boom","errorType":"string","stackTrace":[{"path":"a.go"}]}`:           {Type: "string", Message: "boom", Crashed: true},
		`{"errorMessage":"RequestId: 1 Error: Task timed out","errorType":"Sandbox.Timedout"}`:  {Type: "Sandbox.Timedout", Message: "RequestId: 1 Error: Task timed out", Crashed: true},
		`{"errorMessage":"RequestId: 1 Error: signal: killed","errorType":"Runtime.ExitError"}`: {Type: "Runtime.ExitError", Message: "RequestId: 1 Error: signal: killed", Crashed: true},
		`{"errorMessage":"2026-11-30T00:00:00Z 0a1b Task timed out after 3.00 seconds"}`:        {Message: "2026-11-30T00:00:00Z 0a1b Task timed out after 3.00 seconds", Crashed: true},
		`Task timed out after 3.00 seconds`:                                                     {Message: "Task timed out after 3.00 seconds", Crashed: true},
	} {
		cfg, _, _ := service(t, answer{200, map[string]string{"X-Amz-Function-Error": "Unhandled"}, payload})
		_, err := awscontrol.NewFunctions(lambda.NewFromConfig(cfg)).Call(t.Context(), "lister", nil)
		want.Function = "lister"
		if got, ok := errors.AsType[*control.FunctionError](err); !ok || *got != want {
			t.Errorf("%s: %+v", payload, err)
		}
	}
}

func TestACallThatReachesNoFunctionSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		a     answer
		want  string
		scope failure.Scope
	}{
		"none of the name": {answer{404, map[string]string{"X-Amzn-Errortype": "ResourceNotFoundException"}, `{"Message":"Function not found: arn:x"}`}, "invoke function lister: ", failure.Job},
		"not allowed": {answer{403, map[string]string{"X-Amzn-Errortype": "AccessDeniedException"}, `{"Message":"User: u is not authorized to perform: lambda:InvokeFunction on resource: arn:l"}`},
			"allow lambda:InvokeFunction on arn:l", failure.Job},
		"too many run":   {answer{429, map[string]string{"X-Amzn-Errortype": "TooManyRequestsException"}, `{"message":"Rate Exceeded."}`}, "Rate Exceeded", failure.Transient},
		"a service down": {answer{503, nil, `{}`}, "invoke function lister: ", failure.Transient},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, _, _ := service(t, c.a)
			_, err := awscontrol.NewFunctions(lambda.NewFromConfig(cfg)).Call(t.Context(), "lister", nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v", err)
			}
			if scope, _ := failure.Of(err); scope != c.scope {
				t.Errorf("scope %d of %v", scope, err)
			}
			if e, ok := errors.AsType[*control.FunctionError](err); ok {
				t.Errorf("it is taken for the function's own: %v", e)
			}
		})
	}
}

func TestAnInterruptedCallIsNobodysFault(t *testing.T) {
	cfg, _, _ := service(t, answer{200, nil, ""})
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	if _, err := awscontrol.NewFunctions(lambda.NewFromConfig(cfg)).Call(ctx, "lister", nil); !errors.Is(err, context.DeadlineExceeded) || failure.Marked(err) {
		t.Errorf("got %v", err)
	}
}

// silent is a function that never answers.
type silent struct{}

func (silent) Invoke(ctx context.Context, _ *lambda.InvokeInput, _ ...func(*lambda.Options)) (*lambda.InvokeOutput, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestACallThatIsNotAnsweredMayBeMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		_, err := awscontrol.NewFunctions(silent{}).Call(t.Context(), "lister", nil)
		if scope, _ := failure.Of(err); scope != failure.Transient || time.Since(begun) != time.Minute {
			t.Errorf("after %v: scope %d of %v", time.Since(begun), scope, err)
		}
	})
}

func pathStyle(o *s3.Options) { o.UsePathStyle = true }

func TestReportsAreReadUnderTheirPrefix(t *testing.T) {
	text, err := json.Marshal(report.Report{Job: "logs", Run: 2, State: report.Completed})
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"s3://b": "/b/" + report.Key("logs", 2, 1), "s3://b/p/q": "/b/p/q/" + report.Key("logs", 2, 1), "s3://b/p/": "/b/p/" + report.Key("logs", 2, 1),
	} {
		cfg, asked, _ := service(t, answer{200, nil, string(text)})
		r, err := awscontrol.NewReports(s3.NewFromConfig(cfg, pathStyle), url)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Report(t.Context(), "logs", 2, 1)
		if err != nil || got.Job != "logs" || got.Run != 2 || got.State != report.Completed || (*asked)[0].URL.Path != want {
			t.Errorf("%s: %+v, %v, asked for %s", url, got, err, (*asked)[0].URL)
		}
	}
	for _, url := range []string{"", "b/p", "s3://", "s3:///p", "https://b/p"} {
		if _, err := awscontrol.NewReports(nil, url); err == nil || !strings.Contains(err.Error(), "is not of the form s3://bucket/prefix/") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestAReportThatBreaksOffIsReadAgain(t *testing.T) {
	text, err := json.Marshal(report.Report{Job: "logs", Run: 2, State: report.Completed})
	if err != nil {
		t.Fatal(err)
	}
	half := answer{200, map[string]string{"Content-Length": fmt.Sprint(len(text))}, string(text[:len(text)/2])}
	for name, c := range map[string]struct {
		answers []answer
		asked   int
		reads   bool
	}{
		"once":     {[]answer{half, {200, nil, string(text)}}, 2, true},
		"for ever": {[]answer{half}, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, asked, _ := service(t, c.answers...)
			r, err := awscontrol.NewReports(s3.NewFromConfig(cfg, pathStyle), "s3://b/p/")
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Report(t.Context(), "logs", 2, 1)
			if (err == nil) != c.reads || c.reads && got.Job != "logs" || len(*asked) != c.asked {
				t.Errorf("%+v, %v, asked %d times", got, err, len(*asked))
			}
		})
	}
}

func TestAReportIsPutUnderThePrefix(t *testing.T) {
	cfg, asked, bodies := service(t, answer{200, nil, ""}, answer{403, nil, `<Error><Code>AccessDenied</Code><Message>User: u is not authorized to perform: s3:PutObject on resource: "arn:x"</Message></Error>`})
	r, err := awscontrol.NewReports(s3.NewFromConfig(cfg, pathStyle, func(o *s3.Options) {
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	}), "s3://b/p")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Put(t.Context(), "logs/run-1/report-0.json", []byte("{}")); err != nil || (*asked)[0].Method != http.MethodPut ||
		(*asked)[0].URL.Path != "/b/p/logs/run-1/report-0.json" || (*bodies)[0] != "{}" {
		t.Errorf("%v, %s, %q", err, (*asked)[0].URL, *bodies)
	}
	err = r.Put(t.Context(), "x", []byte("{}"))
	if scope, _ := failure.Of(err); err == nil || scope != failure.Job || !strings.Contains(err.Error(), `put "s3://b/p/x": `) || !strings.Contains(err.Error(), "allow s3:PutObject on arn:x") {
		t.Errorf("got %v", err)
	}
}

func TestAReportThatIsNotThereIsToldFromOneThatCannotBeRead(t *testing.T) {
	const failed = `<Error><Code>CODE</Code><Message>m</Message></Error>`
	for name, c := range map[string]struct {
		a    answer
		none bool
	}{
		"no such key":    {answer{404, nil, strings.Replace(failed, "CODE", "NoSuchKey", 1)}, true},
		"no such bucket": {answer{404, nil, strings.Replace(failed, "CODE", "NoSuchBucket", 1)}, false},
		"denied":         {answer{403, nil, strings.Replace(failed, "CODE", "AccessDenied", 1)}, false},
		"half a report":  {answer{200, nil, `{"job":`}, false},
		"something else": {answer{200, nil, `hello`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, _, _ := service(t, c.a)
			r, err := awscontrol.NewReports(s3.NewFromConfig(cfg, pathStyle), "s3://b/p/")
			if err != nil {
				t.Fatal(err)
			}
			_, err = r.Report(t.Context(), "logs", 2, 1)
			if err == nil || errors.Is(err, control.ErrNoReport) != c.none || !strings.Contains(err.Error(), `get "s3://b/p/`) {
				t.Errorf("got %v", err)
			}
		})
	}
}
