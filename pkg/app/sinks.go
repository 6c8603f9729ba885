package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spate-go/spate/pkg/chain/exprchain"
	"github.com/spate-go/spate/pkg/pipe"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/blackholesink"
	"github.com/spate-go/spate/pkg/sink/filesink"
	"github.com/spate-go/spate/pkg/sink/stdoutsink"
)

// defaultSink is the name of a pipeline's only sink.
const defaultSink = "default"

// openedSink is a sink under the name that the pipeline file gives it.
type openedSink struct {
	name string
	kind string // of its driver, for metrics
	sink.Sink
	rows exprchain.Encoder // makes the chain's rows for it; nil: they are lines
}

// sections are the configured sinks by name.
func (c *Config) sections() map[string]*SinkConfig {
	if c.Sink != nil {
		return map[string]*SinkConfig{defaultSink: c.Sink}
	}
	all := map[string]*SinkConfig{}
	for name, s := range c.Sinks {
		all[name] = &s
	}
	return all
}

// sinkNames are the names of the sinks, in the order of chain.Output.
func (c *Config) sinkNames() []string {
	if c.Sinks == nil {
		return []string{defaultSink}
	}
	return slices.Sorted(maps.Keys(c.Sinks))
}

// toStdout reports whether rows go to standard output.
func (c *Config) toStdout() bool {
	for _, s := range c.sections() {
		if s.Stdout != nil {
			return true
		}
	}
	return false
}

// checkSinks finds what is wrong with the sinks.
func (c *Config) checkSinks(p *problems) {
	if c.Sink != nil {
		c.checkSection(p, "sink", c.Sink)
	}
	if c.Sinks == nil {
		return
	}
	if c.Sink != nil {
		p.add("sinks", "is set beside sink: keep one, or make sink one of sinks")
	}
	if len(c.Sinks) == 0 {
		p.add("sinks", "is empty: want name: {a sink}")
	}
	c.checkS3Places(p)
	others := places{files: map[string]string{}}
	for _, name := range c.sinkNames() {
		s, path := c.Sinks[name], "sinks"+keyed(name)
		if name == "sink" || name == defaultSink {
			p.add(path, "%s is the name of a pipeline's only sink: choose another", name)
		} else if !sinkName.MatchString(name) {
			p.add(path, "a sink's name has letters, digits, _ and -, at most 64")
		}
		c.checkSection(p, path, &s)
		others.check(p, path, &s)
	}
}

// sinkName matches what one of several sinks may be called.
var sinkName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// checkSection finds what is wrong with the sink at path, whatever others there are.
func (c *Config) checkSection(p *problems, path string, s *SinkConfig) {
	p.one(path, map[string]bool{
		"file": s.File != nil, "s3": s.S3 != nil, "clickhouse": s.ClickHouse != nil,
		"stdout": s.Stdout != nil, "blackhole": s.Blackhole != nil,
	})
	if s.S3 != nil {
		c.checkS3Sink(p, path+".s3", s.S3)
	}
	if s.ClickHouse != nil {
		c.checkClickHouse(p, path+".clickhouse", s.ClickHouse)
	}
}

// places are where sinks write that no two may share, with the sink that does.
type places struct {
	stdout string
	files  map[string]string
}

// check refuses the sink at path a place that another one has, or takes it.
func (t *places) check(p *problems, path string, s *SinkConfig) {
	if s.Stdout != nil {
		if t.stdout != "" {
			p.add(path, "writes to standard output, and so does %s: their rows would mix", t.stdout)
		}
		t.stdout = path
	}
	if s.File == nil {
		return
	}
	at, err := resolve(s.File.Path)
	if err != nil {
		return // said when it is opened
	}
	if other, ok := t.files[at]; ok {
		p.add(path+".file.path", "is where %s writes: give each its own", other)
	}
	t.files[at] = path
}

