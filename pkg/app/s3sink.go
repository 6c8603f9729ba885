package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/spate-go/spate/pkg/chain/exprchain"
	"github.com/spate-go/spate/pkg/object/s3object"
	"github.com/spate-go/spate/pkg/s3url"
	"github.com/spate-go/spate/pkg/sink/s3sink"
)

// S3SinkConfig is a prefix of a bucket that holds one object a block, or one a
// block and partition.
type S3SinkConfig struct {
	URL                 string `yaml:"url,required" example:"s3://bucket-2/rows/"`
	Compression         string `yaml:"compression" oneof:"none|gzip|zstd"`
	Level               int    `yaml:"level"`          // of the compression; 0: one that favours speed
	Partition           string `yaml:"partition"`      // an expression on the row, as "'year=' + ts[0:4]"; "": there are none
	MaxPartitions       int    `yaml:"max_partitions"` // of one block; 0: 100
	Endpoint            string `yaml:"endpoint"`
	Region              string `yaml:"region"`
	PathStyle           *bool  `yaml:"path_style"`
	ExpectedBucketOwner string `yaml:"expected_bucket_owner"`
	KMSKey              string `yaml:"kms_key"` // "": the bucket's own encryption
}

// place is where the objects go.
func (s *S3SinkConfig) place() (s3url.Place, error) { return s3url.ParseDir(s.URL) }

// options are those of the sink, for rows from that source.
func (s *S3SinkConfig) options(source location) (s3sink.Options, error) {
	to, err := s.place()
	o := s3sink.Options{
		Prefix: to.Prefix, Compression: s3sink.Compression(s.Compression), Level: s.Level, MaxPartitions: s.MaxPartitions,
		ExpectedBucketOwner: s.ExpectedBucketOwner, KMSKey: s.KMSKey,
		Source: source.Place,
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
	if err := s3sink.Outside(to, source.Place); err != nil {
		p.add(path+".url", "%v", err)
	}
}

// checkS3Places refuses sinks that may give two objects the same name: an
// object is named after its unit and its place in that, not after its sink.
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

// mayHold reports whether an object of s may have the name of one of o.
func (s *S3SinkConfig) mayHold(o *S3SinkConfig) bool {
	a, errA := s.place()
	b, errB := o.place()
	return errA == nil && errB == nil && (a == b || s.Partition != "" && s3sink.Outside(b, a) != nil)
}

// openS3Sink connects to the bucket; it writes nothing.
func openS3Sink(ctx context.Context, c *Config, p Pipeline, s *S3SinkConfig, source location) (*s3sink.Sink, error) {
	if s.Partition != "" && p.Chain == nil && c.passesRaw() {
		return nil, errors.New("partition: rows pass as they are, and one that is not JSON has no partition: add decode: {json: {}}")
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
	client, err := s3object.NewClient(ctx, clientOptions(s.Endpoint, s.Region, s.PathStyle))
	if err != nil {
		return nil, err
	}
	return s3sink.New(client, to.Bucket, o)
}

// passesRaw reports whether the file's chain decodes nothing.
func (c *Config) passesRaw() bool {
	return c.Decode == nil && len(c.Chain) == 0 || c.Decode != nil && c.Decode.Raw != nil
}

// blocks is everything that decides the rows of a block, if some sink names its
// objects by block; otherwise "".
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

// transform is everything that decides which rows reach the sinks, as text.
func (c *Config) transform(sinks map[string]*SinkConfig) string {
	text, err := json.Marshal(struct {
		Decode *DecodeConfig
		Chain  []StepConfig
		Sinks  map[string]*SinkConfig
	}{c.Decode, c.Chain, sinks})
	if err != nil {
		return err.Error() // never: it is plain data without cycles
	}
	return string(text)
}

// pipelineDigest identifies the chain and sinks that read a job, for its
// report. It does not cover what is written in Go.
func (c *Config) pipelineDigest() string {
	sum := sha256.Sum256([]byte(c.transform(c.sections())))
	return hex.EncodeToString(sum[:])
}
