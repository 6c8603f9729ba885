package unit

import (
	"encoding/base64"
	"strconv"
	"time"
	"unicode/utf8"
)

// EnvelopeBytes is the length of u's descriptor without its objects. Together
// with EncodedBytes of every object it is exactly the length of what Encode
// returns, so a packer can add up sizes and encode nothing.
func (u *Unit) EnvelopeBytes() int {
	var buf [256]byte
	bare := *u
	bare.Objects = nil
	// Every object counts a comma and the first has none.
	return len(bare.append(buf[:0])) - 1
}

// EncodedBytes is what o adds to a descriptor.
func (o *Object) EncodedBytes() int {
	var buf [512]byte
	return len(o.append(buf[:0])) + 1
}

func (u *Unit) append(b []byte) []byte {
	b = append(b, `{"v":`...)
	b = strconv.AppendInt(b, DescriptorVersion, 10)
	b = appendText(b, `,"job`, u.Job)
	b = append(b, `,"run":`...)
	b = strconv.AppendInt(b, int64(u.Run), 10)
	b = appendText(b, `,"bucket`, u.Bucket)
	b = append(b, `,"objects":[`...)
	for i := range u.Objects {
		if i > 0 {
			b = append(b, ',')
		}
		b = u.Objects[i].append(b)
	}
	b = append(b, ']')
	if u.Range != nil {
		b = append(b, `,"range":{"start":`...)
		b = strconv.AppendInt(b, u.Range.Start, 10)
		b = append(b, `,"end":`...)
		b = strconv.AppendInt(b, u.Range.End, 10)
		b = append(b, `,"delimiter":`...)
		b = strconv.AppendUint(b, uint64(u.Range.Delimiter), 10)
		b = append(b, '}')
	}
	if u.Origin != "" {
		b = appendText(b, `,"origin`, string(u.Origin))
	}
	return append(b, '}')
}

func (o *Object) append(b []byte) []byte {
	b = appendText(b, `{"key`, o.Key)
	b = append(b, `,"size":`...)
	b = strconv.AppendInt(b, o.Size, 10)
	if o.ETag != "" {
		b = appendText(b, `,"etag`, o.ETag)
	}
	if o.Version != "" {
		b = appendText(b, `,"version`, o.Version)
	}
	if t := known(o.LastModified); !t.IsZero() {
		b = append(b, `,"last_modified":"`...)
		b = append(t.AppendFormat(b, time.RFC3339Nano), '"')
	}
	if o.Take > 0 {
		b = strconv.AppendInt(append(b, `,"take":`...), int64(o.Take), 10)
	}
	if o.Again > 0 {
		b = strconv.AppendInt(append(b, `,"again":`...), int64(o.Again), 10)
	}
	return append(b, '}')
}

// known is t in UTC, or zero for a time that RFC 3339 cannot express: its years
// have four digits, and a year beyond them says nothing about an object.
func known(t time.Time) time.Time {
	t = t.UTC()
	if y := t.Year(); y < 0 || y > 9999 {
		return time.Time{}
	}
	return t
}

// appendText appends a JSON member. name is everything up to the closing quote
// of its name, so that a string that is not UTF-8 can go under a second name,
// as base64: JSON has no other way to carry it. A descriptor is the same bytes in
// every release and what SQS takes, which jsontext.AppendQuoted does not promise.
func appendText(b []byte, name, s string) []byte {
	b = append(b, name...)
	if plain(s) {
		b = append(b, `":"`...)
		b = append(b, s...)
		return append(b, '"')
	}
	if !utf8.ValidString(s) {
		b = append(b, `_base64":"`...)
		b = base64.StdEncoding.AppendEncode(b, []byte(s))
		return append(b, '"')
	}
	b = append(b, `":"`...)
	done := 0
	for i, r := range s {
		if !escaped(r) {
			continue
		}
		b = append(b, s[done:i]...)
		b = appendEscaped(b, r)
		done = i + utf8.RuneLen(r)
	}
	b = append(b, s[done:]...)
	return append(b, '"')
}

// plain reports whether s is ASCII that stands for itself, as nearly every key
// is.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || escaped(rune(c)) {
			return false
		}
	}
	return true
}

// escaped reports whether r needs an escape, because of JSON or because SQS
// refuses it: everything below U+0020, U+FFFE and U+FFFF.
func escaped(r rune) bool {
	return r < ' ' || r == '"' || r == '\\' || r == 0xFFFE || r == 0xFFFF
}

func appendEscaped(b []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	if r == '"' || r == '\\' {
		return append(b, '\\', byte(r))
	}
	return append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}
