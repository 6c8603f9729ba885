package s3object_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/auth"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object/s3object"
	"github.com/spate-go/spate/pkg/unit"
)

// fakeHTTP stands in for HTTP: it keeps what it was asked, and answers.
type fakeHTTP struct {
	mu     sync.Mutex
	asked  []*http.Request                    // guarded by mu
	answer func(*http.Request) *http.Response // nil: 200; giving nil: the connection breaks
}

func (f *fakeHTTP) Do(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, r)
	if f.answer == nil {
		return respond(r, http.StatusOK, "1"), nil
	}
	if resp := f.answer(r); resp != nil {
		return resp, nil
	}
	return nil, io.ErrUnexpectedEOF
}

func respond(r *http.Request, status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Request: r, ContentLength: int64(len(body)),
		Header: http.Header{"Content-Length": {fmt.Sprint(len(body))}, "Date": {time.Now().UTC().Format(http.TimeFormat)}},
		Body:   io.NopCloser(strings.NewReader(body)),
	}
}

func key(k string) unit.Object { return unit.Object{Key: k, Size: 1} }

var anyone = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "SECRET", SessionToken: "TOKEN"}, nil
})

// Keys that some escaping, cleaning or query has gone wrong with.
var awkward = []string{
	"k", "dir/k", "a b", "a+b", "a%41b", "100%", "x/../y", "./x", "x/.", "..", "a//b", "/a", "//a", "a/", "ctl\x01", "new\nline", "del\x7f", "what?versionId=1", "#1", "a&b=c;d",
	"~-._", "*", "!'()", "@:$,", "[1]", "{x}", `"q"`, `b\s`, "naïve/ключ/鍵", "\U0001f980", strings.Repeat("é", 512),
}

// What is sent must be what the SDK would have sent, and be what was signed.
func TestARequestIsTheSDKs(t *testing.T) {
	for name, c := range map[string]struct {
		bucket string
		opt    s3object.Options
		set    func(*s3.Options)
		url    string
	}{
		"AWS":              {"bucket", s3object.Options{}, func(*s3.Options) {}, "https://bucket.s3.eu-west-1.amazonaws.com/"},
		"path style":       {"bucket", s3object.Options{}, func(o *s3.Options) { o.UsePathStyle = true }, "https://s3.eu-west-1.amazonaws.com/bucket/"},
		"a name with dots": {"a.bucket", s3object.Options{}, func(*s3.Options) {}, "https://s3.eu-west-1.amazonaws.com/a.bucket/"},
		"FIPS and dual stack": {"bucket", s3object.Options{}, func(o *s3.Options) {
			o.EndpointOptions.UseFIPSEndpoint, o.EndpointOptions.UseDualStackEndpoint = aws.FIPSEndpointStateEnabled, aws.DualStackEndpointStateEnabled
		}, "https://bucket.s3-fips.dualstack.eu-west-1.amazonaws.com/"},
		"accelerated":      {"bucket", s3object.Options{}, func(o *s3.Options) { o.UseAccelerate = true }, "https://bucket.s3-accelerate.amazonaws.com/"},
		"an endpoint":      {"bucket", s3object.Options{}, func(o *s3.Options) { o.BaseEndpoint, o.UsePathStyle = aws.String("http://[::1]:9000"), true }, "http://[::1]:9000/bucket/"},
		"its default port": {"bucket", s3object.Options{}, func(o *s3.Options) { o.BaseEndpoint = aws.String("https://s3.example.com:443") }, "https://bucket.s3.example.com:443/"},
		"one below a path": {"bucket", s3object.Options{}, func(o *s3.Options) { o.BaseEndpoint, o.UsePathStyle = aws.String("http://h/a/b/"), true }, "http://h/a/b/bucket/"},
		"an access point": {"arn:aws:s3:us-west-2:111122223333:accesspoint/ap", s3object.Options{}, func(o *s3.Options) { o.UseARNRegion = true },
			"https://ap-111122223333.s3-accesspoint.us-west-2.amazonaws.com/"},
		"one who pays and knows the owner": {"bucket", s3object.Options{RequestPayer: true, ExpectedBucketOwner: "111122223333"}, func(*s3.Options) {}, "https://bucket.s3.eu-west-1.amazonaws.com/"},
		"nobody":                           {"bucket", s3object.Options{}, func(o *s3.Options) { o.Credentials = nil }, "https://bucket.s3.eu-west-1.amazonaws.com/"},
	} {
		t.Run(name, func(t *testing.T) {
			h := &fakeHTTP{}
			client := s3.New(s3.Options{Region: "eu-west-1", Credentials: anyone, HTTPClient: h}, c.set)
			past, through := s3object.New(client, c.bucket, "", c.opt), s3object.New(wrapped{client}, c.bucket, "", c.opt)
			get(t, past, key("model"))
			for _, k := range awkward {
				o := unit.Object{Key: k, Size: 10, ETag: `"e"`, Version: "v/+ 1="}
				h.asked = nil
				_, _ = past.Pin(o).ReadRange(t.Context(), 2, 3)
				_, _ = through.Pin(o).ReadRange(t.Context(), 2, 3)
				if len(h.asked) != 2 || ofSDK(h.asked[0]) || !ofSDK(h.asked[1]) {
					t.Fatalf("%q: %d requests", k, len(h.asked))
				}
				got, want := h.asked[0], h.asked[1]
				if !strings.HasPrefix(got.URL.String(), c.url) {
					t.Errorf("%q: URL %s", k, got.URL)
				}
				if d := cmp.Diff(essence(want), essence(got)); d != "" {
					t.Errorf("%q: %s", k, d)
				}
				if name != "nobody" {
					signed(t, got)
				} else if a := got.Header.Get("Authorization"); a != "" {
					t.Error(a)
				}
			}
		})
	}
}

