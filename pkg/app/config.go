package app

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spate-go/spate/pkg/chain/exprchain"
	"github.com/spate-go/spate/pkg/config"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/plan"
)

// Config is the pipeline file. Where a field is a pointer, nil means that the
// file does not name it; of the fields of a component section exactly one is
// set.
type Config struct {
	Pipeline PipelineConfig `yaml:"pipeline"`
	Source   SourceConfig   `yaml:"source"`
	Feed     *FeedConfig    `yaml:"feed"`
	Job      *JobConfig     `yaml:"job"`
	Framing  *FramingConfig `yaml:"framing"`
	Decode   *DecodeConfig  `yaml:"decode"`
	Chain    []StepConfig   `yaml:"chain"`
	Sink     *SinkConfig    `yaml:"sink"`
}

// PipelineConfig is about the process.
type PipelineConfig struct {
	Name    string      `yaml:"name,required" example:"access-logs"`
	Threads int         `yaml:"threads"` // decoding goroutines; 0: the cores
	Memory  config.Size `yaml:"memory"`  // bound of everything that grows with the data
}

// SourceConfig is where objects are read from.
type SourceConfig struct {
	S3 *S3Config `yaml:"s3"`
}

// S3Config is a prefix of a bucket, or a directory.
type S3Config struct {
	URL                 string         `yaml:"url,required" example:"s3://bucket/prefix/"`
	Include             []string       `yaml:"include"`
	Exclude             []string       `yaml:"exclude"`
	Compression         string         `yaml:"compression" oneof:"auto|none|gzip|zstd"`
	Target              config.Size    `yaml:"target"`
	Archived            string         `yaml:"archived" oneof:"fail|skip"`
	Modified            ModifiedConfig `yaml:"modified"`
	Endpoint            string         `yaml:"endpoint"`
	Region              string         `yaml:"region"`
	PathStyle           *bool          `yaml:"path_style"`
	RequestPayer        bool           `yaml:"request_payer"`
	ExpectedBucketOwner string         `yaml:"expected_bucket_owner"`
}

// ModifiedConfig bounds LastModified: not before After, earlier than Before.
type ModifiedConfig struct {
	After  config.Time `yaml:"after"`
	Before config.Time `yaml:"before"`
}

// FeedConfig is how units travel.
type FeedConfig struct {
	UnitsHeld int               `yaml:"units_held"` // units open at once; 0: twice the threads
	Memory    *MemoryFeedConfig `yaml:"memory"`
	SQS       *SQSConfig        `yaml:"sqs"`
}

// MemoryFeedConfig is the feed in this process.
type MemoryFeedConfig struct {
	AttemptCap int `yaml:"attempt_cap"` // deliveries of a unit; 0: 10
}

// SQSConfig is a durable feed. A job in one process has no use for it.
type SQSConfig struct {
	QueueURL   string `yaml:"queue_url,required"`
	Visibility string `yaml:"visibility"`
}

// JobConfig is a job on a durable feed. A job in one process only takes its
// name from it.
type JobConfig struct {
	Name           string `yaml:"name"`
	Table          string `yaml:"table"`
	SettlingWindow string `yaml:"settling_window"`
	Resends        int    `yaml:"resends"`
}

// FramingConfig is how bytes become records.
type FramingConfig struct {
	NDJSON *LineConfig `yaml:"ndjson"`
	Lines  *LineConfig `yaml:"lines"`
}

// LineConfig bounds records that end at a line feed.
type LineConfig struct {
	MaxRecord config.Size `yaml:"max_record"` // 0: 16 MiB
}

// DecodeConfig is how records become values.
type DecodeConfig struct {
	JSON *JSONConfig `yaml:"json"`
	Raw  *RawConfig  `yaml:"raw"`
}

// JSONConfig decodes JSON.
type JSONConfig struct {
	OnError             string `yaml:"on_error" oneof:"skip|fail"`
	RejectDuplicateKeys bool   `yaml:"reject_duplicate_keys"`
}

// RawConfig leaves records as they are.
type RawConfig struct{}

// StepConfig is one operator.
type StepConfig struct {
	Filter string   `yaml:"filter"`
	Select []string `yaml:"select"`
}

// SinkConfig is where rows go.
type SinkConfig struct {
	File      *FileSinkConfig `yaml:"file"`
	Stdout    *NoConfig       `yaml:"stdout"`
	Blackhole *NoConfig       `yaml:"blackhole"`
}

// FileSinkConfig is a file, or with a path that ends in a slash a directory.
type FileSinkConfig struct {
	Path string `yaml:"path,required" example:"out.ndjson"`
}

// NoConfig is the body of a component without settings.
type NoConfig struct{}

