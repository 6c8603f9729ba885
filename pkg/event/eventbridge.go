package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spate-go/spate/pkg/failure"
)

type detail struct {
	Version text `json:"event-version"` // of the detail; older ones have none
	Bucket  struct {
		Name text `json:"name"`
	} `json:"bucket"`
	Object struct {
		Key       text            `json:"key"`
		Size      json.RawMessage `json:"size"`
		ETag      text            `json:"etag"`
		Version   text            `json:"version-id"`
		Sequencer text            `json:"sequencer"`
	} `json:"object"`
}

// decodeEventBridge reads an event of a bus, which is one record.
func decodeEventBridge(e *envelope, body []byte) ([]Record, error) {
	if e.Source != "aws.s3" {
		return nil, fmt.Errorf("an EventBridge event of %q, not of S3", short(string(e.Source)))
	}
	// Calls that a trail recorded may be endless, and none says what it
	// created.
	if !strings.HasPrefix(string(e.DetailType), "Object ") {
		return nil, fmt.Errorf("an EventBridge event %q: let the rule match %q", short(string(e.DetailType)), objectCreated)
	}
	r := Record{Name: string(e.DetailType), Size: -1, Time: timeOf(e.Time), raw: body, single: true}
	r.Err = r.fromDetail(e)
	return []Record{r}, nil
}

const objectCreated = "Object Created"

func (r *Record) fromDetail(e *envelope) error {
	if e.Version != "" && !major(e.Version, "0") {
		return fmt.Errorf("EventBridge version %q and this build reads 0", short(string(e.Version)))
	}
	var d detail
	if err := json.Unmarshal(e.Detail, &d); err != nil {
		return errors.New("an event without a bucket and an object")
	}
	if d.Version != "" && !major(d.Version, "1") {
		return fmt.Errorf("event version %q and this build reads 1.x of EventBridge", short(string(d.Version)))
	}
	r.Bucket = string(d.Bucket.Name)
	if r.Name != objectCreated {
		r.Ignored = failure.NotCreated
		return nil
	}
	o := &d.Object
	return r.object(string(o.Key), o.Size, o.ETag, o.Version, o.Sequencer)
}