// essence is what the store acts on.
func essence(r *http.Request) []string {
	e := []string{r.Method, r.URL.Scheme, r.URL.Host, r.Host, r.URL.EscapedPath(), r.URL.Query().Get("versionId")}
	for name, v := range r.Header {
		switch name {
		case "Amz-Sdk-Invocation-Id", "Amz-Sdk-Request", "X-Amz-Date":
		case "Authorization":
			scope, _, _ := strings.Cut(v[0], ",")
			e = append(e, scope)
		default:
			e = append(e, name+": "+strings.Join(v, ","))
		}
	}
	slices.Sort(e[6:])
	return e
}

// signed checks the signature as the store does: from what arrives.
func signed(t *testing.T, r *http.Request) {
	t.Helper()
	u, err := url.ParseRequestURI("http://host" + r.URL.RequestURI())
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
	list, _, _ = strings.Cut(list, ",")
	again := &http.Request{Method: r.Method, URL: u, Host: r.Host, Header: http.Header{}}
	if again.Host == "" {
		again.Host = r.URL.Host
	}
	for name, v := range r.Header {
		if slices.Contains(strings.Split(list, ";"), strings.ToLower(name)) {
			again.Header[name] = v
		}
	}
	for _, name := range []string{"If-Match", "Range", "X-Amz-Content-Sha256", "X-Amz-Date", "X-Amz-Security-Token"} {
		if again.Header.Get(name) == "" {
			t.Errorf("%s is not signed", name)
		}
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		t.Fatal(err)
	}
	c, _ := anyone.Retrieve(t.Context())
	scope := strings.Split(r.Header.Get("Authorization"), "/")
	err = v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).
		SignHTTP(t.Context(), c, again, r.Header.Get("X-Amz-Content-Sha256"), scope[3], scope[2], at)
	if got, want := r.Header.Get("Authorization"), again.Header.Get("Authorization"); err != nil || got != want {
		t.Errorf("%s is signed %s, want %s, %v", r.URL, got, want, err)
	}
}

func TestNewCredentialsSignTheNextRequest(t *testing.T) {
	n := 0
	h := &fakeHTTP{}
	client := s3.New(s3.Options{Region: "eu-west-1", HTTPClient: h, Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		n++
		return aws.Credentials{AccessKeyID: fmt.Sprint("AKID", n), SecretAccessKey: "SECRET", SessionToken: fmt.Sprint("TOKEN", n)}, nil
	})})
	b := s3object.New(client, "bucket", "", s3object.Options{})
	for i := 1; i <= 3; i++ {
		get(t, b, key("k"))
		r := h.asked[i-1]
		if !strings.Contains(r.Header.Get("Authorization"), fmt.Sprintf("AKID%d/", i)) || r.Header.Get("X-Amz-Security-Token") != fmt.Sprint("TOKEN", i) || ofSDK(r) != (i == 1) {
			t.Errorf("request %d: %v", i, r.Header)
		}
	}
}

