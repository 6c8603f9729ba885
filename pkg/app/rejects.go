package app

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spate-go/spate/pkg/config"
	"github.com/spate-go/spate/pkg/pipe"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/filesink"
	"github.com/spate-go/spate/pkg/sink/s3sink"
)

// RejectsConfig is a directory or prefix for the records that are rejected. What
// is in it is read by framing: {rejects: {}}.
type RejectsConfig struct {
	URL                 string      `yaml:"url,required" example:"file:///data/rejects/"`
	Limit               config.Size `yaml:"limit"` // of what a process writes; 0: 1 GiB
	Endpoint            string      `yaml:"endpoint"`
	Region              string      `yaml:"region"`
	PathStyle           *bool       `yaml:"path_style"`
	ExpectedBucketOwner string      `yaml:"expected_bucket_owner"`
	KMSKey              string      `yaml:"kms_key"`
}

const (
	// rejectsSink is the name of the section's sink in reports and metrics, and
	// where it stands in the file.
	rejectsSink = "rejects"
	// DefaultRejects is rejects.limit where the file does not say.
	DefaultRejects = 1 << 30
)

// driver is the section as the section of a sink. A path is always a directory.
func (r *RejectsConfig) driver() (SinkConfig, error) {
	path, ok := strings.CutPrefix(r.URL, "file://")
	if ok && path != "" {
		return SinkConfig{File: &FileSinkConfig{Path: filepath.Clean(path) + "/"}}, nil
	}
	s := &S3SinkConfig{
		URL: r.URL, Endpoint: r.Endpoint, Region: r.Region, PathStyle: r.PathStyle,
		ExpectedBucketOwner: r.ExpectedBucketOwner, KMSKey: r.KMSKey,
	}
	if _, err := s.place(); err != nil {
		return SinkConfig{}, fmt.Errorf("%q is neither s3://bucket/prefix/ nor file:///dir/", r.URL)
	}
	return SinkConfig{S3: s}, nil
}

// checkRejects finds what is wrong with the section.
func (c *Config) checkRejects(p *problems) {
	if c.Rejects == nil {
		return
	}
	p.atLeast("rejects.limit", int64(c.Rejects.Limit), 0)
	own, err := c.Rejects.driver()
	if err != nil {
		p.add("rejects.url", "%v", err)
		return
	}
	if own.S3 != nil && c.Source.S3 != nil {
		to, _ := own.S3.place() // it was tried above
		if source, err := parseURL(c.Source.S3.URL); err == nil {
			if err := s3sink.Outside(to, source.Place); err != nil {
				p.add("rejects.url", "%v", err)
			}
		}
	}
	for _, name := range c.sinkNames() {
		s := c.sections()[name]
		switch {
		case name == rejectsSink || name == rejectsSink+pipe.DroppedSuffix:
			p.add(sinkPath(name), "%s is a name of the rejects section: choose another", name)
		case s != nil && own.shares(s):
			p.add("rejects.url", "is where %s writes: give rejects their own", sinkPath(name))
		}
	}
}

// shares reports whether s and o may give two files or objects the same name.
func (s *SinkConfig) shares(o *SinkConfig) bool {
	if s.S3 != nil && o.S3 != nil {
		return s.S3.mayHold(o.S3) || o.S3.mayHold(s.S3)
	}
	if s.File == nil || o.File == nil {
		return false
	}
	a, errA := resolve(s.File.Path)
	b, errB := resolve(o.File.Path)
	return errA == nil && errB == nil && a == b
}

// rejectsFile is the section as options of a file sink; nil if it is none.
func (c *Config) rejectsFile(o Options) *filesink.Options {
	own, err := c.Rejects.driver()
	if err != nil || own.File == nil {
		return nil
	}
	f := fileOptions(c, rejectsSink, own.File, o)
	f.Setting = "rejects.url"
	return &f
}

// vetRejects finds what would keep the section's sink from being opened, as far
// as that can be known without writing.
func vetRejects(c *Config, l location, o Options) error {
	f := c.rejectsFile(o)
	if f == nil {
		return nil
	}
	if err := outside(f.Path, "rejects.url", l); err != nil {
		return err
	}
	if err := o.state.spares(*f, o.begun); err != nil {
		return fmt.Errorf("rejects: %w", err)
	}
	return filesink.Check(*f)
}

// checkRejectsPlace checks where rejects go, as opening it would.
func checkRejectsPlace(ctx context.Context, c *Config, p Pipeline, l location, o Options) checked {
	own, err := c.Rejects.driver()
	if err == nil && own.S3 != nil {
		return checkS3(ctx, c, p, rejectsSink, own.S3, l)
	}
	if err == nil {
		err = vetRejects(c, l, o)
	}
	return result(rejectsSink, c.Rejects.URL+" can be written to", err)
}

// openRejects opens the section's sink.
func openRejects(ctx context.Context, c *Config, l location, o Options) (openedSink, error) {
	if err := vetRejects(c, l, o); err != nil {
		return openedSink{}, err
	}
	if f := c.rejectsFile(o); f != nil {
		s, err := filesink.New(*f)
		return openedSink{name: rejectsSink, kind: "file", Sink: s}, err
	}
	own, err := c.Rejects.driver()
	if err != nil {
		return openedSink{}, err
	}
	s, err := newS3Sink(ctx, own.S3, l)
	return openedSink{name: rejectsSink, kind: "s3", Sink: s}, err
}

// rejects is the opened section in the form that the pipe takes.
func (c *Config) rejects(opened openedSink, o Options) *pipe.Rejects {
	return &pipe.Rejects{
		NamedSink: named([]openedSink{opened}, c, o)[0],
		Admit:     sink.NewQuota(int64(c.Rejects.Limit)).Admit,
	}
}

// limits are the limits of the sinks and of the rejects, as far as they bear on
// the memory that a unit needs. They are known before the sinks are opened.
func (c *Config) limits(p Pipeline) []sink.Limits {
	var limits []sink.Limits
	for _, name := range c.sinkNames() {
		var l sink.Limits
		if s := c.sections()[name]; p.Sink != nil {
			l = p.Sink.Limits()
		} else if s != nil && s.ClickHouse != nil {
			l.Segments = s.ClickHouse.segments()
		}
		limits = append(limits, l)
	}
	if c.Rejects != nil {
		limits = append(limits, sink.Limits{})
	}
	return limits
}

// droppedRejects is how many rejected records were not written.
func droppedRejects(r *report.Report) int64 { return r.Sinks[rejectsSink+pipe.DroppedSuffix].Records }
