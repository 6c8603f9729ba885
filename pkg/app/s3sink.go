package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spate-go/spate/pkg/chain/exprchain"
	"github.com/spate-go/spate/pkg/object/s3object"
	"github.com/spate-go/spate/pkg/sink/s3sink"
)

// S3SinkConfig is a prefix of a bucket that holds one object a block, or one a
// block and partition.
type S3SinkConfig struct {
	URL                 string `yaml:"url,required" example:"s3://bucket-2/rows/"`
	Compression         string `yaml:"compression" oneof:"none|gzip|zstd"`
	Level               int    `yaml:"level"`          // of the compression; 0: one that favours speed
	Partition           string `yaml:"partition"`      // an expression on the row, as "'year=' + ts[0:4]"; "": there are none
	MaxPartitions       int    `yaml:"max_partitions"` // in one block; 0: 100
	Endpoint            string `yaml:"endpoint"`
	Region              string `yaml:"region"`
	PathStyle           *bool  `yaml:"path_style"`
	ExpectedBucketOwner string `yaml:"expected_bucket_owner"`
	KMSKey              string `yaml:"kms_key"` // "": the bucket's own encryption
}

// place is where the objects go. A prefix is a directory.
func (s *S3SinkConfig) place() (s3sink.Place, error) {
	rest, ok := strings.CutPrefix(s.URL, "s3://")
	bucket, prefix, _ := strings.Cut(rest, "/")
	if !ok || bucket == "" {
		return s3sink.Place{}, fmt.Errorf("%q is not of the form s3://bucket/prefix/", s.URL)
	}
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	return s3sink.Place{Bucket: bucket, Prefix: prefix}, nil
}

// options are those of a sink behind a source.
func (s *S3SinkConfig) options(source location) (s3sink.Options, error) {
	to, err := s.place()
	o := s3sink.Options{
		Prefix: to.Prefix, Compression: s3sink.Compression(s.Compression), Level: s.Level, MaxPartitions: s.MaxPartitions,
		ExpectedBucketOwner: s.ExpectedBucketOwner, KMSKey: s.KMSKey,
		Source: s3sink.Place{Bucket: source.bucket, Prefix: source.prefix},
	}
	if err == nil && s.Partition != "" {
		o.Partition, err = exprchain.Key(s.Partition)
	}
	return o, err
}

// checkS3Sink finds what is wrong with the section at path.
func (c *Config) checkS3Sink(p *problems, path string, s *S3SinkConfig) {
	to, err := s.place()
	if err != nil {
		p.add(path+".url", "%v", err)
		return
	}
	if s.Partition != "" {
		if _, err := exprchain.Key(s.Partition); err != nil {
			p.add(path+".partition", "%v", err)
		}
	}
	if c.Source.S3 == nil {
		return
	}
	source, err := parseURL(c.Source.S3.URL)
	if err != nil {
		return // said of the source
	}
	if err := s3sink.Outside(to, s3sink.Place{Bucket: source.bucket, Prefix: source.prefix}); err != nil {
		p.add(path+".url", "%v", err)
	}
}

// checkS3Places refuses sinks that may name two objects alike: names are of
// unit and place in it, not of sink.
func (c *Config) checkS3Places(p *problems) {
	names := c.sinkNames()
	for i, name := range names {
		for _, other := range names[:i] {
			if a, b := c.Sinks[name].S3, c.Sinks[other].S3; a != nil && b != nil && (a.mayHold(b) || b.mayHold(a)) {
				p.add(sinkPath(name)+".s3.url", "is where %s writes: give each its own", sinkPath(other))
			}
		}
	}
}

// mayHold reports whether an object of s may be called like one of o.
func (s *S3SinkConfig) mayHold(o *S3SinkConfig) bool {
	a, errA := s.place()
	b, errB := o.place()
	return errA == nil && errB == nil && (a == b || s.Partition != "" && s3sink.Outside(b, a) != nil)
}

// openS3Sink connects to the bucket; it writes nothing.
func openS3Sink(ctx context.Context, c *Config, p Pipeline, s *S3SinkConfig, source location) (*s3sink.Sink, error) {
	if s.Partition != "" && p.Chain == nil && c.passesRaw() {
		return nil, errors.New("partition: rows pass as they are, and one that is no JSON is in no partition: add decode: {json: {}}")
	}
	return newS3Sink(ctx, s, source)
}

func newS3Sink(ctx context.Context, s *S3SinkConfig, source location) (*s3sink.Sink, error) {
	o, err := s.options(source)
	if err != nil {
		return nil, err
	}
	to, err := s.place()
	if err != nil {
		return nil, err
	}
	client, err := s3object.NewClient(ctx, s.client())
	if err != nil {
		return nil, err
	}
	return s3sink.New(client, to.Bucket, o)
}

func (s *S3SinkConfig) client() s3object.ClientOptions {
	return s3object.ClientOptions{
		Endpoint: s.Endpoint, Region: s.Region,
		PathStyle: s.PathStyle != nil && *s.PathStyle, VirtualHosted: s.PathStyle != nil && !*s.PathStyle,
	}
}

// passesRaw reports whether the file's chain decodes nothing.
func (c *Config) passesRaw() bool {
	return c.Decode == nil && len(c.Chain) == 0 || c.Decode != nil && c.Decode.Raw != nil
}

// blocks are what decides the rows of a block, if a sink names what it writes by
// block; else "".
func (c *Config) blocks() string {
	all := c.sections()
	if c.Rejects != nil {
		if own, err := c.Rejects.driver(); err == nil && own.S3 != nil {
			all[rejectsSink] = &own
		}
	}
	for _, s := range all {
		if s.S3 != nil {
			return c.transform(all)
		}
	}
	return ""
}

// transform is what decides which rows reach the sinks, as text.
func (c *Config) transform(sinks map[string]*SinkConfig) string {
	text, err := json.Marshal(struct {
		Decode *DecodeConfig
		Chain  []StepConfig
		Sinks  map[string]*SinkConfig
	}{c.Decode, c.Chain, sinks})
	if err != nil {
		return err.Error() // it is data without cycles: there is none
	}
	return string(text)
}

// pipelineDigest tells in a report by which chain and sinks a job was read. What
// is written in Go does not show in it.
func (c *Config) pipelineDigest() string {
	sum := sha256.Sum256([]byte(c.transform(c.sections())))
	return hex.EncodeToString(sum[:])
}
