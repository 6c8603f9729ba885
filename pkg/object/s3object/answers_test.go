package s3object_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spate-go/spate/pkg/awsconfig/awstest"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/object/s3object"
	"github.com/spate-go/spate/pkg/unit"
)

const digits = "0123456789"

var listed = unit.Object{Key: "logs/k", Size: int64(len(digits)), ETag: `"e1"`}

// refuse answers as S3 does.
func refuse(status int, code, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
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
		"gone":                   {404, "NoSuchKey", "The specified key does not exist.", failure.Member, failure.NotFound, []string{`"s3://bucket/logs/k"`}},
		"its version gone":       {404, "NoSuchVersion", "", failure.Member, failure.NotFound, nil},
		"a delete marker":        {405, "MethodNotAllowed", "", failure.Member, failure.NotFound, nil},
		"no such bucket":         {404, "NoSuchBucket", "", failure.Job, failure.Config, []string{"bucket's name"}},
		"replaced":               {412, "PreconditionFailed", "", failure.Member, failure.ETagDrift, []string{"overwritten"}},
		"shorter":                {416, "InvalidRange", "", failure.Member, failure.ETagDrift, nil},
		"archived":               {403, "InvalidObjectState", "", failure.Member, failure.Archived, []string{"restore"}},
		"denied":                 {403, "AccessDenied", "Access Denied", failure.Job, failure.Denied, []string{"allow s3:GetObject on arn:aws:s3:::bucket/logs/k; ", "missing", "allow s3:ListBucket on arn:aws:s3:::bucket, "}},
		"unknown caller":         {401, "Unauthorized", "", failure.Job, failure.Denied, nil},
		"unknown access key":     {403, "InvalidAccessKeyId", "", failure.Job, failure.Denied, nil},
		"no use of the KMS key":  {403, "AccessDenied", "User: arn:aws:iam::1:user/u is not authorized to perform: kms:Decrypt on resource: arn:aws:kms:us-east-1:111122223333:key/1a2b-3c because", failure.Job, failure.Denied, []string{"allow kms:Decrypt on arn:aws:kms:us-east-1:111122223333:key/1a2b-3c"}},
		"no policy":              {403, "AccessDenied", "User: arn:aws:iam::1:user/u is not authorized to perform: s3:GetObject on resource: arn:aws:s3:::kms-bucket/k because no identity-based policy allows the s3:GetObject action", failure.Job, failure.Denied, []string{"allow s3:GetObject on"}},
		"a KMS key out of reach": {403, "AccessDenied", "The ciphertext refers to a customer master key that does not exist, does not exist in this region, or you are not allowed to access.", failure.Job, failure.Denied, []string{"allow kms:Decrypt on the KMS key"}},
		"a disabled KMS key":     {400, "KMS.DisabledException", "arn:aws:kms:us-east-1:1:key/1 is disabled", failure.Job, failure.Denied, []string{"key/1"}},
		"moved":                  {301, "PermanentRedirect", "", failure.Job, failure.Config, []string{"region eu-west-1: set region in its section, or AWS_REGION"}},
		"signed for elsewhere":   {400, "AuthorizationHeaderMalformed", "the region is wrong; expecting 'eu-west-1'", failure.Job, failure.Config, []string{"region eu-west-1: set region in its section, or AWS_REGION"}},
		"too long a key":         {400, "KeyTooLongError", "", failure.Member, failure.InvalidKey, nil},
		"slow down":              {503, "SlowDown", "", failure.Transient, failure.RetriesExhausted, nil},
		"an error of theirs":     {500, "InternalError", "", failure.Transient, failure.RetriesExhausted, nil},
		"a bad gateway":          {502, "", "", failure.Transient, failure.RetriesExhausted, nil},
		"too many requests":      {429, "TooManyRequests", "", failure.Transient, failure.RetriesExhausted, nil},
		"an expired token":       {400, "ExpiredToken", "", failure.Transient, failure.RetriesExhausted, nil},
		"a clock that is off":    {403, "RequestTimeTooSkewed", "", failure.Transient, failure.RetriesExhausted, nil},
		"a new bucket":           {307, "TemporaryRedirect", "", failure.Transient, failure.RetriesExhausted, nil},
		"another bad request":    {400, "InvalidRequest", "", failure.Unit, failure.RetriesExhausted, nil},
		"an invalid token":       {400, "InvalidToken", "", failure.Job, failure.Denied, nil},
		"an invalid bucket name": {400, "InvalidBucketName", "", failure.Job, failure.Config, nil},
	} {
		for way, server := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				calls := 0
				answer := refuse(c.status, c.code, c.message)
				b := server(t, s3object.Options{}, func(w http.ResponseWriter, r *http.Request) { calls++; answer(w, r) })
				_, err := b.Pin(listed).ReadRange(t.Context(), 0, 5)
				expect(t, err, c.scope, c.reason, append(c.says, "logs/k")...)
				if text := err.Error(); strings.Contains(text, "kms:") && strings.Contains(text, "the key is missing") {
					t.Errorf("it speaks of two keys: %v", err)
				}
				if calls > 1 && (way == sdk || c.status == 404 || c.status == 412 || c.status == 416 || c.status == 429 || c.status >= 500) {
					t.Errorf("%d requests: the reader is who retries", calls)
				}
				if calls > 2 || calls == 1 && way == direct && c.status < 404 {
					t.Errorf("%d requests: what may be wrong with the request is the SDK's to find out, once", calls)
				}
			})
		}
	}
}

