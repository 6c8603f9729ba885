package app

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/config"
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
	// Sinks are several sinks by name; a route in the chain says what goes where.
	Sinks   map[string]SinkConfig `yaml:"sinks"`
	Rejects *RejectsConfig        `yaml:"rejects"`
	Admin   *AdminConfig          `yaml:"admin"`
	Metrics MetricsConfig         `yaml:"metrics"`
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

// SQSConfig is a durable feed. A job in one process has no use for it, and
// functions take the queue from their environment.
type SQSConfig struct {
	QueueURL   string        `yaml:"queue_url"`
	Visibility time.Duration `yaml:"visibility"` // 0: 2 min
}

// JobConfig is a job on a durable feed. A job in one process only takes its
// name from it, and functions take the table from their environment.
type JobConfig struct {
	Name           string        `yaml:"name"`
	Table          string        `yaml:"table"`
	SettlingWindow time.Duration `yaml:"settling_window"` // 0: 10 min
	Resends        *int          `yaml:"resends"`         // 0: never; nil: 3
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
	Numbers             string `yaml:"numbers" oneof:"float|exact"` // that expressions compute with
}

// RawConfig leaves records as they are.
type RawConfig struct{}

// SinkConfig is where rows go.
type SinkConfig struct {
	File       *FileSinkConfig       `yaml:"file"`
	S3         *S3SinkConfig         `yaml:"s3"`
	ClickHouse *ClickHouseSinkConfig `yaml:"clickhouse"`
	Stdout     *NoConfig             `yaml:"stdout"`
	Blackhole  *NoConfig             `yaml:"blackhole"`
}

// FileSinkConfig is a file, or with a path that ends in a slash a directory.
type FileSinkConfig struct {
	Path string `yaml:"path,required" example:"out.ndjson"`
}

// AdminConfig is where the job answers who watches it. Without the section it
// listens nowhere.
type AdminConfig struct {
	Listen string `yaml:"listen,required" example:"127.0.0.1:9090"` // without a host: this machine's loopback
}

// MetricsConfig is how metrics are given out.
type MetricsConfig struct {
	Exporter string `yaml:"exporter" oneof:"prometheus|none"`
}

// NoConfig is the body of a component without settings.
type NoConfig struct{}

// DefaultMemory is pipeline.memory where the file does not say.
const DefaultMemory = 192 << 20

// Load reads the pipeline file at path. sets are overrides of the form
// "path=value"; env looks up the variables that the file refers to. The error
// names every problem, each with its line.
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
			return Config{}, err
		}
	}
	var c Config
	unread := doc.Decode(&c)
	unfit := c.check(func(path, format string, args ...any) error {
		if concerns(unread, path) {
			return nil // its absence only means that it could not be read
		}
		return doc.Errorf(path, format, args...)
	})
	if err := config.Join(unread, unfit); err != nil {
		return Config{}, err
	}
	c.defaults()
	return c, nil
}

// defaults fills in what the file may leave out. It copies what it changes: a
// caller may make several jobs of one Config.
func (c *Config) defaults() {
	feed, job := *c.Feed, JobConfig{}
	if c.Rejects != nil && c.Rejects.Limit == 0 {
		rejects := *c.Rejects
		rejects.Limit = DefaultRejects
		c.Rejects = &rejects
	}
	if c.Job != nil {
		job = *c.Job
	}
	c.Feed, c.Job = &feed, &job
	if c.Pipeline.Threads == 0 {
		c.Pipeline.Threads = runtime.GOMAXPROCS(0)
	}
	if c.Pipeline.Memory == 0 {
		c.Pipeline.Memory = DefaultMemory
	}
	if c.Feed.UnitsHeld == 0 {
		c.Feed.UnitsHeld = 2 * c.Pipeline.Threads
	}
	if c.Job.Name == "" {
		c.Job.Name = c.Pipeline.Name
	}
}
