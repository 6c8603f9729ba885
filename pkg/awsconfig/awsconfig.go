// Package awsconfig loads what AWS clients have in common from the standard chain
// of the SDK: endpoint, credentials and region (INV-10).
//
// The law: what the chain lacks is said once, as a fault of configuration with the
// next step, rather than by each call.
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

// idleConnections are kept for one host. The SDK keeps 10: of 32 calls at once, 22
// would begin with a handshake whenever there was a pause.
const idleConnections = 64

// Load returns the configuration of the process. region stands in for the
// chain's; "" takes that. client sends the requests; nil: the SDK's, which keeps
// the connections that a ledger's calls at once take. A call whose answer breaks
// off is repeated like one that got none.
func Load(ctx context.Context, region string, client aws.HTTPClient) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{
		config.WithLogger(logging.Nop{}), // the SDK's lines are of no form that ours have, and each error is returned
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
