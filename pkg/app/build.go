package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/chain/exprchain"
	"github.com/spate-go/spate/pkg/codec"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/object/dirobject"
	"github.com/spate-go/spate/pkg/object/s3object"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/s3url"
)

// location is where a source URL points.
type location struct {
	dir         string // of a file:// URL
	s3url.Place        // of an s3:// URL
}

func parseURL(url string) (location, error) {
	if dir, ok := strings.CutPrefix(url, "file://"); ok && dir != "" {
		return location{dir: filepath.Clean(dir)}, nil
	}
	if place, err := s3url.Parse(url); err == nil {
		return location{Place: place}, nil
	}
	return location{}, fmt.Errorf("source.s3.url: %q is neither s3://bucket/prefix/ nor file:///dir/", url)
}

// openSource connects to the bucket or directory that objects are read from.
func openSource(ctx context.Context, c *S3Config, l location) (object.Bucket, error) {
	if l.Bucket == "" {
		return dirobject.Open(l.dir)
	}
	client, err := s3object.NewClient(ctx, clientOptions(c.Endpoint, c.Region, c.PathStyle))
	if err != nil {
		return nil, err
	}
	return s3object.New(client, l.Bucket, l.Prefix, s3object.Options{
		RequestPayer: c.RequestPayer, ExpectedBucketOwner: c.ExpectedBucketOwner,
	}), nil
}

// clientOptions are those of the S3 client for a section's endpoint, region and
// path_style.
func clientOptions(endpoint, region string, pathStyle *bool) s3object.ClientOptions {
	return s3object.ClientOptions{
		Endpoint: endpoint, Region: region,
		PathStyle: pathStyle != nil && *pathStyle, VirtualHosted: pathStyle != nil && !*pathStyle,
	}
}

func filterOf(c *S3Config, l location) (plan.Filter, error) {
	f := plan.Filter{
		Prefix: l.Prefix, Include: c.Include, Exclude: c.Exclude,
		After: c.Modified.After.Time, Before: c.Modified.Before.Time,
		SkipArchived: c.Archived == "skip",
	}
	if err := f.Validate(); err != nil {
		return f, fmt.Errorf("source.s3: %w", err)
	}
	return f, nil
}

// forced is the codec that the configuration insists on; "": the content
// decides.
func forced(c *S3Config) codec.Codec {
	if c.Compression == "auto" {
		return ""
	}
	return codec.Codec(c.Compression)
}

// newChain returns the chain that is written in Go, or that of the file. Raw
// records pass untouched when nothing needs decoding. rows are the encoders of
// the sinks' rows; nil: lines for all.
func newChain(c *Config, p Pipeline, rows []exprchain.Encoder) (chain.Constructor, error) {
	if p.Chain != nil {
		if len(c.Chain) > 0 || c.Decode != nil {
			return nil, errors.New("chain: this program brings a chain written in Go: remove decode and chain from the pipeline file")
		}
		return p.Chain, nil
	}
	if c.Decode == nil && len(c.Chain) == 0 || c.Decode != nil && c.Decode.Raw != nil {
		if len(c.Chain) > 0 {
			return nil, errors.New("chain: its steps need decoded records: replace decode: {raw: {}} by decode: {json: {}}")
		}
		if c.framing(p).lines {
			return chain.Raw("\n"), nil
		}
		return chain.Line(), nil
	}
	o := c.chainOptions()
	o.Encoders = rows
	return exprchain.Compile(c.steps(), o)
}

// chainOptions are those of the chain in the file.
func (c *Config) chainOptions() exprchain.Options {
	o := exprchain.Options{Sinks: c.sinkNames()}
	if c.Decode != nil && c.Decode.JSON != nil {
		o.Decode.DisallowDuplicateKeys = c.Decode.JSON.RejectDuplicateKeys
		o.Decode.ExactNumbers = c.Decode.JSON.Numbers == "exact"
		if c.Decode.JSON.OnError == "fail" {
			o.OnError = chain.Fail
		}
	}
	return o
}

// outside refuses a path inside the source, where the next listing would find
// what is written (INV-8). key is the setting that gives the path.
func outside(path, key string, l location) error {
	if l.dir == "" {
		return nil
	}
	dir, err := resolve(l.dir)
	if err != nil {
		return err
	}
	target, err := resolve(path)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(dir, target); err == nil && filepath.IsLocal(rel) {
		return failure.Errorf(failure.Job, failure.Config,
			"%s: %s lies inside the source %s, and what is written would be read again: write elsewhere", key, path, l.dir)
	}
	return nil
}

// resolve makes path absolute, following links as far as it exists.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	target, err := filepath.EvalSymlinks(abs)
	switch {
	case err == nil:
		return target, nil
	case errors.Is(err, fs.ErrNotExist) && abs != string(os.PathSeparator):
		if to, err := os.Readlink(abs); err == nil { // a link to what is not there yet
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(abs), to)
			}
			return resolve(to)
		}
		parent, err := resolve(filepath.Dir(abs))
		return filepath.Join(parent, filepath.Base(abs)), err
	}
	return abs, nil
}
