package app

import (
	"strings"
	"testing"
)

func s3Config() *Config {
	return &Config{
		Source: SourceConfig{S3: &S3Config{URL: "s3://in/logs/"}},
		Decode: &DecodeConfig{JSON: &JSONConfig{}},
		Chain:  []StepConfig{{Filter: "a > 1"}},
		Sink:   &SinkConfig{S3: &S3SinkConfig{URL: "s3://out/rows/", Partition: "region"}},
	}
}

// Objects are named by block, so a job goes on only with what decides the rows of
// its blocks.
func TestWhatDecidesTheBlocksOfAnS3SinkIsInTheReadDigest(t *testing.T) {
	was := readDigest(s3Config(), Pipeline{})
	if again := readDigest(s3Config(), Pipeline{}); again != was {
		t.Errorf("it changes by itself: %s, %s", was, again)
	}
	for name, change := range map[string]func(*Config){
		"a filter":    func(c *Config) { c.Chain[0].Filter = "a > 2" },
		"a step":      func(c *Config) { c.Chain = append(c.Chain, StepConfig{Drop: []string{"b"}}) },
		"a decoder":   func(c *Config) { c.Decode.JSON.RejectDuplicateKeys = true },
		"a partition": func(c *Config) { c.Sink.S3.Partition = "zone" },
		"a prefix":    func(c *Config) { c.Sink.S3.URL = "s3://out/" },
		"one of several": func(c *Config) {
			c.Sinks, c.Sink = map[string]SinkConfig{"a": *c.Sink, "b": {Blackhole: &NoConfig{}}}, nil
		},
	} {
		c := s3Config()
		change(c)
		if readDigest(c, Pipeline{}) == was {
			t.Errorf("%s changes nothing", name)
		}
		c.Sink, c.Sinks = &SinkConfig{File: &FileSinkConfig{Path: "out"}}, nil
		if got, want := readDigest(c, Pipeline{}), readDigest(&Config{Source: c.Source}, Pipeline{}); got != want {
			t.Errorf("%s changes a job whose sink is a file", name)
		}
	}
}

func TestRawRowsAreNotPartitioned(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "us-east-1")
	c := s3Config()
	c.Chain, c.Decode = nil, nil
	_, err := openS3Sink(t.Context(), c, Pipeline{}, c.Sink.S3, location{})
	if err == nil || !strings.Contains(err.Error(), "add decode") {
		t.Errorf("got %v", err)
	}
	for name, p := range map[string]func(c *Config){
		"without a partition": func(c *Config) { c.Sink.S3.Partition = "" },
		"decoded":             func(c *Config) { c.Decode = &DecodeConfig{JSON: &JSONConfig{}} },
	} {
		c := s3Config()
		c.Chain, c.Decode = nil, nil
		p(c)
		if _, err := openS3Sink(t.Context(), c, Pipeline{}, c.Sink.S3, location{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
