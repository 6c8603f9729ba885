package dynamoledger

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/spate-go/spate/pkg/failure"
)

// attributes are an item, or a part of one, as DynamoDB has it.
type (
	attributes map[string]types.AttributeValue
	value      = types.AttributeValue
)

func str[S ~string](s S) value { return &types.AttributeValueMemberS{Value: string(s)} }
func bin(b []byte) value       { return &types.AttributeValueMemberB{Value: b} }
func flag(b bool) value        { return &types.AttributeValueMemberBOOL{Value: b} }
func doc(m attributes) value   { return &types.AttributeValueMemberM{Value: m} }

func num[N int | int64](n N) value {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(n), 10)}
}

// when is an instant without its zone; the zero time is 0.
func when(t time.Time) value {
	if t.IsZero() {
		return num(0)
	}
	return num(t.UnixNano())
}

// fields reads an item. What is missing reads as zero, and an attribute of a
// type that this package does not write is kept as an error.
type fields struct {
	of  attributes
	err error
}

func field[V value](f *fields, name string) (v V, ok bool) {
	raw, ok := f.of[name]
	if !ok {
		return v, false
	}
	if v, ok = raw.(V); !ok && f.err == nil {
		f.err = failure.Errorf(failure.Job, failure.Config, "attribute %q is a %T, which this program did not write", name, raw)
	}
	return v, ok
}

func (f *fields) text(name string) string {
	if v, ok := field[*types.AttributeValueMemberS](f, name); ok {
		return v.Value
	}
	return ""
}

func (f *fields) bytes(name string) []byte {
	if v, ok := field[*types.AttributeValueMemberB](f, name); ok {
		return v.Value
	}
	return nil
}

func (f *fields) flag(name string) bool {
	v, ok := field[*types.AttributeValueMemberBOOL](f, name)
	return ok && v.Value
}

func (f *fields) long(name string) int64 {
	v, ok := field[*types.AttributeValueMemberN](f, name)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	if err != nil && f.err == nil {
		f.err = failure.Errorf(failure.Job, failure.Config, "attribute %q is %q, which this program did not write", name, v.Value)
	}
	return n
}

func (f *fields) int(name string) int { return int(f.long(name)) }

func (f *fields) time(name string) time.Time {
	if n := f.long(name); n != 0 {
		return time.Unix(0, n).UTC()
	}
	return time.Time{}
}

// doc is a map; nil where there is none.
func (f *fields) doc(name string) attributes {
	if v, ok := field[*types.AttributeValueMemberM](f, name); ok {
		return v.Value
	}
	return nil
}

func (f *fields) texts(name string) []string {
	if v, ok := field[*types.AttributeValueMemberSS](f, name); ok {
		return v.Value
	}
	return nil
}

// packed reads what pack wrote.
func (f *fields) packed(name string, read func(*unpacker)) {
	b := f.bytes(name)
	if b == nil {
		return
	}
	u := unpacker{b: b}
	if read(&u); u.short && f.err == nil {
		f.err = failure.Errorf(failure.Job, failure.Config, "attribute %q is not what this program writes", name)
	}
}

// wrote reports whether the call with that nonce was the last to write the
// item.
func (a attributes) wrote(by []byte) bool {
	f := fields{of: a}
	return bytes.Equal(f.bytes("by"), by)
}

// cut makes text valid UTF-8 of at most n bytes, and says so if it cut it.
func cut(text string, n int) string {
	if len(text) <= n {
		return strings.ToValidUTF8(text, "\ufffd")
	}
	more := fmt.Sprintf(" … (%d bytes)", len(text))
	return strings.ToValidUTF8(text[:max(0, n-len(more))], "") + more
}