// sinkPath is where the sink of that name stands in the file.
func sinkPath(name string) string {
	if name == defaultSink {
		return "sink"
	}
	return "sinks" + keyed(name)
}

// keyed is a key as a path writes it after its section.
func keyed(name string) string {
	if name == "" || strings.ContainsAny(name, ".[]\"=\n\r\t ") {
		return "[" + strconv.Quote(name) + "]"
	}
	return "." + name
}

// openSinks opens all sinks or none. What is wrong with the last one is found
// before the first one creates anything.
func openSinks(ctx context.Context, c *Config, p Pipeline, l location, o Options) ([]openedSink, error) {
	if p.Sink != nil {
		return []openedSink{{name: defaultSink, kind: "custom", Sink: p.Sink}}, nil
	}
	all := c.sections()
	if len(all) == 0 {
		return nil, errors.New("sink: required: say where rows go, as sink: {file: {path: out.ndjson}} does")
	}
	names := c.sinkNames()
	for _, name := range names {
		f := all[name].File
		if f == nil {
			continue
		}
		if err := outside(f.Path, sinkPath(name)+".file.path", l); err != nil {
			return nil, err
		}
		if err := o.state.spares(fileOptions(c, name, f, o), o.begun); err != nil {
			return nil, fmt.Errorf("%s: %w", sinkPath(name), err)
		}
		if len(names) > 1 {
			if err := filesink.Check(fileOptions(c, name, f, o)); err != nil {
				return nil, err
			}
		}
	}
	opened := make([]openedSink, 0, len(names))
	for _, name := range names {
		s, err := openSink(ctx, c, p, name, l, o)
		if err != nil {
			if len(names) > 1 {
				err = fmt.Errorf("%s: %w", sinkPath(name), err)
			}
			return nil, errors.Join(err, closeSinks(opened))
		}
		opened = append(opened, s)
	}
	return opened, nil
}

func openSink(ctx context.Context, c *Config, p Pipeline, name string, l location, o Options) (s openedSink, err error) {
	s.name = name
	switch section := c.sections()[name]; {
	case section.S3 != nil:
		s.kind = "s3"
		s.Sink, err = openS3Sink(ctx, c, p, section.S3, l)
	case section.ClickHouse != nil:
		s.kind = "clickhouse"
		var t *clickHouseTable
		if t, err = openTable(ctx, c, p, section.ClickHouse); err == nil {
			t.log(o.Log, name)
			s.Sink, s.rows = t.Sink, t.encoder()
		}
	case section.Stdout != nil:
		s.kind, s.Sink = "stdout", stdoutsink.New(o.Stdout)
	case section.Blackhole != nil:
		s.kind, s.Sink = "blackhole", blackholesink.New()
	default:
		s.kind = "file"
		s.Sink, err = filesink.New(fileOptions(c, name, section.File, o))
	}
	return s, err
}

// encoders are the row encoders of the opened sinks, in the same order.
func encoders(opened []openedSink) []exprchain.Encoder {
	all := make([]exprchain.Encoder, len(opened))
	for i := range opened {
		all[i] = opened[i].rows
	}
	return all
}

func fileOptions(c *Config, name string, f *FileSinkConfig, o Options) filesink.Options {
	return filesink.Options{
		Path: f.Path, Setting: sinkPath(name) + ".file.path", Overwrite: o.Overwrite, Extension: "ndjson",
		Journal: o.state.journal(c.Job.Name, name),
	}
}

// named are the sinks in the form that the pipe takes.
func named(opened []openedSink, c *Config, o Options) []pipe.NamedSink {
	sinks := make([]pipe.NamedSink, len(opened))
	for i, s := range opened {
		sinks[i] = pipe.NamedSink{Name: s.name, Type: s.kind, Sink: metered(s.Sink, o.Metrics, labels(c, s.name, s.kind))}
	}
	return sinks
}

func closeSinks(all []openedSink) error {
	var errs []error
	for _, s := range all {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
