package lister

import (
	"context"
	"fmt"

	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/unit"
)

// Found is the result of a survey.
type Found struct {
	ledger.Inventory
	// Waiting counts the objects in units that must be restored before they can be
	// read, WaitingBytes their size. 0 if the filter skips archived objects.
	Waiting, WaitingBytes int64
}

// Listed is the number of keys.
func (f *Found) Listed() int64 {
	return f.Objects + f.Empty + f.Directory + f.Archived + f.Excluded
}

// Survey lists and packs as a Lister does for the job, and enters and sends
// nothing. each is called for every unit that the job would have, in order;
// Kept is not called.
func Survey(ctx context.Context, job string, b object.Bucket, o Options, each func(*unit.Unit)) (Found, error) {
	s := &survey{Bucket: b, filter: o.Filter}
	o.Kept = each // of what Publish does not ask to be sent, which is everything
	l := New(s, s, nobody{}, o)
	if err := l.Run(ctx, job, ledger.Meta{Run: 1}); err != nil {
		return Found{}, err
	}
	s.found.Waiting, s.found.WaitingBytes = s.waiting.Objects, s.waiting.Bytes
	return s.found, nil
}

// survey stands in for the ledger, and for the bucket to count what no page of
// a ledger counts: objects that must be restored.
type survey struct {
	object.Bucket
	filter  plan.Filter
	waiting ledger.Inventory // counted by List, which runs ahead of everything else
	found   Found
	page    string // that was counted last
}

var _ ledger.Planner = (*survey)(nil)

func (s *survey) List(ctx context.Context, after string) (object.Page, error) {
	p, err := s.Bucket.List(ctx, after)
	if err != nil {
		return p, err
	}
	for i := range p.Objects {
		if o := &p.Objects[i]; o.Archived && s.filter.Select(o.Object, true) == plan.Take {
			s.waiting.Objects++
			s.waiting.Bytes += o.Size
		}
	}
	return p, nil
}

func (s *survey) Start(context.Context, string, ledger.Start) (ledger.Meta, error) {
	return ledger.Meta{}, nil
}

func (s *survey) Lease(context.Context, ledger.Lease) (ledger.Meta, error) {
	return ledger.Meta{Page: s.page}, nil
}

// Publish lets nothing be sent.
func (s *survey) Publish(_ context.Context, _ ledger.Lease, p ledger.Page) (ledger.Page, []unit.ID, error) {
	return p, nil, nil
}

// Advance counts the page.
func (s *survey) Advance(_ context.Context, _ ledger.Lease, p ledger.Page) error {
	s.found.Add(p.Inventory)
	s.page = p.Last
	return nil
}

func (s *survey) Finish(context.Context, ledger.Lease) error { return nil }

// nobody is sent nothing.
type nobody struct{}

func (nobody) Send(_ context.Context, m ...feed.Message) error {
	return fmt.Errorf("send %d units of a survey: this is a fault of the program, please report it", len(m))
}
