package config_test

import (
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/config"
)

// spec is a configuration with a field of every kind.
type spec struct {
	Pipeline struct {
		Name    string      `yaml:"name,required" example:"access-logs"`
		Threads int         `yaml:"threads"`
		Memory  config.Size `yaml:"memory"`
	} `yaml:"pipeline"`
	Source config.Section             `yaml:"source,required" example:"{s3: {url: s3://bucket/prefix/}}"`
	Feed   config.Section             `yaml:"feed"`
	Job    *jobSpec                   `yaml:"job"`
	Chain  []config.Section           `yaml:"chain"`
	Sink   config.Section             `yaml:"sink"`
	Sinks  config.Map[config.Section] `yaml:"sinks"`

	Built string // in code only
}

type jobSpec struct {
	Name  string `yaml:"name,required"`
	Table string `yaml:"table,required" example:"${JOB_TABLE}"`
}

type s3Spec struct {
	URL     string   `yaml:"url,required" example:"s3://bucket/prefix/"`
	Include []string `yaml:"include"`
	Limits  `yaml:",inline"`

	Compression string           `yaml:"compression" oneof:"auto|none|gzip|zstd"`
	PathStyle   bool             `yaml:"path_style"`
	Timeout     time.Duration    `yaml:"timeout"`
	Endpoint    string           `yaml:"endpoint"`
	Level       int8             `yaml:"level"`
	Port        uint16           `yaml:"port"`
	Ratio       float64          `yaml:"ratio"`
	Share       *float64         `yaml:"share"`
	Settings    map[string]int64 `yaml:"settings"`
	Labels      config.Map[int]  `yaml:"labels"`
	Codec       codec            `yaml:"codec"`
	Password    config.Secret    `yaml:"password"`
	Extra       config.Value     `yaml:"extra"`
	Modified    struct {
		After  config.Time `yaml:"after"`
		Before config.Time `yaml:"before"`
	} `yaml:"modified"`
}

type Limits struct {
	Target    config.Size `yaml:"target"`
	MaxRecord config.Size `yaml:"max_record"`
}

// codec is a type with a parser of its own that repeats the value in its error.
type codec string

func (c *codec) UnmarshalText(text []byte) error {
	if s := string(text); s != "gzip" && s != "zstd" {
		return fmt.Errorf("codec %q: unknown", s)
	}
	*c = codec(text)
	return nil
}

// load reads all parts of a file as the application does, and returns every
// complaint.
func load(name string, text []byte, env func(string) (string, bool)) (spec, s3Spec, error) {
	var s spec
	var s3 s3Spec
	doc, err := config.Parse(name, text, env)
	if err != nil {
		return s, s3, err
	}
	errs := []error{doc.Decode(&s)}
	if !s.Source.IsZero() {
		if err := s.Source.OneOf("s3", "memory"); err != nil {
			errs = append(errs, err)
		} else {
			errs = append(errs, s.Source.Decode(&s3))
		}
	}
	if !s.Feed.IsZero() {
		errs = append(errs, s.Feed.OneOf("memory", "sqs"))
	}
	if !s.Sink.IsZero() {
		errs = append(errs, s.Sink.OneOf("file", "stdout", "blackhole"))
		if s.Sink.Name() == "file" {
			var file struct {
				Path string `yaml:"path,required"`
			}
			errs = append(errs, s.Sink.Decode(&file))
		}
	}
	return s, s3, config.Join(errs...)
}
