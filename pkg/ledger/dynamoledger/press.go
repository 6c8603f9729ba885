package dynamoledger

import (
	"errors"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// press compresses what is long. Equal content gives equal bytes.
type press struct {
	out *zstd.Encoder
	in  *zstd.Decoder
}

const maxUnpressed = 64 << 20 // bytes of one value; a larger one is none of ours

func newPress() press {
	// Neither can fail: the options are valid, and there is no stream. The fastest
	// level makes descriptors, whose ETags are random, smaller than the next level
	// does, in half the time.
	out, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	in, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpressed))
	return press{out: out, in: in}
}

func (p *press) pack(b []byte) []byte { return p.out.EncodeAll(b, nil) }

func (p *press) unpack(b []byte, read func(*unpacker)) error {
	raw, err := p.in.DecodeAll(b, nil)
	u := unpacker{b: raw}
	if err == nil {
		if read(&u); u.short {
			err = errors.New("it ends too early")
		}
	}
	if err != nil {
		return failure.New(failure.Job, failure.Config, fmt.Errorf("unpack what this program did not write: %w", err))
	}
	return nil
}

// start packs what a run was started with, the longest part of a job's item.
func (p *press) start(source, callback string) []byte {
	var raw packer
	raw.text(source)
	raw.text(callback)
	return p.pack(raw)
}

func (p *press) readStart(b []byte) (source, callback string, err error) {
	err = p.unpack(b, func(u *unpacker) { source, callback = u.text(), u.text() })
	return source, callback, err
}

// cause packs a cause. The details of its faults share a limit.
func (p *press) cause(c ledger.Cause) value {
	c.Detail = cut(c.Detail, maxCauseDetail)
	c.Faults = slices.Clone(c.Faults)
	limit := max(maxCrowdedDetail, min(maxFaultDetail, maxCauseFaults/max(1, len(c.Faults))))
	for i := range c.Faults {
		c.Faults[i].Detail = cut(c.Faults[i].Detail, limit)
	}
	var raw packer
	raw.cause(c)
	return bin(p.pack(raw))
}

func (p *press) readCause(b []byte) (c ledger.Cause, err error) {
	err = p.unpack(b, func(u *unpacker) { c = u.cause() })
	return c, err
}