func TestWhatOnlyTheSDKCanDoIsLeftToIt(t *testing.T) {
	hook := func(o *s3.Options) {
		o.APIOptions = append(o.APIOptions, func(*middleware.Stack) error { return nil })
	}
	for name, c := range map[string]struct {
		bucket string
		set    func(*s3.Options)
	}{
		"signatures for several regions": {"arn:aws:s3::111122223333:accesspoint/mfzwi23gnjvgw.mrap", func(*s3.Options) {}},
		"sessions":                       {"b--use1-az4--x-s3", func(*s3.Options) {}},
		"hooks":                          {"bucket", hook},
		"credentials from elsewhere": {"bucket", func(o *s3.Options) {
			o.Credentials, o.AuthSchemes = nil, []smithyhttp.AuthScheme{elsewhere{algorithm: "AWS4-HMAC-SHA256"}}
		}},
		"another algorithm":     {"bucket", func(o *s3.Options) { o.AuthSchemes = []smithyhttp.AuthScheme{elsewhere{algorithm: "AWS5"}} }},
		"a log of each request": {"bucket", func(o *s3.Options) { o.ClientLogMode = aws.LogRequest }},
	} {
		t.Run(name, func(t *testing.T) {
			h := &fakeHTTP{answer: func(r *http.Request) *http.Response {
				if r.URL.Query().Has("session") {
					return respond(r, http.StatusOK, `<CreateSessionResult><Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>S</SecretAccessKey><SessionToken>T</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></CreateSessionResult>`)
				}
				return respond(r, http.StatusOK, "1")
			}}
			b := s3object.New(s3.New(s3.Options{Region: "us-east-1", Credentials: anyone, HTTPClient: h}, c.set), c.bucket, "", s3object.Options{})
			for range 3 {
				get(t, b, key("k"))
			}
			for _, r := range h.asked {
				if !ofSDK(r) {
					t.Errorf("%s is not of the SDK", r.URL)
				}
			}
		})
	}
}

// elsewhere signs like the SDK, with what the client does not know of.
type elsewhere struct {
	auth.AnonymousIdentityResolver
	algorithm string
}

func (elsewhere) SchemeID() string { return "aws.auth#sigv4" }

func (e elsewhere) IdentityResolver(auth.IdentityResolverOptions) auth.IdentityResolver { return &e }

func (e elsewhere) Signer() smithyhttp.Signer { return e }

func (e elsewhere) SignRequest(_ context.Context, r *smithyhttp.Request, _ auth.Identity, _ smithy.Properties) error {
	r.Header.Set("X-Amz-Date", "20261129T000000Z")
	r.Header.Set("Authorization", e.algorithm+" Credential=ID/20261129/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0")
	return nil
}

// A clock that is off costs a refusal when that is learned, not one a request.
func TestAClockThatIsOffIsAllowedFor(t *testing.T) {
	ahead, refused, past := time.Hour, 0, 0
	h := &fakeHTTP{answer: func(r *http.Request) *http.Response {
		now := time.Now().Add(ahead)
		at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		if err != nil {
			t.Error(err)
		}
		resp := respond(r, http.StatusOK, "1")
		if at.Sub(now).Abs() > 15*time.Minute {
			refused++
			resp = respond(r, http.StatusForbidden, `<Error><Code>RequestTimeTooSkewed</Code></Error>`)
		} else if !ofSDK(r) {
			past++
		}
		resp.Header.Set("Date", now.UTC().Format(http.TimeFormat))
		return resp
	}}
	b := s3object.New(s3.New(s3.Options{Region: "us-east-1", Credentials: anyone, HTTPClient: h}), "bucket", "", s3object.Options{})
	for _, clock := range []time.Duration{time.Hour, -time.Hour, 0} {
		ahead, refused, past = clock, 0, 0
		failed := 0
		for range 10 {
			if err := try(t, b, key("k")); err != nil {
				failed++
				expect(t, err, failure.Transient, failure.RetriesExhausted)
			}
		}
		if failed != 1 || refused > 2 || past != 8 {
			t.Errorf("%v: %d failed, %d refused, %d of 8 past the SDK", clock, failed, refused, past)
		}
	}
}

