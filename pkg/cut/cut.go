// Package cut decides, before objects are packed, which of them are read in
// ranges: it looks at their first bytes, pinned.
//
// It is neither the packer, which places the ranges, nor a format detector:
// whoever reads the objects supplies the judge of their first bytes.
//
// The law: content decides, never a name or a label, and a transient fault
// decides nothing: ranges and whole objects are different units, so a guess
// would break INV-3.
package cut

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spate-go/spate/pkg/codec"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/unit"
)

// AtOnce is how many calls of Look a caller should make at a time, to bound
// requests and memory.
const AtOnce = 16

// Options say what is cut and how. The zero value cuts nothing.
type Options struct {
	Target int64 // bytes of a unit; 0 means plan.DefaultTarget
	// Cut says how objects over the target are cut; nil: they are not.
	Cut *plan.Cut
	// Head is how many bytes of such an object Cuttable sees; 0 means
	// codec.HeadBytes.
	Head int64
	// Cuttable judges the first bytes of an object that would be cut. It may be
	// called concurrently. nil: an object with plain content may be cut.
	Cuttable func(head []byte) bool
}

// Judge decides which objects are read in ranges.
type Judge struct {
	opener object.Opener
	opts   Options
}

// New returns a judge of the objects that b opens.
func New(b object.Opener, o Options) *Judge {
	o.Head = cmp.Or(o.Head, codec.HeadBytes)
	if o.Cuttable == nil {
		o.Cuttable = plain
	}
	return &Judge{b, o}
}

// plain reports whether the content is text as it stands.
func plain(head []byte) bool {
	c, err := codec.Sniff(head)
	return err == nil && c == codec.Plain
}

// Candidate reports whether o would be cut if its content allowed it.
func (j *Judge) Candidate(o unit.Object) bool {
	return j.opts.Cut != nil && o.Size > plan.Target(j.opts.Target) && o.ETag != ""
}

// Look reads the first bytes of a candidate and returns how it is cut, nil if
// it is not. An object that cannot be read is not cut: the reader will meet the
// same fault and report it. Look itself fails only with ctx's error, with
// failure.Job, or with object.ErrNoAnswer, which may pass.
func (j *Judge) Look(ctx context.Context, o unit.Object) (*plan.Cut, error) {
	head, err := j.head(ctx, o)
	switch {
	case err == nil && j.opts.Cuttable(head):
		return j.opts.Cut, nil
	case err != nil && (ctx.Err() != nil || failure.Is(err, failure.Job) || errors.Is(err, object.ErrNoAnswer)):
		return nil, fmt.Errorf("look at %q: %w", o.Key, err)
	}
	return nil, nil
}

func (j *Judge) head(ctx context.Context, o unit.Object) ([]byte, error) {
	head := make([]byte, min(j.opts.Head, o.Size))
	in := object.NewReader(ctx, j.opener, []object.Part{{Object: o, End: int64(len(head))}}, object.Options{})
	err := in.Next()
	if err == nil {
		_, err = io.ReadFull(in, head)
	}
	if cerr := in.Close(); err == nil { // o changed meanwhile: head belongs to no version
		err = cerr
	}
	return head, err
}
