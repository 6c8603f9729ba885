package sample

import (
	"strconv"
	"strings"

	"github.com/spate-go/spate/pkg/jsontext"
)

const timeLayout = "2006-01-02T15:04:05.000Z"

// AppendJSON appends the event as one JSON object, without a line feed.
func (e *Event) AppendJSON(b []byte) []byte {
	b = append(b, `{"ts":"`...)
	b = append(e.At.UTC().AppendFormat(b, timeLayout), '"')
	b = appendText(b, "level", e.Level)
	b = appendText(b, "service", e.Service)
	b = appendText(b, "host", e.Host)
	b = appendText(b, "trace_id", e.TraceID)
	b = append(b, `,"seq":`...)
	b = strconv.AppendInt(b, e.Seq, 10)
	b = append(b, `,"user_id":`...)
	b = strconv.AppendInt(b, e.UserID, 10)
	b = appendText(b, "message", e.Message)
	b = append(b, `,"http":{"method":`...)
	b = jsontext.AppendQuoted(b, e.Method)
	b = appendText(b, "path", e.Path)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(e.Status), 10)
	b = append(b, `,"bytes":`...)
	b = strconv.AppendInt(b, int64(e.Bytes), 10)
	b = append(b, `,"duration_ms":`...)
	b = strconv.AppendFloat(b, e.DurationMS, 'f', 3, 64)
	b = appendText(b, "user_agent", e.UserAgent)
	b = append(b, `},"tags":[`...)
	b = jsontext.AppendQuoted(b, e.Tags[0])
	b = append(b, ',')
	b = jsontext.AppendQuoted(b, e.Tags[1])
	b = append(b, `],"error":`...)
	if e.ErrorKind == "" {
		return append(b, "null}"...)
	}
	b = append(b, `{"kind":`...)
	b = jsontext.AppendQuoted(b, e.ErrorKind)
	b = appendText(b, "stack", stack)
	return append(b, "}}"...)
}

// appendText appends a member after the first.
func appendText(b []byte, name, v string) []byte {
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":`...)
	return jsontext.AppendQuoted(b, v)
}

const csvHeader = "ts,level,service,host,trace_id,seq,user_id,message,method,path,status,bytes,duration_ms,user_agent,zone,build,error,stack\n"

// appendCSV appends the event as a CSV record. Its last field, where it is not
// empty, holds line breaks.
func (e *Event) appendCSV(b []byte) []byte {
	b = append(e.At.UTC().AppendFormat(b, timeLayout), ',')
	for _, v := range []string{e.Level, e.Service, e.Host, e.TraceID} {
		b = appendField(b, v)
	}
	b = append(strconv.AppendInt(b, e.Seq, 10), ',')
	b = append(strconv.AppendInt(b, e.UserID, 10), ',')
	for _, v := range []string{e.Message, e.Method, e.Path} {
		b = appendField(b, v)
	}
	b = append(strconv.AppendInt(b, int64(e.Status), 10), ',')
	b = append(strconv.AppendInt(b, int64(e.Bytes), 10), ',')
	b = append(strconv.AppendFloat(b, e.DurationMS, 'f', 3, 64), ',')
	trace := ""
	if e.ErrorKind != "" {
		trace = stack
	}
	for _, v := range []string{e.UserAgent, e.Tags[0], e.Tags[1], e.ErrorKind, trace} {
		b = appendField(b, v)
	}
	b[len(b)-1] = '\n'
	return b
}

// appendField appends a field and the comma after it.
func appendField(b []byte, v string) []byte {
	if strings.ContainsAny(v, "\",\n") {
		v = `"` + strings.ReplaceAll(v, `"`, `""`) + `"`
	}
	return append(append(b, v...), ',')
}