func TestReadingAVersionNeedsAnActionOfItsOwn(t *testing.T) {
	o := listed
	o.Version = "v7"
	for way, server := range ways {
		t.Run(way, func(t *testing.T) {
			_, err := server(t, s3object.Options{}, refuse(403, "AccessDenied", "no")).Pin(o).ReadRange(t.Context(), 0, 5)
			expect(t, err, failure.Job, failure.Denied, "allow s3:GetObjectVersion on arn:aws:s3:::bucket/logs/k; ")
		})
	}
}

func TestAListingThatIsRefusedStopsTheJobOrPasses(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		code   string
		scope  failure.Scope
		reason failure.Reason
		says   string
	}{
		"denied":         {403, "AccessDenied", failure.Job, failure.Denied, "allow s3:ListBucket on arn:aws:s3:::bucket"},
		"no such bucket": {404, "NoSuchBucket", failure.Job, failure.Config, "bucket"},
		"no such place":  {404, "", failure.Job, failure.Config, "endpoint"},
		"moved":          {301, "PermanentRedirect", failure.Job, failure.Config, "eu-west-1"},
		"unwell":         {503, "SlowDown", failure.Transient, failure.RetriesExhausted, "logs/"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := bySDK(t, s3object.Options{}, refuse(c.status, c.code, "")).List(t.Context(), "")
			expect(t, err, c.scope, c.reason, c.says)
			if strings.Contains(err.Error(), "GetObject") || strings.Contains(err.Error(), "the key is missing") {
				t.Errorf("it speaks of reading: %v", err)
			}
		})
	}
}

// Each answer is a success by its status, and none is what was asked for.
func TestAnAnswerThatIsNotWhatWasAskedForIsRefused(t *testing.T) {
	type answer struct {
		status       int
		etag, range_ string
		length       int
	}
	for name, c := range map[string]struct {
		off, n int64
		answer answer
		scope  failure.Scope
		reason failure.Reason
	}{
		"all instead of a range":           {2, 3, answer{200, `"e1"`, "", 10}, failure.Transient, failure.RetriesExhausted},
		"a range that begins elsewhere":    {2, 3, answer{206, `"e1"`, "bytes 1-4/10", 3}, failure.Transient, failure.RetriesExhausted},
		"a range that ends elsewhere":      {2, 3, answer{206, `"e1"`, "bytes 2-5/10", 3}, failure.Transient, failure.RetriesExhausted},
		"a range of no form":               {2, 3, answer{206, `"e1"`, "lines 2-4", 3}, failure.Transient, failure.RetriesExhausted},
		"a range of another length":        {2, 3, answer{206, `"e1"`, "bytes 2-4/10", 2}, failure.Transient, failure.RetriesExhausted},
		"a range of an object that grew":   {2, 3, answer{206, `"e1"`, "bytes 2-4/11", 3}, failure.Member, failure.ETagDrift},
		"a range instead of all":           {0, 10, answer{206, `"e1"`, "bytes 0-8/10", 9}, failure.Transient, failure.RetriesExhausted},
		"an object that shrank":            {0, 10, answer{200, `"e1"`, "", 9}, failure.Member, failure.ETagDrift},
		"an object that is empty now":      {0, 10, answer{200, `"e1"`, "", 0}, failure.Member, failure.ETagDrift},
		"an object that grew":              {0, 10, answer{200, `"e1"`, "", 11}, failure.Member, failure.ETagDrift},
		"another object, If-Match dropped": {0, 10, answer{200, `"e2"`, "", 10}, failure.Member, failure.ETagDrift},
		"a range of another object":        {2, 3, answer{206, `"e2"`, "bytes 2-4/10", 3}, failure.Member, failure.ETagDrift},
	} {
		for way, server := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				b := server(t, s3object.Options{}, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("ETag", c.answer.etag)
					if c.answer.range_ != "" {
						w.Header().Set("Content-Range", c.answer.range_)
					}
					w.Header().Set("Content-Length", fmt.Sprint(c.answer.length))
					w.WriteHeader(c.answer.status)
					_, _ = w.Write(make([]byte, c.answer.length))
				})
				_, err := b.Pin(listed).ReadRange(t.Context(), c.off, c.n)
				expect(t, err, c.scope, c.reason, "logs/k")
			})
		}
	}
}

