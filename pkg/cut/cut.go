// Package cut decides, before objects are packed, which of them are read in
// ranges: it looks at their first bytes, pinned.
//
// It is not the packer, which says where ranges begin and end, nor a detector of
// formats: whoever reads the objects says what of a beginning can be cut.
//
// The law: content decides, not a name or a label, and a fault that may pass
// decides nothing, since ranges and whole objects are different units (INV-3).
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

// AtOnce is how many looks a caller should take at a time, so that requests and
// memory are bounded.
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
	// called concurrently. nil: what is plain by content may be cut.
	Cuttable func(head []byte) bool
}

// Judge looks at objects.
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

// Look says how a candidate is cut; nil: it is not. An object that cannot be
// read is not cut: the reader meets the same fault, and its report is where it
// belongs. The errors are those of the context, failure.Job, and with
// object.ErrNoAnswer what may pass.
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
	if cerr := in.Close(); err == nil { // where o changed meanwhile, head is of no version
		err = cerr
	}
	return head, err
}
