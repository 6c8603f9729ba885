package s3sink_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink/s3sink"
)

// client is one of a server that answers by h.
func client(t *testing.T, h http.HandlerFunc, opt ...func(*s3.Options)) *s3.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return clientOf(server.URL, opt...)
}

func clientOf(url string, opt ...func(*s3.Options)) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: &url, UsePathStyle: true, Region: "us-east-1", Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}, opt...)
}

// refuse answers as S3 does.
func refuse(status int, code, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("X-Amz-Bucket-Region", "eu-west-1")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>%s</Message></Error>`, code, message)
	}
}

func TestRefusalsAreClassifiedByMeaning(t *testing.T) {
	for name, c := range map[string]struct {
		status        int
		code, message string
		scope         failure.Scope
		reason        failure.Reason
		says          []string
	}{
		"denied":                 {403, "AccessDenied", "Access Denied", failure.Job, failure.Denied, []string{"allow s3:PutObject on arn:aws:s3:::bucket/s3-"}},
		"unknown caller":         {401, "Unauthorized", "", failure.Job, failure.Denied, nil},
		"unknown access key":     {403, "InvalidAccessKeyId", "", failure.Job, failure.Denied, []string{"credentials"}},
		"a wrong secret":         {403, "SignatureDoesNotMatch", "", failure.Job, failure.Denied, []string{"credentials"}},
		"an invalid token":       {400, "InvalidToken", "", failure.Job, failure.Denied, nil},
		"no use of the KMS key":  {403, "AccessDenied", "User: arn:aws:iam::1:user/u is not authorized to perform: kms:GenerateDataKey on resource: arn:aws:kms:us-east-1:111122223333:key/1a2b-3c because", failure.Job, failure.Denied, []string{"allow kms:GenerateDataKey", "on arn:aws:kms:us-east-1:111122223333:key/1a2b-3c"}},
		"some KMS key":           {403, "AccessDenied", "The KMS key does not exist or is out of reach", failure.Job, failure.Denied, []string{"on the KMS key of the bucket"}},
		"no policy":              {403, "AccessDenied", "not authorized to perform: s3:PutObject on resource: arn:aws:s3:::kms-bucket/k", failure.Job, failure.Denied, []string{"allow s3:PutObject on"}},
		"a disabled KMS key":     {400, "KMS.DisabledException", "arn:aws:kms:us-east-1:1:key/1 is disabled", failure.Job, failure.Denied, []string{"key/1"}},
		"no such bucket":         {404, "NoSuchBucket", "", failure.Job, failure.Config, []string{"bucket's name"}},
		"no such place":          {404, "", "", failure.Job, failure.Config, []string{"endpoint"}},
		"no S3":                  {405, "", "", failure.Job, failure.Config, []string{"endpoint"}},
		"an invalid bucket name": {400, "InvalidBucketName", "", failure.Job, failure.Config, nil},
		"moved":                  {301, "PermanentRedirect", "", failure.Job, failure.Config, []string{"region eu-west-1"}},
		"signed for elsewhere":   {400, "AuthorizationHeaderMalformed", "the region is wrong; expecting 'eu-west-1'", failure.Job, failure.Config, []string{"region eu-west-1"}},
		"too large":              {400, "EntityTooLarge", "", failure.Unit, failure.SinkRejected, nil},
		"too long a key":         {400, "KeyTooLongError", "", failure.Unit, failure.SinkRejected, nil},
		"another bad request":    {400, "InvalidRequest", "", failure.Unit, failure.SinkRejected, nil},
		"damaged on the way":     {400, "BadDigest", "", failure.Transient, failure.RetriesExhausted, nil},
		"a body cut short":       {400, "IncompleteBody", "", failure.Transient, failure.RetriesExhausted, nil},
		"an expired token":       {400, "ExpiredToken", "", failure.Transient, failure.RetriesExhausted, nil},
		"a clock that is off":    {403, "RequestTimeTooSkewed", "", failure.Transient, failure.RetriesExhausted, nil},
		"a slow client":          {400, "RequestTimeout", "", failure.Transient, failure.RetriesExhausted, nil},
		"a new bucket":           {307, "TemporaryRedirect", "", failure.Transient, failure.RetriesExhausted, nil},
		"two at once":            {409, "OperationAborted", "", failure.Transient, failure.RetriesExhausted, nil},
		"too many requests":      {429, "TooManyRequests", "", failure.Transient, failure.RetriesExhausted, nil},
		"an upload that is gone": {404, "NoSuchUpload", "", failure.Transient, failure.RetriesExhausted, nil},
		"slow down":              {503, "SlowDown", "", failure.Transient, failure.RetriesExhausted, nil},
		"an error of theirs":     {500, "InternalError", "", failure.Transient, failure.RetriesExhausted, nil},
		"a bad gateway":          {502, "", "", failure.Transient, failure.RetriesExhausted, nil},
		"a full disk":            {507, "StorageFull", "", failure.Transient, failure.RetriesExhausted, nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := open(t, client(t, refuse(c.status, c.code, c.message)), s3sink.Options{}).Write(t.Context(), block(0, 0, "a"))
			expect(t, err, c.scope, c.reason, append(c.says, `put "s3://bucket/s3-AAAAAAAAAAAAAAAAAAAAAA-0.0-0.ndjson"`)...)
		})
	}
}

func TestFaultsBeforeAnyAnswerAreClassified(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	tls := httptest.NewUnstartedServer(nil)
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	for name, c := range map[string]struct {
		api    s3sink.API
		bucket string
		scope  failure.Scope
		reason failure.Reason
	}{
		"nobody listens": {clientOf(gone.URL), "bucket", failure.Transient, failure.RetriesExhausted},
		"no trust":       {clientOf(tls.URL), "bucket", failure.Job, failure.Denied},
		"no region":      {clientOf(gone.URL, func(o *s3.Options) { o.Region, o.BaseEndpoint = "", nil }), "bucket", failure.Job, failure.Config},
		"no credentials": {clientOf(gone.URL, func(o *s3.Options) { o.Credentials = credentials.NewStaticCredentialsProvider("", "", "") }), "bucket", failure.Job, failure.Config},
		"a connection that is cut": {client(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		}), "bucket", failure.Transient, failure.RetriesExhausted},
		"an answer that is none": {client(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = conn.Write([]byte("hello\r\n\r\n"))
				_ = conn.Close()
			}
		}), "bucket", failure.Transient, failure.RetriesExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := s3sink.New(c.api, c.bucket, s3sink.Options{})
			if err != nil {
				t.Fatal(err)
			}
			expect(t, s.Write(t.Context(), block(0, 0, "a")), c.scope, c.reason, "s3://bucket/")
		})
	}
}

func TestCompletingThatFailsUnderAGoodStatusHasFailed(t *testing.T) {
	aborted := false
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch q := r.URL.Query(); {
		case q.Has("uploads"):
			_, _ = io.WriteString(w, `<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>`)
		case r.Method == http.MethodPut:
			w.Header().Set("ETag", `"e"`)
		case r.Method == http.MethodDelete:
			aborted = true
			w.WriteHeader(http.StatusNoContent)
		default: // as S3 does when it has said 200 to keep the connection
			_, _ = io.WriteString(w, "<?xml version=\"1.0\"?>\n<Error><Code>InternalError</Code><Message>try again</Message></Error>")
		}
	})
	err := open(t, c, s3sink.Options{PartSize: 5 << 20}).Write(t.Context(), block(0, 0, strings.Repeat("y", 6<<20)))
	expect(t, err, failure.Transient, failure.RetriesExhausted, "complete upload of", "InternalError")
	if !aborted {
		t.Error("it was not aborted")
	}
}

func TestSingleRequestsAreRepeatedByTheSDK(t *testing.T) {
	calls := 0
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		if calls++; calls < 3 {
			refuse(503, "SlowDown", "")(w, r)
		} else if string(data) != "a\n" {
			t.Errorf("the last request had %q", data)
		}
	}, func(o *s3.Options) {
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = time.Millisecond })
	})
	write(t, open(t, c, s3sink.Options{}), block(0, 0, "a"))
	if calls != 3 {
		t.Errorf("%d requests", calls)
	}
}

func TestARequestCarriesItsSumAndNoEncoding(t *testing.T) {
	c := client(t, func(_ http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("X-Amz-Checksum-Crc32"); got != "3eqhBw==" {
			t.Errorf("sum %q", got)
		}
		if r.ContentLength != 2 || r.Header.Get("Content-Encoding") != "" || r.Header.Get("X-Amz-Trailer") != "" {
			t.Errorf("length %d, headers %v", r.ContentLength, r.Header)
		}
	})
	write(t, open(t, c, s3sink.Options{}), block(0, 0, "a"))
}

func TestAStopIsNoFaultOfTheStore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := client(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else its end would not show
		cancel()
		<-r.Context().Done()
	})
	err := open(t, c, s3sink.Options{}).Write(ctx, block(0, 0, "a"))
	if !errors.Is(err, context.Canceled) || failure.Marked(err) {
		t.Errorf("got %v", err)
	}
}
