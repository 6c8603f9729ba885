package chain

import (
	"errors"
	"strings"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/reject"
)

var errOversize = errors.New("record is over the framer's limit: raise max_record or skip it")

// maxDetail bounds the text of an error in a rejects line, in bytes: it may
// quote the record, and the line holds that once already.
const maxDetail = 1 << 10

// reject counts frame i of b as rejected, and writes it down if that is wanted.
func (o *Output) reject(b *Batch, i int, r failure.Reason, err error) {
	o.Counts.In++
	o.Counts.Rejected++
	if o.Rejects == nil {
		return
	}
	f := &b.Frames[i]
	l := reject.Line{
		Key: b.Object.Key, ETag: b.Object.ETag, Version: b.Object.Version,
		Record: b.First + int64(i), Offset: b.Base + int64(f.Start),
		Reason: r, Detail: detail(err),
	}
	switch {
	case !f.Oversize:
		l.Bytes = b.Buf[f.Start:f.End:f.End]
	case i > 0: // its own frame only says where it ends
		l.Offset = b.Base + int64(b.Frames[i-1].Next)
	default:
		l.Offset = b.From
	}
	o.Rejects.Data = reject.Append(o.Rejects.Data, l)
	o.Rejects.End()
}

func detail(err error) string {
	text := err.Error()
	if len(text) <= maxDetail {
		return text
	}
	return strings.ToValidUTF8(text[:maxDetail], "") + "…"
}
