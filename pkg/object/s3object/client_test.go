package s3object_test

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdkcredentials "github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spate-go/spate/pkg/awsconfig/awstest"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/object/s3object"
	"github.com/spate-go/spate/pkg/unit"
)

// bare empties the environment of everything that the SDK looks at.
func bare(t *testing.T) {
	t.Helper()
	for _, k := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3",
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		t.Setenv(k, "")
	}
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

func TestAClientWithoutRegionOrCredentialsIsAFaultOfConfiguration(t *testing.T) {
	bare(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	_, err := s3object.NewClient(t.Context(), s3object.ClientOptions{})
	expect(t, err, failure.Job, failure.Config, "AWS_REGION")

	bare(t)
	_, err = s3object.NewClient(t.Context(), s3object.ClientOptions{Region: "us-east-1"})
	expect(t, err, failure.Job, failure.Config, "AWS_ACCESS_KEY_ID")
}

func TestCredentialsThatAreLostLaterAreAFaultOfConfiguration(t *testing.T) {
	bare(t)
	client := s3.NewFromConfig(aws.Config{Region: "us-east-1", Credentials: empty{}})
	_, err := s3object.New(client, "bucket", "", s3object.Options{}).Pin(listed).ReadRange(t.Context(), 0, 5)
	expect(t, err, failure.Job, failure.Config, "no AWS credentials")
	client = s3.New(s3.Options{Credentials: empty{}})
	_, err = s3object.New(client, "bucket", "", s3object.Options{}).List(t.Context(), "")
	expect(t, err, failure.Job, failure.Config, "region")
}

type empty struct{}

func (empty) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{}, &sdkcredentials.StaticCredentialsEmptyError{}
}

func TestEndpointAndRegionComeFromTheChainUnlessGiven(t *testing.T) {
	for name, c := range map[string]struct {
		env      map[string]string
		opt      s3object.ClientOptions
		endpoint string
		path     bool
		region   string
	}{
		"AWS":                              {nil, s3object.ClientOptions{}, "", false, "eu-north-1"},
		"AWS, path style":                  {nil, s3object.ClientOptions{PathStyle: true}, "", true, "eu-north-1"},
		"an endpoint for all services":     {map[string]string{"AWS_ENDPOINT_URL": "http://a"}, s3object.ClientOptions{}, "http://a", true, "eu-north-1"},
		"one for S3":                       {map[string]string{"AWS_ENDPOINT_URL": "http://a", "AWS_ENDPOINT_URL_S3": "http://b"}, s3object.ClientOptions{}, "http://b", true, "eu-north-1"},
		"one that is given":                {map[string]string{"AWS_ENDPOINT_URL_S3": "http://b"}, s3object.ClientOptions{Endpoint: "http://c", Region: "us-west-2"}, "http://c", true, "us-west-2"},
		"one with a name for each bucket":  {nil, s3object.ClientOptions{Endpoint: "http://c", VirtualHosted: true}, "http://c", false, "eu-north-1"},
		"one with a name for each, by env": {map[string]string{"AWS_ENDPOINT_URL": "http://a"}, s3object.ClientOptions{VirtualHosted: true}, "http://a", false, "eu-north-1"},
	} {
		t.Run(name, func(t *testing.T) {
			bare(t)
			awstest.Credentials(t)
			t.Setenv("AWS_REGION", "eu-north-1")
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			client, err := s3object.NewClient(t.Context(), c.opt)
			if err != nil {
				t.Fatal(err)
			}
			o := client.Options()
			if got := aws.ToString(o.BaseEndpoint); got != c.endpoint || o.UsePathStyle != c.path || o.Region != c.region {
				t.Errorf("endpoint %q, path style %t, region %q", got, o.UsePathStyle, o.Region)
			}
		})
	}
}

func TestAnEndpointThatIsNotTrustedStopsTheJob(t *testing.T) {
	awstest.Credentials(t)
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.Config.ErrorLog = log.New(io.Discard, "", 0)
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	old.StartTLS()
	defer old.Close()
	for name, url := range map[string]string{"unknown": s.URL, "no TLS at all": "https" + plain.URL[len("http"):], "too old a TLS": old.URL} {
		t.Run(name, func(t *testing.T) {
			c, err := s3object.NewClient(t.Context(), s3object.ClientOptions{Endpoint: url})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s3object.New(c, "bucket", "", s3object.Options{}).Pin(listed).ReadRange(t.Context(), 0, 5)
			expect(t, err, failure.Job, failure.Denied, "certificate", "logs/k")
		})
	}
}

// A reader has many requests under way at once, and a connection that is not
// kept costs a handshake each.
func TestConnectionsAreKeptForManyRequestsAtOnce(t *testing.T) {
	awstest.Credentials(t)
	const many = 64
	arrived, opened := make(chan struct{}, many), make(chan struct{}, 10*many)
	release := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-release
		serve(digits, func(int) (int, bool) { return 0, false })(w, r)
	}))
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			opened <- struct{}{}
		}
	}
	s.Start()
	defer s.Close()
	c, err := s3object.NewClient(t.Context(), s3object.ClientOptions{Endpoint: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	b := s3object.New(c, "bucket", "", s3object.Options{})
	for range 2 {
		done := make(chan error, many)
		for range many {
			go func() {
				body, err := b.Pin(listed).ReadRange(t.Context(), 0, 10)
				if err == nil {
					_, err = io.ReadFull(body, make([]byte, 10))
					_ = body.Close()
				}
				done <- err
			}()
		}
		for range many {
			<-arrived
		}
		close(release)
		for range many {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		release = make(chan struct{})
	}
	if n := len(opened); n > many {
		t.Errorf("%d connections for %d requests at once", n, many)
	}
}

// The reader stops at the last byte it was promised, which must not cost the
// connection.
func TestAReaderKeepsItsConnection(t *testing.T) {
	awstest.Credentials(t)
	opened := make(chan struct{}, 100)
	s := httptest.NewUnstartedServer(serve(digits, func(int) (int, bool) { return 0, false }))
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			opened <- struct{}{}
		}
	}
	s.Start()
	defer s.Close()
	c, err := s3object.NewClient(t.Context(), s3object.ClientOptions{Endpoint: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	parts := make([]object.Part, 20)
	for i := range parts {
		parts[i] = object.Part{Object: listed, End: listed.Size}
	}
	r := object.NewReader(t.Context(), s3object.New(c, "bucket", "", s3object.Options{}), parts, object.Options{Window: 4, Ahead: -1})
	for r.Next() == nil {
		if got, err := io.ReadAll(r); string(got) != digits || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
	}
	_ = r.Close()
	if n := len(opened); n != 1 {
		t.Errorf("%d connections for 60 requests", n)
	}
}

func TestAKeyThatS3CannotHaveIsRefusedBeforeItIsAsked(t *testing.T) {
	b := s3object.New(nil, "bucket", "", s3object.Options{})
	for _, key := range []string{"", string(make([]byte, 1025)), "\xff"} {
		_, err := b.Pin(unit.Object{Key: key, Size: 1}).ReadRange(t.Context(), 0, 1)
		expect(t, err, failure.Member, failure.InvalidKey)
	}
}
