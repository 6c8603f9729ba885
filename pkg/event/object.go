package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/failure"
)

// object sets what the event says of the object, the key being decoded already,
// or returns what is wrong with it.
func (r *Record) object(key string, size json.RawMessage, etag, version, sequencer text) (err error) {
	switch {
	case r.Bucket == "":
		return errors.New("no bucket")
	case len(r.Bucket) > maxName:
		return fmt.Errorf("bucket %q: %d bytes of at most %d", short(r.Bucket), len(r.Bucket), maxName)
	case key == "":
		return errors.New("no key")
	case len(key) > maxName:
		return fmt.Errorf("key %q: %d bytes of at most %d", short(key), len(key), maxName)
	case len(version) > maxName:
		return fmt.Errorf("key %q: a version id of %d bytes", short(key), len(version))
	}
	if r.Size, err = sizeOf(size); err != nil {
		return fmt.Errorf("key %q: %w", short(key), err)
	}
	if r.ETag, err = Quote(string(etag)); err != nil {
		return fmt.Errorf("key %q: %w", short(key), err)
	}
	r.Key, r.Sequencer = key, string(sequencer)
	if version != "null" { // the version id of objects from before the bucket had versioning
		r.Version = string(version)
	}
	return nil
}

// sizeOf is -1 where nothing is told.
func sizeOf(raw json.RawMessage) (int64, error) {
	if !given(raw) {
		return -1, nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < 0 {
		return -1, fmt.Errorf("size %s is not a number of bytes", short(string(raw)))
	}
	return n, nil
}

// Quote adds the quotes around an ETag that events and people leave out:
// everywhere else, and so in claims and requests, they are part of it. It fails
// if no request could carry the ETag.
func Quote(etag string) (string, error) {
	bare := etag
	if n := len(etag); n >= 2 && etag[0] == '"' && etag[n-1] == '"' {
		bare = etag[1 : n-1]
	}
	if bare == "" {
		return "", nil
	}
	if len(bare) > maxName-2 || strings.ContainsFunc(bare, func(c rune) bool { return c <= ' ' || c == '"' || c == 0x7f }) {
		return "", fmt.Errorf("ETag %q cannot be asked for", short(etag))
	}
	return `"` + bare + `"`, nil
}

// timeOf is zero where no time is told.
func timeOf(t text) time.Time {
	when, err := time.Parse(time.RFC3339, string(t))
	if err != nil {
		return time.Time{}
	}
	return when.UTC()
}

// short is s as far as an error should show it.
func short(s string) string { return failure.Excerpt(s, 200) }
