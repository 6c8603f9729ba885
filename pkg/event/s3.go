package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/spate-go/spate/pkg/failure"
)

// s3Record is a record as S3 and compatible stores write it.
type s3Record struct {
	Version text            `json:"eventVersion"`
	Source  text            `json:"eventSource"`
	Time    text            `json:"eventTime"`
	Name    text            `json:"eventName"`
	S3      json.RawMessage `json:"s3"`
}

type s3Entity struct {
	Bucket struct {
		Name text `json:"name"`
	} `json:"bucket"`
	Object struct {
		Key       text            `json:"key"`
		Size      json.RawMessage `json:"size"`
		ETag      text            `json:"eTag"`
		Version   text            `json:"versionId"`
		Sequencer text            `json:"sequencer"`
	} `json:"object"`
}

func decodeS3(raw json.RawMessage) ([]Record, error) {
	// One by one, so that a body with too many records takes no memory for
	// them.
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return nil, errors.New("field Records is not an array")
	}
	var records []Record
	for d.More() {
		if len(records) == MaxRecords {
			return nil, fmt.Errorf("more than %d records", MaxRecords)
		}
		var r Record
		if err := d.Decode((*json.RawMessage)(&r.raw)); err != nil {
			return nil, err // never: raw is JSON
		}
		r.Err = r.fromS3(r.raw)
		records = append(records, r)
	}
	if len(records) == 0 {
		return nil, errors.New("field Records is empty")
	}
	return records, nil
}

func (r *Record) fromS3(raw json.RawMessage) error {
	var s s3Record
	if err := json.Unmarshal(raw, &s); err != nil {
		return errors.New("the record is not a JSON object")
	}
	r.Size = -1
	r.Name, r.Time = string(s.Name), timeOf(s.Time)
	// Compatible stores put their own name in the place of aws.
	if s.Source != "" && !strings.HasSuffix(string(s.Source), ":s3") {
		return fmt.Errorf("a record of %q, not of S3", short(string(s.Source)))
	}
	if !major(s.Version, "2") {
		return fmt.Errorf("event version %q and this build reads 2.x", short(string(s.Version)))
	}
	if s.Name == "" {
		return errors.New("a record of no event")
	}
	var e s3Entity
	if err := json.Unmarshal(s.S3, &e); err == nil {
		r.Bucket = string(e.Bucket.Name)
	} else if r.created() {
		return errors.New("a record without a bucket and an object")
	}
	if !r.created() {
		r.Ignored = failure.NotCreated
		return nil
	}
	key, err := url.QueryUnescape(string(e.Object.Key))
	if err != nil {
		return fmt.Errorf("key %q: %w", short(string(e.Object.Key)), err)
	}
	o := &e.Object
	return r.object(key, o.Size, o.ETag, o.Version, o.Sequencer)
}

// created reports whether the event is one of an object's creation, by any means.
func (r *Record) created() bool {
	return strings.HasPrefix(strings.TrimPrefix(r.Name, "s3:"), "ObjectCreated:")
}

// major reports whether a version is that one or a minor one of it.
func major(v text, want string) bool {
	m, _, _ := strings.Cut(string(v), ".")
	return m == want
}
