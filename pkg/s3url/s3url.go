// Package s3url reads the URLs of places in buckets, s3://bucket/prefix/.
package s3url

import (
	"fmt"
	"strings"
)

// Place is a bucket and a prefix of its keys.
type Place struct{ Bucket, Prefix string }

func (p Place) String() string { return "s3://" + p.Bucket + "/" + p.Prefix }

// Parse leaves the prefix as it is written: one without a slash at its end is
// also a prefix of keys that go on differently, and "" is one of all.
func Parse(url string) (Place, error) {
	rest, ok := strings.CutPrefix(url, "s3://")
	bucket, prefix, _ := strings.Cut(rest, "/")
	if !ok || bucket == "" {
		return Place{}, fmt.Errorf("%q is not of the form s3://bucket/prefix/", url)
	}
	return Place{bucket, prefix}, nil
}

// ParseDir is Parse for what is written to: the prefix is a directory, with a
// slash at its end or, of a whole bucket, empty.
func ParseDir(url string) (Place, error) {
	p, err := Parse(url)
	if p.Prefix != "" && !strings.HasSuffix(p.Prefix, "/") {
		p.Prefix += "/"
	}
	return p, err
}
