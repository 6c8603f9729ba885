package filesink

import (
	"cmp"
	"io"
	"os"
	"slices"

	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

// series names the file of a directory.
type series struct {
	unit  unit.ID
	index int
}

// at is a block's place within its series.
type at struct{ segment, part int }

func (a at) compare(b at) int {
	return cmp.Or(cmp.Compare(a.segment, b.segment), cmp.Compare(a.part, b.part))
}

// extent is a block in a file.
type extent struct {
	at    at
	token string
	end   int64 // offset
}

// part is a file on its way: its acked blocks, in order.
type part struct {
	blocks []extent
	made   bool // the hidden file exists
	shown  bool // the blocks are under the final name
	// settled: they are so durably, and the journal knows. Nothing is left to do.
	settled bool
}

// find returns how many blocks come before b, and whether b itself is there.
func (p *part) find(b *sink.Block) (keep int, repeat bool) {
	keep, found := slices.BinarySearchFunc(p.blocks, at{b.Segment, b.Part},
		func(e extent, a at) int { return e.at.compare(a) })
	return keep, found && p.blocks[keep].token == b.Token
}

func (p *part) size() int64 { return p.sizeOf(len(p.blocks)) }

func (p *part) sizeOf(blocks int) int64 {
	if blocks == 0 {
		return 0
	}
	return p.blocks[blocks-1].end
}

// replay does to p what e says was done.
func (p *part) replay(e entry) {
	switch e.op {
	case appended:
		p.blocks = append(p.blocks, extent{at: e.at, token: e.token, end: e.end})
	case cut:
		p.blocks = p.blocks[:min(int(e.end), len(p.blocks))]
		p.shown, p.settled = false, false
	case committed:
		p.shown, p.settled = true, true
	}
}

// copyPrefix makes a file of the first n bytes of another.
func copyPrefix(to, from string, n int64) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err = io.CopyN(dst, src, n); err != nil {
		return cmp.Or(err, dst.Close(), os.Remove(to))
	}
	return dst.Close()
}

func sizeOf(name string) (int64, error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func shorter(name string, size, want int64) error {
	return configf("%s holds %d bytes, and %d were written to it before: restore it, or start over with a fresh --state and output",
		name, size, want)
}
