package unit

import (
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/spate-go/spate/pkg/failure"
)

// DescriptorVersion is the only version that Decode accepts.
const DescriptorVersion = 1

// Encode returns u's descriptor: the self-contained body of its message. It
// holds none of the characters that queues refuse, whatever the keys hold.
//
// The error is failure.Unit with unsupported_descriptor for a unit that Decode
// would refuse.
func (u *Unit) Encode() ([]byte, error) {
	if err := u.validate(); err != nil {
		return nil, refuse("encode descriptor: %w", err)
	}
	const usual = 80 // bytes of an object beyond its strings
	n := 128
	for i := range u.Objects {
		o := &u.Objects[i]
		n += usual + len(o.Key) + len(o.ETag) + len(o.Version)
	}
	b := u.append(make([]byte, 0, n))
	if len(b) > MaxDescriptorBytes {
		return nil, refuse("encode descriptor: %d bytes of at most %d", len(b), MaxDescriptorBytes)
	}
	return b, nil
}

// Decode reads a descriptor. What it returns is valid: at least one object and
// at most MaxMembers, in id order, none of negative size, and a range only of
// a single object with an ETag, within its size.
//
// Anything else is failure.Unit with unsupported_descriptor. A body of another
// version is refused by its version, whatever the rest of it looks like.
func Decode(body []byte) (*Unit, error) {
	if len(body) > MaxDescriptorBytes {
		return nil, refuse("decode descriptor: %d bytes of at most %d", len(body), MaxDescriptorBytes)
	}
	// encoding/json would put U+FFFD in place of the bad bytes, and the unit
	// would name another key.
	if !utf8.Valid(body) {
		return nil, refuse("decode descriptor: not UTF-8")
	}
	var version struct {
		V *int `json:"v"`
	}
	if err := json.Unmarshal(body, &version); err != nil {
		return nil, refuse("decode descriptor: %w", err)
	}
	if version.V == nil {
		return nil, refuse("decode descriptor: no version: it is not a unit's descriptor")
	}
	if *version.V != DescriptorVersion {
		return nil, refuse("decode descriptor: version %d and this build reads %d: use the release that listed the job, or list it again with this one",
			*version.V, DescriptorVersion)
	}
	var d descriptor
	if err := json.Unmarshal(body, &d); err != nil {
		return nil, refuse("decode descriptor: %w", err)
	}
	u := d.unit()
	if err := u.validate(); err != nil {
		return nil, refuse("decode descriptor: %w", err)
	}
	return u, nil
}

func refuse(format string, args ...any) error {
	return failure.Errorf(failure.Unit, failure.UnsupportedDescriptor, format, args...)
}

// descriptor is the JSON form. A string that is not UTF-8 travels as base64
// under its second name.
type descriptor struct {
	Job          string   `json:"job"`
	Run          int      `json:"run"`
	Bucket       string   `json:"bucket"`
	BucketBase64 []byte   `json:"bucket_base64"`
	Objects      []member `json:"objects"`
	Range        *struct {
		Start     int64 `json:"start"`
		End       int64 `json:"end"`
		Delimiter byte  `json:"delimiter"`
	} `json:"range"`
	Origin Origin `json:"origin"`
}

type member struct {
	Key           string    `json:"key"`
	KeyBase64     []byte    `json:"key_base64"`
	Size          int64     `json:"size"`
	ETag          string    `json:"etag"`
	ETagBase64    []byte    `json:"etag_base64"`
	Version       string    `json:"version"`
	VersionBase64 []byte    `json:"version_base64"`
	LastModified  time.Time `json:"last_modified"`
	Take          int       `json:"take"`
	Again         int       `json:"again"`
}

func (d *descriptor) unit() *Unit {
	u := &Unit{
		Job:     d.Job,
		Run:     d.Run,
		Bucket:  either(d.Bucket, d.BucketBase64),
		Objects: make([]Object, len(d.Objects)),
		Origin:  d.Origin,
	}
	for i := range d.Objects {
		m := &d.Objects[i]
		u.Objects[i] = Object{
			Key:          either(m.Key, m.KeyBase64),
			Size:         m.Size,
			ETag:         either(m.ETag, m.ETagBase64),
			Version:      either(m.Version, m.VersionBase64),
			LastModified: known(m.LastModified),
			Take:         m.Take,
			Again:        m.Again,
		}
	}
	if d.Range != nil {
		u.Range = &Range{Start: d.Range.Start, End: d.Range.End, Delimiter: d.Range.Delimiter}
	}
	return u
}

func either(s string, b []byte) string {
	if len(b) > 0 {
		return string(b)
	}
	return s
}
