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
	Source struct {
		S3     *s3Spec   `yaml:"s3"`
		Memory *bodiless `yaml:"memory"`
	} `yaml:"source,required" example:"{s3: {url: s3://bucket/prefix/}}"`
	Feed *struct {
		Memory *bodiless `yaml:"memory"`
		SQS    *bodiless `yaml:"sqs"`
	} `yaml:"feed"`
	Job   *jobSpec            `yaml:"job"`
	Chain []stepSpec          `yaml:"chain"`
	Sink  *sinkSpec           `yaml:"sink"`
	Sinks map[string]sinkSpec `yaml:"sinks"`

	Built string // in code only
}

type bodiless struct{}

type stepSpec struct {
	Filter string    `yaml:"filter"`
	Select []string  `yaml:"select"`
	Drop   *bodiless `yaml:"drop"`
}

type sinkSpec struct {
	File *struct {
		Path string `yaml:"path,required"`
	} `yaml:"file"`
	Stdout    *bodiless `yaml:"stdout"`
	Blackhole *bodiless `yaml:"blackhole"`
}

type jobSpec struct {
	Name  string `yaml:"name,required"`
	Table string `yaml:"table,required" example:"${JOB_TABLE}"`
}

type s3Spec struct {
	URL     string   `yaml:"url,required" example:"s3://bucket/prefix/"`
	Include []string `yaml:"include"`

	Target      config.Size      `yaml:"target"`
	MaxRecord   config.Size      `yaml:"max_record"`
	Compression string           `yaml:"compression" oneof:"auto|none|gzip|zstd"`
	PathStyle   bool             `yaml:"path_style"`
	Timeout     time.Duration    `yaml:"timeout"`
	Endpoint    string           `yaml:"endpoint"`
	Level       int8             `yaml:"level"`
	Settings    map[string]int64 `yaml:"settings"`
	Labels      map[string]int   `yaml:"labels"`
	Codec       codec            `yaml:"codec"`
	Password    string           `yaml:"password"`
	Modified    struct {
		After  config.Time `yaml:"after"`
		Before config.Time `yaml:"before"`
	} `yaml:"modified"`
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

// load parses and reads a file.
func load(name string, text []byte, env func(string) (string, bool)) (spec, error) {
	var s spec
	doc, err := config.Parse(name, text, env)
	if err != nil {
		return s, err
	}
	err = doc.Decode(&s)
	return s, err
}
