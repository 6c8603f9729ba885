package chain

import (
	"slices"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/record"
)

// Raw is the chain that decodes nothing: every record becomes a row of every
// sink, byte for byte, with suffix after it.
func Raw(suffix string) Constructor {
	return func() Worker { return raw(suffix) }
}

type raw string

func (r raw) Process(b *Batch, out *Output) error {
	c := &out.Counts
	for i := range out.Sinks {
		out.Sinks[i].Ends = slices.Grow(out.Sinks[i].Ends, len(b.Frames))
	}
	for i := 0; i < len(b.Frames); {
		if b.Frames[i].Oversize {
			out.reject(b, i, failure.Undecodable, errOversize)
			i++
			continue
		}
		n := r.stretch(b, i)
		for k := range out.Sinks {
			r.copy(&out.Sinks[k], b.Buf, b.Frames[i:n])
			out.Sinks[k].trace(b, i, n)
		}
		c.In += int64(n - i)
		c.Out += int64(n - i)
		i = n
	}
	return nil
}

// stretch returns the end of the longest run of frames from i that lie in the
// buffer as the rows will: each followed by the suffix and then the next one.
// Such a run is one copy.
func (r raw) stretch(b *Batch, i int) int {
	if len(r) != 1 {
		return i + 1
	}
	for i++; i < len(b.Frames); i++ {
		last, f := &b.Frames[i-1], &b.Frames[i]
		if f.Oversize || f.Start != last.End+1 || b.Buf[last.End] != r[0] {
			break
		}
	}
	return i
}

// copy appends a stretch. The last frame's suffix may not be in the buffer.
func (r raw) copy(rows *Rows, buf []byte, frames []record.Frame) {
	first, last := frames[0].Start, frames[len(frames)-1].End
	shift := len(rows.Data) - first + len(r)
	rows.Data = append(append(rows.Data, buf[first:last]...), r...)
	for i := range frames {
		rows.Ends = append(rows.Ends, frames[i].End+shift)
	}
}
