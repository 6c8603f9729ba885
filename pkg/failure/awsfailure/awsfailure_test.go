package awsfailure_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/failure/awsfailure"
)

func expect(t *testing.T, err error, s failure.Scope, r failure.Reason, says ...string) {
	t.Helper()
	scope, reason := failure.Of(err)
	if !failure.Marked(err) || scope != s || reason != r {
		t.Errorf("scope %v, reason %q, want %v, %q: %v", scope, reason, s, r, err)
		return
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("does not say %q: %v", text, err)
		}
	}
}

// service makes one call to a server, as one of the services does.
type service func(ctx context.Context, cfg aws.Config) error

var services = map[string]service{
	"s3": func(ctx context.Context, cfg aws.Config) error {
		_, err := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true }).
			GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String("b"), Key: aws.String("k")})
		return err
	},
	"sqs": func(ctx context.Context, cfg aws.Config) error {
		_, err := sqs.NewFromConfig(cfg).DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: aws.String("http://q"), ReceiptHandle: aws.String("r")})
		return err
	},
	"dynamodb": func(ctx context.Context, cfg aws.Config) error {
		_, err := dynamodb.NewFromConfig(cfg).DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: aws.String("t"), Key: map[string]ddbtypes.AttributeValue{"pk": &ddbtypes.AttributeValueMemberS{Value: "x"}},
		})
		return err
	},
	"lambda": func(ctx context.Context, cfg aws.Config) error {
		_, err := lambda.NewFromConfig(cfg).Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String("f")})
		return err
	},
}

func configOf(url string) aws.Config {
	return aws.Config{
		Region: "us-east-1", BaseEndpoint: &url, Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}
}

