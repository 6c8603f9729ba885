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
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/object/dirobject"
	"github.com/spate-go/spate/pkg/object/s3object"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/blackholesink"
	"github.com/spate-go/spate/pkg/sink/filesink"
	"github.com/spate-go/spate/pkg/sink/stdoutsink"
)

// location is where a source URL points.
type location struct {
	dir            string // of a file:// URL
	bucket, prefix string // of an s3:// URL
}

func parseURL(url string) (location, error) {
	scheme, rest, ok := strings.Cut(url, "://")
	switch {
	case ok && scheme == "file" && rest != "":
		return location{dir: filepath.Clean(rest)}, nil
	case ok && (scheme == "s3" || scheme == "s3a"):
		bucket, prefix, _ := strings.Cut(rest, "/")
		if bucket == "" {
			break
		}
		return location{bucket: bucket, prefix: prefix}, nil
	}
	return location{}, fmt.Errorf("source.s3.url: %q is neither s3://bucket/prefix/ nor file:///dir/", url)
}

// openSource connects to the bucket or directory that objects are read from.
func openSource(ctx context.Context, c *S3Config, l location) (object.Bucket, error) {
	if l.bucket == "" {
		return dirobject.Open(l.dir)
	}
	client, err := s3object.NewClient(ctx, s3object.ClientOptions{
		Endpoint: c.Endpoint, Region: c.Region,
		PathStyle: c.PathStyle != nil && *c.PathStyle, VirtualHosted: c.PathStyle != nil && !*c.PathStyle,
	})
	if err != nil {
		return nil, err
	}
	return s3object.New(client, l.bucket, l.prefix, s3object.Options{
		RequestPayer: c.RequestPayer, ExpectedBucketOwner: c.ExpectedBucketOwner,
	}), nil
}

func filterOf(c *S3Config, l location) (plan.Filter, error) {
	f := plan.Filter{
		Prefix: l.prefix, Include: c.Include, Exclude: c.Exclude,
		After: c.Modified.After.Time, Before: c.Modified.Before.Time,
		SkipArchived: c.Archived == "skip",
	}
	if err := f.Validate(); err != nil {
		return f, fmt.Errorf("source.s3: %w", err)
	}
	return f, nil
}

// forced is the codec that the configuration insists on, "" for the content's.
func forced(c *S3Config) codec.Codec {
	if c.Compression == "auto" {
		return ""
	}
	return codec.Codec(c.Compression)
}

// newFramer returns the constructor of framers and the byte that separates
// records, by which large objects are cut; nil: they are not.
func newFramer(c *Config, p Pipeline) (func() frame.Framer, *plan.Cut) {
	if p.Framer != nil {
		return p.Framer, nil
	}
	name, limit := c.line()
	if name == "lines" {
		return func() frame.Framer { return frame.Lines(limit) }, &plan.Cut{Delimiter: '\n'}
	}
	return func() frame.Framer { return frame.NDJSON(limit) }, &plan.Cut{Delimiter: '\n'}
}

// newChain returns the chain: the one written in Go, or that of the file. Raw
// records pass untouched when nothing needs decoding.
func newChain(c *Config, p Pipeline) (chain.Constructor, error) {
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
		return chain.Raw("\n"), nil
	}
	o := exprchain.Options{}
	if c.Decode != nil {
		o.Decode.DisallowDuplicateKeys = c.Decode.JSON.RejectDuplicateKeys
		if c.Decode.JSON.OnError == "fail" {
			o.OnError = chain.Fail
		}
	}
	return exprchain.Compile(c.steps(), o)
}

// openSink opens the sink that the file names.
func openSink(c *SinkConfig, p Pipeline, l location, o Options) (name string, s sink.Sink, err error) {
	switch {
	case p.Sink != nil:
		return "custom", p.Sink, nil
	case c == nil:
		return "", nil, errors.New("sink: required: say where rows go, for instance\n\n  sink:\n    file: {path: out.ndjson}")
	case c.Stdout != nil:
		return "stdout", stdoutsink.New(o.Stdout), nil
	case c.Blackhole != nil:
		return "blackhole", blackholesink.New(), nil
	}
	if err := outside(c.File.Path, l); err != nil {
		return "", nil, err
	}
	s, err = filesink.New(filesink.Options{Path: c.File.Path, Overwrite: o.Overwrite, Extension: "ndjson"})
	return "file", s, err
}

// outside refuses a sink inside the source: what it writes would be read by the
// next listing (INV-8).
func outside(path string, l location) error {
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
			"sink.file.path: %s lies inside the source %s, and what is written would be read again: write elsewhere", path, l.dir)
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
		parent, err := resolve(filepath.Dir(abs))
		return filepath.Join(parent, filepath.Base(abs)), err
	}
	return abs, nil
}
