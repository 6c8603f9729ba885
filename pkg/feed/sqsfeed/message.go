package sqsfeed

import (
	"iter"
	"strconv"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/unit"
)

// Names of the message attributes.
const (
	attributeUnit  = "spate-unit"
	attributeJob   = "spate-job"
	attributeProbe = "spate-probe"
	attributeType  = "String" // of each
)

const (
	attributeGroup    = types.MessageSystemAttributeNameMessageGroupId
	attributeReceives = types.MessageSystemAttributeNameApproximateReceiveCount
)

// maxMessageBytes is SQS's limit, attributes included.
const maxMessageBytes = 1 << 20

// attributes are the message attributes of m. SQS refuses empty ones.
func attributes(m feed.Message) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		_ = (m.ID == "" || yield(attributeUnit, string(m.ID))) &&
			(m.Job == "" || yield(attributeJob, m.Job)) &&
			(!m.Probe || yield(attributeProbe, "true"))
	}
}

// size is the size of m as SQS counts it.
func size(m feed.Message) int {
	n := len(m.Body)
	for name, value := range attributes(m) {
		n += len(name) + len(attributeType) + len(value)
	}
	return n
}

// entry is m as one entry of a send request.
func entry(m feed.Message, id int) types.SendMessageBatchRequestEntry {
	e := types.SendMessageBatchRequestEntry{
		Id:                aws.String(strconv.Itoa(id)),
		MessageBody:       aws.String(string(m.Body)),
		MessageAttributes: map[string]types.MessageAttributeValue{},
	}
	for name, value := range attributes(m) {
		e.MessageAttributes[name] = types.MessageAttributeValue{DataType: aws.String(attributeType), StringValue: &value}
	}
	if m.Job != "" {
		e.MessageGroupId = &m.Job // a fair queue: no job starves another
	}
	return e
}

// check refuses what SQS would refuse: SQS would answer for that entry of a
// request alone, take the others, and say less.
func check(m feed.Message) error {
	refuse := func(format string, args ...any) error {
		return failure.Errorf(failure.Unit, failure.UnsupportedDescriptor, "send unit %s: "+format, append([]any{m.ID}, args...)...)
	}
	if len(m.Body) == 0 {
		return refuse("its body is empty")
	}
	if n := size(m); n > maxMessageBytes {
		return refuse("it has %d bytes, a queue takes %d", n, maxMessageBytes)
	}
	for i := 0; i < len(m.Body); {
		if c := m.Body[i]; c >= ' ' && c < utf8.RuneSelf { // nearly all of it
			i++
			continue
		}
		r, n := utf8.DecodeRune(m.Body[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return refuse("byte %d of its body is not UTF-8", i)
		case r < 0x20 && r != '\t' && r != '\n' && r != '\r', r == 0xFFFE, r == 0xFFFF:
			return refuse("byte %d of its body begins U+%04X, which a queue refuses: escape it", i, r)
		}
		i += n
	}
	return nil
}

// received is a message as it arrived, from an event or from the queue.
type received struct {
	feed.Message
	id, receipt string
	receives    int
}

func newReceived(id, receipt, body string, custom func(name string) string, system map[string]string) received {
	r := received{id: id, receipt: receipt, receives: 1}
	r.ID, r.Job, r.Body = unit.ID(custom(attributeUnit)), custom(attributeJob), []byte(body)
	r.Probe = custom(attributeProbe) != ""
	if r.Job == "" { // not one of ours, or somebody copied it without its attributes
		r.Job = system[string(attributeGroup)]
	}
	if n, err := strconv.Atoi(system[string(attributeReceives)]); err == nil {
		r.receives = max(n, 1)
	}
	return r
}

func fromEvent(m *events.SQSMessage) received {
	return newReceived(m.MessageId, m.ReceiptHandle, m.Body,
		func(name string) string { return aws.ToString(m.MessageAttributes[name].StringValue) },
		m.Attributes)
}

func fromQueue(m *types.Message) received {
	return newReceived(aws.ToString(m.MessageId), aws.ToString(m.ReceiptHandle), aws.ToString(m.Body),
		func(name string) string { return aws.ToString(m.MessageAttributes[name].StringValue) },
		m.Attributes)
}
