package s3url_test

import (
	"testing"

	"github.com/spate-go/spate/pkg/s3url"
)

func TestAPrefixStaysAsItIsWrittenUnlessItIsADirectory(t *testing.T) {
	for url, want := range map[string]struct{ as, dir string }{
		"s3://b":       {"s3://b/", "s3://b/"},
		"s3://b/":      {"s3://b/", "s3://b/"},
		"s3://b/p":     {"s3://b/p", "s3://b/p/"},
		"s3://b/p/q/":  {"s3://b/p/q/", "s3://b/p/q/"},
		"s3://b//p":    {"s3://b//p", "s3://b//p/"},
		"s3://b/s3://": {"s3://b/s3://", "s3://b/s3://"},
	} {
		as, err := s3url.Parse(url)
		if err != nil || as.Bucket != "b" || as.String() != want.as {
			t.Errorf("%s: %s, %v", url, as, err)
		}
		dir, err := s3url.ParseDir(url)
		if err != nil || dir.Bucket != "b" || dir.String() != want.dir {
			t.Errorf("%s, a directory: %s, %v", url, dir, err)
		}
	}
}

func TestWhatNamesNoBucketIsRefused(t *testing.T) {
	for _, url := range []string{"", "s3://", "s3:///p/", "file:///p/", "b/p", "S3://b/p"} {
		if got, err := s3url.Parse(url); err == nil {
			t.Errorf("%s: %s", url, got)
		}
		if got, err := s3url.ParseDir(url); err == nil || got != (s3url.Place{}) {
			t.Errorf("%s, a directory: %s, %v", url, got, err)
		}
	}
}
