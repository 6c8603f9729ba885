package chain

import (
	"errors"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/reject"
)

var errOversize = errors.New("record is over the framer's limit: raise max_record or skip it")

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
		Reason: r, Detail: reject.Detail(err.Error()),
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