// refuse answers as the service does.
func refuse(name string, status int, code, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if name == "s3" {
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `<Error><Code>%s</Code><Message>%s</Message></Error>`, code, message)
			return
		}
		w.Header().Set("X-Amzn-ErrorType", code)
		if name == "sqs" {
			w.Header().Set("X-Amzn-Query-Error", code+";Sender")
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"__type":%q,"message":%q}`, "com.amazonaws#"+code, message)
	}
}

func TestAnswersAreClassifiedByMeaning(t *testing.T) {
	const user = "User: arn:aws:iam::1:role/r is not authorized to perform: "
	for name, c := range map[string]struct {
		service       string
		status        int
		code, message string
		scope         failure.Scope
		reason        failure.Reason
		says          []string
	}{
		"a denied object":       {"s3", 403, "AccessDenied", user + "s3:GetObject on resource: &quot;arn:aws:s3:::b/k&quot; because", failure.Job, failure.Denied, []string{"allow s3:GetObject on arn:aws:s3:::b/k"}},
		"a denied queue":        {"sqs", 403, "AccessDenied", user + "sqs:deletemessage on resource: arn:aws:sqs:us-east-1:1:q because", failure.Job, failure.Denied, []string{"allow sqs:deletemessage on arn:aws:sqs:us-east-1:1:q"}},
		"a denied table":        {"dynamodb", 400, "AccessDeniedException", user + "dynamodb:DeleteItem on resource: arn:aws:dynamodb:us-east-1:1:table/t because", failure.Job, failure.Denied, []string{"allow dynamodb:DeleteItem on arn:aws:dynamodb:us-east-1:1:table/t"}},
		"a denied function":     {"lambda", 403, "AccessDeniedException", user + "lambda:InvokeFunction", failure.Job, failure.Denied, []string{"allow lambda:InvokeFunction"}},
		"denied without a word": {"sqs", 403, "AccessDenied", "", failure.Job, failure.Denied, []string{"role"}},
		"a key of a policy":     {"sqs", 400, "KmsAccessDenied", user + "kms:Decrypt on resource: arn:aws:kms:us-east-1:1:key/k because", failure.Job, failure.Denied, []string{"arn:aws:kms:us-east-1:1:key/k"}},
		"a disabled key":        {"lambda", 502, "KMSDisabledException", "", failure.Job, failure.Denied, []string{"KMS key"}},
		"a disabled key, S3":    {"s3", 400, "KMS.DisabledException", "", failure.Job, failure.Denied, []string{"KMS key"}},
		"a key under load":      {"sqs", 400, "KmsThrottled", "", failure.Transient, failure.RetriesExhausted, nil},
		"unknown credentials":   {"dynamodb", 400, "UnrecognizedClientException", "", failure.Job, failure.Denied, []string{"credentials"}},
		"unknown ones of SQS":   {"sqs", 403, "InvalidClientTokenId", "", failure.Job, failure.Denied, []string{"credentials"}},
		"a wrong signature":     {"lambda", 403, "InvalidSignatureException", "", failure.Job, failure.Denied, []string{"credentials"}},
		"an expired token":      {"dynamodb", 400, "ExpiredTokenException", "", failure.Transient, failure.RetriesExhausted, nil},
		"an expired one of SQS": {"sqs", 403, "ExpiredToken", "", failure.Transient, failure.RetriesExhausted, nil},
		"no bucket":             {"s3", 404, "NoSuchBucket", "", failure.Job, failure.Config, nil},
		"no queue":              {"sqs", 400, "AWS.SimpleQueueService.NonExistentQueue", "", failure.Job, failure.Config, nil},
		"no table":              {"dynamodb", 400, "ResourceNotFoundException", "", failure.Job, failure.Config, []string{"region"}},
		"no function":           {"lambda", 404, "ResourceNotFoundException", "", failure.Job, failure.Config, nil},
		"no such place":         {"sqs", 404, "", "", failure.Job, failure.Config, nil},
		"another region":        {"s3", 400, "AuthorizationHeaderMalformed", "the region is wrong; expecting 'eu-west-1'", failure.Job, failure.Config, []string{"region eu-west-1"}},
		"moved":                 {"s3", 301, "PermanentRedirect", "", failure.Job, failure.Config, []string{"region"}},
		"throttled, S3":         {"s3", 503, "SlowDown", "", failure.Transient, failure.RetriesExhausted, nil},
		"throttled, SQS":        {"sqs", 403, "RequestThrottled", "", failure.Transient, failure.RetriesExhausted, nil},
		"throttled, DynamoDB":   {"dynamodb", 400, "ProvisionedThroughputExceededException", "", failure.Transient, failure.RetriesExhausted, nil},
		"throttled, an account": {"dynamodb", 400, "ThrottlingException", "", failure.Transient, failure.RetriesExhausted, nil},
		"throttled, Lambda":     {"lambda", 429, "TooManyRequestsException", "", failure.Transient, failure.RetriesExhausted, nil},
		"too much in flight":    {"sqs", 403, "OverLimit", "", failure.Transient, failure.RetriesExhausted, nil},
		"two writers":           {"dynamodb", 400, "TransactionConflictException", "", failure.Transient, failure.RetriesExhausted, nil},
		"a fault of theirs":     {"dynamodb", 500, "InternalServerError", "", failure.Transient, failure.RetriesExhausted, nil},
		"another of theirs":     {"lambda", 500, "ServiceException", "", failure.Transient, failure.RetriesExhausted, nil},
		"a bad gateway":         {"sqs", 502, "", "", failure.Transient, failure.RetriesExhausted, nil},
		"a failed condition":    {"dynamodb", 400, "ConditionalCheckFailedException", "", failure.Unit, failure.RetriesExhausted, nil},
		"what nobody knows":     {"sqs", 400, "Whatever", "", failure.Unit, failure.RetriesExhausted, []string{"Whatever"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(refuse(c.service, c.status, c.code, c.message))
			defer s.Close()
			err := services[c.service](t.Context(), configOf(s.URL))
			expect(t, awsfailure.Classify(t.Context(), err, "do it", nil), c.scope, c.reason, append(c.says, "do it: ")...)
		})
	}
}

func TestFaultsBeforeAnyAnswerAreClassified(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	secret := httptest.NewUnstartedServer(nil)
	secret.Config.ErrorLog = log.New(io.Discard, "", 0)
	secret.StartTLS()
	defer secret.Close()
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else its end would not show
		<-r.Context().Done()
	}))
	defer slow.Close()
	cut := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer cut.Close()
	lost := func(err error) *http.Client {
		return &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, err })}
	}
	with := func(change func(*aws.Config)) aws.Config {
		cfg := configOf(gone.URL)
		change(&cfg)
		return cfg
	}
	for name, c := range map[string]struct {
		cfg    aws.Config
		scope  failure.Scope
		reason failure.Reason
		says   string
	}{
		"nobody listens":         {configOf(gone.URL), failure.Transient, failure.RetriesExhausted, ""},
		"a cut connection":       {configOf(cut.URL), failure.Transient, failure.RetriesExhausted, ""},
		"no trust":               {configOf(secret.URL), failure.Job, failure.Denied, "AWS_CA_BUNDLE"},
		"no TLS":                 {configOf("https" + cut.URL[len("http"):]), failure.Job, failure.Denied, "TLS"},
		"a name not found":       {with(func(c *aws.Config) { c.HTTPClient = lost(&net.DNSError{Err: "no such host", IsNotFound: true}) }), failure.Transient, failure.RetriesExhausted, ""},
		"a bad certificate":      {with(func(c *aws.Config) { c.HTTPClient = lost(alert("bad certificate")) }), failure.Job, failure.Denied, "TLS"},
		"half an answer":         {with(func(c *aws.Config) { c.HTTPClient = bare(io.ErrUnexpectedEOF) }), failure.Transient, failure.RetriesExhausted, ""},
		"a record with a flaw":   {with(func(c *aws.Config) { c.HTTPClient = lost(alert("bad record MAC")) }), failure.Transient, failure.RetriesExhausted, ""},
		"no credentials":         {with(func(c *aws.Config) { c.Credentials = credentials.NewStaticCredentialsProvider("", "", "") }), failure.Job, failure.Config, awsfailure.NoCredentials},
		"credentials that stall": {with(func(c *aws.Config) { c.Credentials = credential(errors.New("timeout")) }), failure.Transient, failure.RetriesExhausted, ""},
		"no region":              {aws.Config{Credentials: configOf("").Credentials}, failure.Job, failure.Config, "region"},
	} {
		for service, call := range services {
			if service == "sqs" && name == "no region" {
				continue // the queue's URL will do
			}
			t.Run(name+", "+service, func(t *testing.T) {
				err := awsfailure.Classify(t.Context(), call(t.Context(), c.cfg), "do it", nil)
				expect(t, err, c.scope, c.reason, "do it: ", c.says)
			})
		}
	}
	t.Run("a time limit of one call passes", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		err := services["sqs"](ctx, configOf(slow.URL))
		expect(t, awsfailure.Classify(t.Context(), err, "do it", nil), failure.Transient, failure.RetriesExhausted)
	})
	t.Run("a stop is nobody's fault", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		err := awsfailure.Classify(ctx, services["sqs"](ctx, configOf(slow.URL)), "do it", nil)
		if !errors.Is(err, context.DeadlineExceeded) || failure.Marked(err) {
			t.Errorf("got %v", err)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// bare is a client of HTTP that does not wrap its errors.
func bare(err error) doer {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

type doer func(*http.Request) (*http.Response, error)

func (f doer) Do(r *http.Request) (*http.Response, error) { return f(r) }

func alert(text string) error {
	return &net.OpError{Op: "remote error", Err: errors.New("tls: " + text)}
}

func credential(err error) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, err })
}

func TestASumThatDoesNotMatchMayPass(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = io.WriteString(w, `{"Successful":[{"Id":"0","MessageId":"m","MD5OfMessageBody":"00"}]}`)
	}))
	defer s.Close()
	_, err := sqs.NewFromConfig(configOf(s.URL)).SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{
		QueueUrl: &s.URL, Entries: []sqstypes.SendMessageBatchRequestEntry{{Id: aws.String("0"), MessageBody: aws.String("b")}},
	})
	expect(t, awsfailure.Classify(t.Context(), err, "send", nil), failure.Transient, failure.RetriesExhausted, "checksum")
}

func TestADriverLaysItsTableOnTop(t *testing.T) {
	table := func(a awsfailure.Answer) awsfailure.Mark {
		if a.Code == "ConditionalCheckFailedException" && a.Status == 400 && a.Message == "no" {
			return awsfailure.Mark{Scope: failure.Member, Reason: failure.ETagDrift, Hint: "try another"}
		}
		return a.Mark()
	}
	bare := &smithy.GenericAPIError{Code: "ConditionalCheckFailedException", Message: "no", Fault: smithy.FaultClient}
	err := awsfailure.Classify(t.Context(), fmt.Errorf("deeper: %w", bare), "put it", table)
	expect(t, err, failure.Member, failure.ETagDrift, "put it: ", ": try another")
	if !errors.Is(err, bare) {
		t.Error("the cause is hidden")
	}
	theirs := &smithy.GenericAPIError{Code: "Odd", Fault: smithy.FaultServer}
	expect(t, awsfailure.Classify(t.Context(), theirs, "put it", table), failure.Transient, failure.RetriesExhausted)
	expect(t, awsfailure.Classify(t.Context(), errors.New("odd"), "put it", table), failure.Unit, failure.RetriesExhausted)
	if err := awsfailure.Classify(t.Context(), nil, "put it", table); err != nil {
		t.Errorf("nothing failed, and yet %v", err)
	}
}
