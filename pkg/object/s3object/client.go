package s3object

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spate-go/spate/pkg/awsconfig"
)

// ClientOptions are what a configuration may say about the endpoint. The zero
// value takes everything from the standard chain of the SDK (INV-10).
type ClientOptions struct {
	Endpoint string // URL; "" takes AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or the profile's, else AWS
	Region   string // "" takes AWS_REGION or the profile's

	// PathStyle puts the bucket into the path. False does so only for an endpoint
	// that is not AWS's own, wherever that was set: such endpoints seldom have a
	// name for each bucket.
	PathStyle bool
	// VirtualHosted keeps the bucket in the host's name even then.
	VirtualHosted bool
}

// The connections of a client. A reader has a few requests in flight for each
// unit that it holds; a connection that is not kept costs a handshake.
const (
	idleConnections = 128
	readBuffer      = 32 << 10 // a small object and its headers in one system call; larger reads bypass it
	dialTimeout     = 10 * time.Second
	headerTimeout   = 30 * time.Second // S3 seldom needs 10 s for the first byte
)

// NewClient returns a client of S3. Without a region or credentials it fails
// here, as a fault of configuration, rather than at each object.
func NewClient(ctx context.Context, opt ClientOptions) (*s3.Client, error) {
	cfg, err := awsconfig.Load(ctx, opt.Region, newHTTPClient())
	if err != nil {
		return nil, err
	}
	return s3.NewFromConfig(cfg, func(o *s3.Options) {
		if opt.Endpoint != "" {
			o.BaseEndpoint = &opt.Endpoint
		}
		o.UsePathStyle = opt.PathStyle || o.BaseEndpoint != nil && !opt.VirtualHosted
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	}), nil
}

// newHTTPClient returns a client for many requests at once to one host.
func newHTTPClient() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialTimeout }).
		WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConns = 2 * idleConnections
			t.MaxIdleConnsPerHost = idleConnections
			t.ReadBufferSize = readBuffer
			t.ResponseHeaderTimeout = headerTimeout
			t.DisableCompression = true // bytes are the object's bytes
		})
}
