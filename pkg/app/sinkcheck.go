package app

import (
	"context"
	"fmt"
	"os"

	"github.com/spate-go/spate/pkg/object/s3object"
	"github.com/spate-go/spate/pkg/sink/filesink"
)

// checkSink checks the sink of that name as opening it would, and changes
// nothing.
func checkSink(ctx context.Context, c *Config, p Pipeline, name string, l location, o Options) []checked {
	what := sinkPath(name)
	if s := c.sections()[name].ClickHouse; s != nil {
		return checkTable(ctx, c, p, what, s)
	}
	return []checked{checkPlace(ctx, c, p, name, l, o)}
}

// checkPlace checks a sink that has no columns.
func checkPlace(ctx context.Context, c *Config, p Pipeline, name string, l location, o Options) checked {
	what := sinkPath(name)
	switch s := c.sections()[name]; {
	case s.File != nil:
		err := outside(s.File.Path, what+".file.path", l)
		if err == nil {
			err = filesink.Check(fileOptions(c, name, s.File, o))
		}
		state := "can be made"
		if _, statErr := os.Stat(s.File.Path); statErr == nil {
			state = "exists and would be written to"
		}
		return result(what, fmt.Sprintf("file %s %s", s.File.Path, state), err)
	case s.S3 != nil:
		return checkS3(ctx, c, p, what, s.S3, l)
	case s.Stdout != nil:
		return checked{what, passed, "standard output"}
	default:
		return checked{what, passed, "rows are discarded"}
	}
}

// checkS3 reaches the bucket by listing it, which a writer need not be allowed
// to do.
func checkS3(ctx context.Context, c *Config, p Pipeline, what string, s *S3SinkConfig, l location) checked {
	opened, err := openS3Sink(ctx, c, p, s, l)
	if err != nil {
		return result(what, "", err)
	}
	_ = opened.Close() // it has written nothing
	to, err := s.place()
	if err != nil {
		return result(what, "", err)
	}
	client, err := s3object.NewClient(ctx, clientOptions(s.Endpoint, s.Region, s.PathStyle))
	if err != nil {
		return result(what, "", err)
	}
	b := s3object.New(client, to.Bucket, to.Prefix, s3object.Options{ExpectedBucketOwner: s.ExpectedBucketOwner})
	_, err = b.List(ctx, "")
	switch {
	case denied(err):
		return checked{what, untested, fmt.Sprintf("%s cannot be listed, which a job does not need; no write was tried", s.URL)}
	case err != nil:
		return result(what, "", err)
	}
	return checked{what, passed, fmt.Sprintf("%s exists; no write was tried", s.URL)}
}
