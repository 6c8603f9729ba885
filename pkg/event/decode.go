package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spate-go/spate/pkg/failure"
)

// text is a JSON string; any other value is read as "", so that a field that
// another service uses differently does not fail the decoding.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = text(s)
	}
	return nil
}

// envelope has the fields that tell notifications apart.
type envelope struct {
	Records json.RawMessage `json:"Records"` // S3

	Event  text `json:"Event"` // S3's test event
	Bucket text `json:"Bucket"`
	Time   text `json:"Time"` // also EventBridge's

	Type    text            `json:"Type"` // SNS
	Topic   text            `json:"TopicArn"`
	Message json.RawMessage `json:"Message"`

	DetailType text            `json:"detail-type"` // EventBridge
	Source     text            `json:"source"`
	Version    text            `json:"version"`
	Detail     json.RawMessage `json:"detail"`

	S3Bucket    json.RawMessage `json:"s3Bucket"` // what trails and recorders write
	S3ObjectKey json.RawMessage `json:"s3ObjectKey"`
}

// Decode reads the body of a message. It fails only if nothing in it can be
// understood; a single bad record is returned with its Err.
func Decode(body []byte) ([]Record, error) {
	switch {
	case len(body) > MaxBytes:
		return nil, fmt.Errorf("decode notification: %d bytes of at most %d", len(body), MaxBytes)
	case !utf8.Valid(body): // encoding/json would name another key in its place
		return nil, errors.New("decode notification: not UTF-8")
	}
	records, err := decode(body, true)
	if err != nil {
		return nil, fmt.Errorf("decode notification: %w", err)
	}
	return records, nil
}

// decode reads a notification, which may come wrapped by SNS once.
func decode(body []byte, wrapped bool) ([]Record, error) {
	if first := bytes.TrimLeft(body, " \t\r\n"); len(first) == 0 || first[0] != '{' {
		return nil, errors.New("not a JSON object")
	}
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, err
	}
	switch {
	case given(e.Records):
		return decodeS3(e.Records)
	case e.Event == "s3:TestEvent":
		return []Record{{Name: string(e.Event), Bucket: string(e.Bucket), Size: -1, Time: timeOf(e.Time), Ignored: failure.Test, raw: body, single: true}}, nil
	case given(e.Detail) && e.DetailType != "":
		return decodeEventBridge(&e, body)
	case given(e.S3Bucket) && given(e.S3ObjectKey):
		return nil, errors.New("it is a notification of CloudTrail's or Config's own, not of S3: let the bucket that they write to notify instead")
	case given(e.Message) && e.Topic != "":
		return decodeSNS(&e, wrapped)
	}
	return nil, fmt.Errorf("a JSON object with %s is not a notification of S3, SNS or EventBridge", fields(body))
}

func decodeSNS(e *envelope, wrapped bool) ([]Record, error) {
	if !wrapped {
		return nil, fmt.Errorf("SNS topic %q: wrapped twice", short(string(e.Topic)))
	}
	if e.Type != "Notification" {
		return nil, fmt.Errorf("SNS topic %q: a %q is not a notification: subscribe the queue anew, which confirms itself", short(string(e.Topic)), short(string(e.Type)))
	}
	var inner text
	if err := json.Unmarshal(e.Message, &inner); err != nil {
		return nil, err // never: it is JSON
	}
	records, err := decode([]byte(inner), false)
	if err != nil {
		return nil, fmt.Errorf("SNS topic %q: %w", short(string(e.Topic)), err)
	}
	return records, nil
}

// given reports whether a field is there.
func given(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// fields names some of the fields of a JSON object, so that whoever reads the
// dead letter can tell where it is from.
func fields(body []byte) string {
	var all map[string]json.RawMessage
	if json.Unmarshal(body, &all) != nil || len(all) == 0 {
		return "no fields"
	}
	const most, longest = 5, 40
	names := slices.Sorted(maps.Keys(all))
	shown := make([]string, 0, most)
	for _, n := range names[:min(most, len(names))] {
		shown = append(shown, fmt.Sprintf("%.*q", longest, n))
	}
	if more := len(names) - len(shown); more > 0 {
		return fmt.Sprintf("%s and %d more fields", strings.Join(shown, ", "), more)
	}
	return "fields " + strings.Join(shown, ", ")
}
