// Package awsconfig loads what all AWS clients share from the standard chain of
// the SDK: endpoint, credentials and region (INV-10).
//
// The law: what the chain lacks is reported once, as a fault of configuration
// with the next step, rather than by each call.
package awsconfig

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/failure/awsfailure"
)

// idleConnections are kept per host. The SDK keeps 10: with 32 concurrent
// calls, 22 would begin with a handshake after every pause.
const idleConnections = 64

// Load returns the configuration of the process. region overrides the chain's;
// "" keeps it. client sends the requests; nil: the SDK's, with as many idle
// connections as a ledger's concurrent calls need. A call whose response breaks
// off is retried like one that got none.
func Load(ctx context.Context, region string, client aws.HTTPClient) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{
		config.WithLogger(logging.Nop{}), // the SDK's lines have another form than ours, and each error is returned
	}
	if client == nil {
		client = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConnsPerHost = idleConnections
		})
	}
	options = append(options, config.WithHTTPClient(client))
	if region != "" {
		options = append(options, config.WithRegion(region))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return cfg, failure.Errorf(failure.Job, failure.Config, "load AWS configuration: %w", err)
	}
	cfg.HTTPClient = mending{cfg.HTTPClient}
	if cfg.Region == "" {
		return cfg, failure.New(failure.Job, failure.Config,
			errors.New("load AWS configuration: no region: set AWS_REGION (us-east-1 where the endpoint does not care)"))
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		if ctx.Err() != nil {
			return cfg, ctx.Err()
		}
		return cfg, failure.Errorf(failure.Job, failure.Config, "load AWS configuration: %w: %s", err, awsfailure.NoCredentials)
	}
	return cfg, nil
}