// DefaultMemory is pipeline.memory where the file does not say.
const DefaultMemory = 192 << 20

// Load reads the pipeline file at path. sets are overrides, "path=value"; env
// gives the variables that the file refers to.
func Load(path string, sets []string, env func(string) (string, bool)) (Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("read pipeline file: %w", err)
	}
	doc, err := config.Parse(path, text, env)
	if err != nil {
		return Config{}, err
	}
	for _, s := range sets {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return Config{}, fmt.Errorf("--set %s: not of the form path=value", s)
		}
		if err := doc.Set(key, value); err != nil {
			return Config{}, fmt.Errorf("--set %s: %w", key, err)
		}
	}
	var c Config
	if err := doc.Decode(&c); err != nil {
		return Config{}, err
	}
	if err := c.check(); err != nil {
		return Config{}, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// check reports what no single field shows, and fills in defaults.
func (c *Config) check() error {
	if c.Feed == nil {
		return fmt.Errorf("feed: required: say how units travel; for a job in one process add\n\n  feed:\n    memory: {}\n")
	}
	var errs problems
	errs.one("source", map[string]bool{"s3": c.Source.S3 != nil})
	errs.one("feed", map[string]bool{"memory": c.Feed.Memory != nil, "sqs": c.Feed.SQS != nil})
	if f := c.Framing; f != nil {
		errs.one("framing", map[string]bool{"ndjson": f.NDJSON != nil, "lines": f.Lines != nil})
	}
	if d := c.Decode; d != nil {
		errs.one("decode", map[string]bool{"json": d.JSON != nil, "raw": d.Raw != nil})
	}
	if c.Sink != nil {
		errs.one("sink", map[string]bool{"file": c.Sink.File != nil, "stdout": c.Sink.Stdout != nil, "blackhole": c.Sink.Blackhole != nil})
	}
	for i, s := range c.Chain {
		errs.one(fmt.Sprintf("chain[%d]", i), map[string]bool{"filter": s.Filter != "", "select": s.Select != nil})
	}
	errs.atLeast("pipeline.threads", int64(c.Pipeline.Threads), 0)
	errs.atLeast("feed.units_held", int64(c.Feed.UnitsHeld), 0)
	if c.Feed.Memory != nil {
		errs.atLeast("feed.memory.attempt_cap", int64(c.Feed.Memory.AttemptCap), 0)
	}
	if s := c.Source.S3; s != nil && s.Target != 0 {
		errs.atLeast("source.s3.target", int64(s.Target), plan.MinTarget)
	}
	c.defaults()
	return errs.err()
}

func (c *Config) defaults() {
	if c.Pipeline.Threads == 0 {
		c.Pipeline.Threads = runtime.GOMAXPROCS(0)
	}
	if c.Pipeline.Memory == 0 {
		c.Pipeline.Memory = DefaultMemory
	}
	if c.Feed.UnitsHeld == 0 {
		c.Feed.UnitsHeld = 2 * c.Pipeline.Threads
	}
	if c.Job == nil {
		c.Job = &JobConfig{}
	}
	if c.Job.Name == "" {
		c.Job.Name = c.Pipeline.Name
	}
}

// line is the framing of records that end at a line feed, and its name.
func (c *Config) line() (string, int) {
	name, l := "ndjson", &LineConfig{}
	if f := c.Framing; f != nil {
		if f.Lines != nil {
			name, l = "lines", f.Lines
		} else {
			l = f.NDJSON
		}
	}
	if l.MaxRecord == 0 {
		return name, frame.DefaultMaxRecord
	}
	return name, int(l.MaxRecord)
}

func (c *Config) steps() []exprchain.Step {
	steps := make([]exprchain.Step, len(c.Chain))
	for i, s := range c.Chain {
		steps[i] = exprchain.Step{Filter: s.Filter, Select: s.Select}
	}
	return steps
}

// problems collects what is wrong with a configuration.
type problems []string

func (p *problems) one(path string, set map[string]bool) {
	var known, given []string
	for name, is := range set {
		known = append(known, name)
		if is {
			given = append(given, name)
		}
	}
	slices.Sort(known)
	slices.Sort(given)
	switch len(given) {
	case 0:
		*p = append(*p, fmt.Sprintf("%s: needs one of: %s", path, strings.Join(known, ", ")))
	case 1:
	default:
		*p = append(*p, fmt.Sprintf("%s: has %s: keep one", path, strings.Join(given, " and ")))
	}
}

func (p *problems) atLeast(path string, n, least int64) {
	if n < least {
		*p = append(*p, fmt.Sprintf("%s: %d is less than %d", path, n, least))
	}
}

func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(p, "\n"))
}