// What may be wrong with the request is asked again, and the error is not told.
func TestARefusalThatTheSDKDoesNotMeetIsNone(t *testing.T) {
	for _, status := range []int{301, 400, 401, 403, 409} {
		h := &fakeHTTP{}
		b := s3object.New(s3.New(s3.Options{Region: "us-east-1", Credentials: anyone, HTTPClient: h}), "bucket", "", s3object.Options{})
		get(t, b, key("k"))
		h.answer = func(r *http.Request) *http.Response {
			if ofSDK(r) {
				return respond(r, http.StatusOK, "1")
			}
			return respond(r, status, "")
		}
		get(t, b, key("k"))
		if len(h.asked) != 3 || ofSDK(h.asked[1]) || !ofSDK(h.asked[2]) {
			t.Errorf("%d: %d requests", status, len(h.asked))
		}
	}
}

func TestABrokenConnectionIsNotTriedAgainHere(t *testing.T) {
	h := &fakeHTTP{}
	b := s3object.New(s3.New(s3.Options{Region: "us-east-1", Credentials: anyone, HTTPClient: h}), "bucket", "", s3object.Options{})
	get(t, b, key("k"))
	h.answer = func(*http.Request) *http.Response { return nil }
	expect(t, try(t, b, key("k")), failure.Transient, failure.RetriesExhausted, "EOF")
	if len(h.asked) != 2 {
		t.Errorf("%d requests", len(h.asked))
	}
}

// Credentials are lost before the request, and between an answer and its error.
func TestNothingIsSentWithoutCredentials(t *testing.T) {
	for last := 1; last <= 2; last++ {
		h, n, open := &fakeHTTP{}, 0, 0
		client := s3.New(s3.Options{Region: "us-east-1", HTTPClient: h, Credentials: aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
			if n++; n > last {
				return empty{}.Retrieve(ctx)
			}
			return anyone.Retrieve(ctx)
		})})
		b := s3object.New(client, "bucket", "", s3object.Options{})
		get(t, b, key("k"))
		h.answer = func(r *http.Request) *http.Response {
			resp := respond(r, http.StatusNotFound, "<Error/>")
			open++
			resp.Body = &closing{ReadCloser: resp.Body, closed: func() { open-- }}
			return resp
		}
		expect(t, try(t, b, key("k")), failure.Job, failure.Config, "no AWS credentials")
		if len(h.asked) != last || open != 0 {
			t.Errorf("%d requests with %d credentials, %d bodies open", len(h.asked), last, open)
		}
	}
}

func TestTheBodyOfEveryRefusalIsClosed(t *testing.T) {
	for _, status := range []int{403, 404, 503} {
		h, open := &fakeHTTP{}, 0
		b := s3object.New(s3.New(s3.Options{Region: "us-east-1", Credentials: anyone, HTTPClient: h}), "bucket", "", s3object.Options{})
		get(t, b, key("k"))
		h.answer = func(r *http.Request) *http.Response {
			resp := respond(r, status, "<Error/>")
			open++
			resp.Body = &closing{ReadCloser: resp.Body, closed: func() { open-- }}
			return resp
		}
		if err := try(t, b, key("k")); err == nil || open != 0 {
			t.Errorf("%d: %v, %d bodies open", status, err, open)
		}
	}
}

type closing struct {
	io.ReadCloser
	once   sync.Once
	closed func()
}

func (c *closing) Close() error { c.once.Do(c.closed); return c.ReadCloser.Close() }

// Models are learned and dropped while others are in use.
func TestManyGetsAtOnceDoNotMeet(t *testing.T) {
	var n atomic.Int64
	b := s3object.New(connect(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%5 == 0 {
			refuse(http.StatusForbidden, "RequestTimeTooSkewed", "")(w, r)
			return
		}
		_, _ = io.WriteString(w, strings.TrimPrefix(r.URL.Path, "/bucket/"))
	}), "bucket", "", s3object.Options{})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 50 {
				k := fmt.Sprintf("%d/%d", i, j)
				for tries := 0; ; tries++ {
					body, err := b.Pin(unit.Object{Key: k, Size: int64(len(k))}).ReadRange(t.Context(), 0, int64(len(k)))
					if failure.Is(err, failure.Transient) && tries < 100 {
						continue
					}
					if err != nil {
						t.Error(err)
						return
					}
					if got, err := io.ReadAll(body); string(got) != k || err != nil {
						t.Errorf("%s: %q, %v", k, got, err)
					}
					_ = body.Close()
					break
				}
			}
		})
	}
	wg.Wait()
}