func TestTheBodyOfARefusedAnswerIsClosed(t *testing.T) {
	api := &fixed{}
	_, err := s3object.New(api, "bucket", "", s3object.Options{}).Pin(listed).ReadRange(t.Context(), 2, 3)
	if expect(t, err, failure.Transient, failure.RetriesExhausted); !api.closed {
		t.Error("it is open")
	}
}

// fixed answers every GET with a body and nothing else.
type fixed struct {
	s3object.API
	closed bool
}

func (f *fixed) GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	return &s3.GetObjectOutput{Body: f}, nil
}

func (f *fixed) Read([]byte) (int, error) { return 0, io.EOF }

func (f *fixed) Close() error { f.closed = true; return nil }

// serve answers like S3, and breaks the n-th body after cut bytes.
func serve(data string, breaks func(n int) (cut int, broken bool)) http.HandlerFunc {
	n := 0
	return func(w http.ResponseWriter, r *http.Request) {
		body, first, last := data, 0, len(data)-1
		w.Header().Set("ETag", `"e1"`)
		if rng := r.Header.Get("Range"); rng != "" {
			_, _ = fmt.Sscanf(rng, "bytes=%d-%d", &first, &last)
			body = data[first : last+1]
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, len(data)))
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		if w.Header().Get("Content-Range") != "" {
			w.WriteHeader(http.StatusPartialContent)
		}
		cut, broken := breaks(n)
		n++
		if !broken {
			_, _ = io.WriteString(w, body)
			return
		}
		_, _ = io.WriteString(w, body[:min(cut, len(body))])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func TestABodyThatBreaksOffIsResumedUnderTheSamePin(t *testing.T) {
	for way, server := range ways {
		for cut := range len(digits) {
			var ranges []string
			inner := serve(digits, func(n int) (int, bool) { return cut, n == 0 })
			b := server(t, s3object.Options{}, func(w http.ResponseWriter, r *http.Request) {
				ranges = append(ranges, r.Header.Get("Range"))
				if m := r.Header.Get("If-Match"); m != `"e1"` {
					t.Errorf("If-Match: %s", m)
				}
				inner(w, r)
			})
			retries := new(metric.Value)
			r := object.NewReader(t.Context(), b, []object.Part{{Object: listed, End: listed.Size}}, object.Options{BackoffBase: 1, GetRetries: retries})
			if err := r.Next(); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if err != nil || string(got) != digits || retries.Load() != 1 {
				t.Errorf("%s: cut at %d: %q, %v, %d retries", way, cut, got, err, retries.Load())
			}
			want := fmt.Sprintf("bytes=%d-9", cut)
			if cut == 0 {
				want = ""
			}
			if len(ranges) != 2 || ranges[0] != "" || ranges[1] != want {
				t.Errorf("%s: cut at %d: ranges %q", way, cut, ranges)
			}
			_ = r.Close()
		}
	}
}

func TestARequestSaysWhatItNeedsTo(t *testing.T) {
	for way, server := range ways {
		t.Run(way, func(t *testing.T) {
			var got *http.Request
			b := server(t, s3object.Options{RequestPayer: true, ExpectedBucketOwner: "111122223333"}, func(w http.ResponseWriter, r *http.Request) {
				got = r
				serve(digits, func(int) (int, bool) { return 0, false })(w, r)
			})
			o := listed
			o.Version, o.ETag = "v7", "e1" // bare, as an event has it
			body, err := b.Pin(o).ReadRange(t.Context(), 2, 3)
			if err != nil {
				t.Fatal(err)
			}
			defer body.Close()
			for name, want := range map[string]string{
				"If-Match": `"e1"`, "Range": "bytes=2-4", "Accept-Encoding": "identity", "X-Amz-Request-Payer": "requester", "X-Amz-Expected-Bucket-Owner": "111122223333",
				"X-Amz-Checksum-Mode": "",
			} {
				if v := got.Header.Get(name); v != want {
					t.Errorf("%s: %q, want %q", name, v, want)
				}
			}
			if got.URL.Query().Get("versionId") != "v7" || got.URL.Path != "/bucket/logs/k" {
				t.Errorf("URL %s", got.URL)
			}
		})
	}
}

func TestAnObjectWithoutAnETagIsPinnedToTheFirstOneSeen(t *testing.T) {
	for way, server := range ways {
		t.Run(way, func(t *testing.T) {
			etag, matches := "e1", []string{}
			b := server(t, s3object.Options{}, func(w http.ResponseWriter, r *http.Request) {
				matches = append(matches, r.Header.Get("If-Match"))
				w.Header().Set("ETag", `"`+etag+`"`)
				w.Header().Set("Content-Range", strings.Replace(r.Header.Get("Range"), "=", " ", 1)+"/10")
				w.WriteHeader(http.StatusPartialContent)
				_, _ = io.WriteString(w, "01234")
			})
			o := listed
			o.ETag = ""
			p := b.Pin(o)
			body, err := p.ReadRange(t.Context(), 0, 5)
			if err != nil {
				t.Fatal(err)
			}
			_ = body.Close()
			etag = "e2"
			_, err = p.ReadRange(t.Context(), 5, 5)
			expect(t, err, failure.Member, failure.ETagDrift, "logs/k")
			if len(matches) != 2 || matches[0] != "" || matches[1] != `"e1"` {
				t.Errorf("If-Match: %q", matches)
			}
		})
	}
}

func TestWhatIsNoAnswerIsTransient(t *testing.T) {
	for way, server := range ways {
		t.Run("a connection that breaks off before it, "+way, func(t *testing.T) {
			b := server(t, s3object.Options{}, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
			_, err := b.Pin(listed).ReadRange(t.Context(), 0, 5)
			expect(t, err, failure.Transient, failure.RetriesExhausted, "logs/k")
		})
	}
	t.Run("one that is refused", func(t *testing.T) {
		awstest.Credentials(t)
		s := httptest.NewServer(nil)
		s.Close()
		c, err := s3object.NewClient(t.Context(), s3object.ClientOptions{Endpoint: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s3object.New(c, "bucket", "", s3object.Options{}).Pin(listed).ReadRange(t.Context(), 0, 5)
		expect(t, err, failure.Transient, failure.RetriesExhausted, "logs/k")
	})
	t.Run("half a page", func(t *testing.T) {
		b := bySDK(t, s3object.Options{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = bufio.NewWriter(w).WriteString("<ListBucketResult>")
			panic(http.ErrAbortHandler)
		})
		_, err := b.List(t.Context(), "")
		expect(t, err, failure.Transient, failure.RetriesExhausted, "logs/")
	})
}

func TestACallEndsWithItsContext(t *testing.T) {
	for way, server := range ways {
		t.Run(way, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			block := make(chan struct{})
			b := server(t, s3object.Options{}, func(http.ResponseWriter, *http.Request) { cancel(); <-block })
			defer close(block)
			begin := time.Now()
			if _, err := b.Pin(listed).ReadRange(ctx, 0, 5); err != context.Canceled || time.Since(begin) > 15*time.Second {
				t.Errorf("get: %v after %v", err, time.Since(begin))
			}
			if _, err := b.List(ctx, ""); err != context.Canceled {
				t.Errorf("list: %v", err)
			}
		})
	}
}

func TestABodyOfUnknownLengthIsTheReadersToCount(t *testing.T) {
	for way, server := range ways {
		t.Run(way, func(t *testing.T) {
			get(t, server(t, s3object.Options{}, func(w http.ResponseWriter, _ *http.Request) {
				_ = http.NewResponseController(w).Flush()
				_, _ = io.WriteString(w, digits)
			}), listed)
		})
	}
}

// expect checks an error's mark and what its text says.
func expect(t *testing.T, err error, s failure.Scope, r failure.Reason, says ...string) {
	t.Helper()
	if scope, reason := failure.Of(err); err == nil || scope != s || reason != r {
		t.Errorf("got scope %d, %s: %v; want scope %d, %s", scope, reason, err, s, r)
		return
	}
	if s != failure.Transient && failure.Is(err, failure.Transient) {
		t.Errorf("marked transient: %v", err)
	}
	for _, part := range says {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
}
