package chain

import (
	"bytes"
	"slices"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/record"
)

// Line is Raw("\n") for records that may contain line feeds themselves, as JSON
// over several lines does: each becomes one line, with a space for every line
// feed in it. In valid JSON line feeds occur only between tokens, so the
// meaning stays the same.
func Line() Constructor {
	return func() Worker { return line{} }
}

type line struct{}

func (line) Process(b *Batch, out *Output) error {
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
		n := neighbours(b.Frames, i)
		whole := clean(b.Buf, b.Frames[i:n])
		for k := range out.Sinks {
			rows := &out.Sinks[k]
			rows.trace(b, i, n)
			if whole {
				rows.lines(b.Buf, b.Frames[i:n])
				continue
			}
			for _, f := range b.Frames[i:n] {
				rows.line(b.Buf[f.Start:f.End])
			}
		}
		c.In += int64(n - i)
		c.Out += int64(n - i)
		i = n
	}
	return nil
}

// neighbours returns the end of the longest run of frames from i with one byte
// between each two.
func neighbours(frames []record.Frame, i int) int {
	for i++; i < len(frames) && !frames[i].Oversize && frames[i].Start == frames[i-1].End+1; i++ {
	}
	return i
}

// clean reports whether no frame of a run holds a line feed.
func clean(buf []byte, frames []record.Frame) bool {
	between := 0
	for _, f := range frames[1:] {
		if buf[f.Start-1] == '\n' {
			between++
		}
	}
	return bytes.Count(buf[frames[0].Start:frames[len(frames)-1].End], []byte{'\n'}) == between
}

// lines appends a run in one copy: what is between the frames becomes the line
// feeds.
func (r *Rows) lines(buf []byte, frames []record.Frame) {
	first, last := frames[0].Start, frames[len(frames)-1].End
	shift := len(r.Data) - first + 1
	r.Data = append(append(r.Data, buf[first:last]...), '\n')
	for i := range frames {
		end := frames[i].End + shift
		r.Data[end-1] = '\n'
		r.Ends = append(r.Ends, end)
	}
}

func (r *Rows) line(b []byte) {
	at := len(r.Data)
	r.Data = append(append(r.Data, b...), '\n')
	for row := r.Data[at : len(r.Data)-1]; ; {
		i := bytes.IndexByte(row, '\n')
		if i < 0 {
			break
		}
		row[i] = ' '
		row = row[i+1:]
	}
	r.End()
}
