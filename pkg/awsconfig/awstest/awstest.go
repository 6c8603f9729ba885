// Package awstest is for tests against an endpoint of one's own.
package awstest

import (
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/spate-go/spate/pkg/awsconfig"
)

// Config returns the configuration of clients of a service, such as S3, as users'
// are made. See Require and Credentials.
func Config(t testing.TB, service string) aws.Config {
	t.Helper()
	Require(t, service)
	Credentials(t)
	cfg, err := awsconfig.Load(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// Require skips a test for which neither AWS_ENDPOINT_URL nor that of the service
// ("" for several) says where to go; with SPATE_TEST_AWS=required it fails.
func Require(t testing.TB, service string) {
	t.Helper()
	if os.Getenv("AWS_ENDPOINT_URL") != "" || os.Getenv("AWS_ENDPOINT_URL_"+service) != "" {
		return
	}
	if os.Getenv("SPATE_TEST_AWS") == "required" {
		t.Fatal("SPATE_TEST_AWS=required, and AWS_ENDPOINT_URL is not set")
	}
	t.Skip("AWS_ENDPOINT_URL is not set")
}

// Credentials sets, for the test, what such an endpoint takes, where nothing is
// set.
func Credentials(t testing.TB) {
	t.Helper()
	for k, v := range map[string]string{"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"} {
		if os.Getenv(k) == "" {
			t.Setenv(k, v)
		}
	}
}
