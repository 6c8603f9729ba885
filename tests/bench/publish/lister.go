package main

import (
	"context"
	"crypto/md5"
	"fmt"
	"io"
	"sort"
	"time"

	"github.com/spate-go/spate/pkg/feed/sqsfeed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
	"github.com/spate-go/spate/pkg/lister"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

const job = "bench"

// lister lists the bucket once, and returns what that took and the calls that it
// made.
func (b bench) lister(ctx context.Context) (usage, *recording, error) {
	s, err := b.stack(ctx)
	if err != nil {
		return usage{}, nil, err
	}
	calls := &recording{}
	l := dynamoledger.New(&table{Client: s.Dynamo, recording: calls}, s.Name, dynamoledger.Options{})
	f := sqsfeed.New(&queue{Client: s.SQS, recording: calls}, s.Feed, sqsfeed.Options{})
	meta, err := l.Start(ctx, job, ledger.Start{Token: "bench"})
	if err != nil {
		return usage{}, nil, err
	}
	calls.forget() // of the start
	objects := newBucket(b.objects)
	took, err := measure(func() error {
		return lister.New(objects, l, f, lister.Options{Bucket: "bucket"}).Run(ctx, job, meta)
	})
	if err != nil {
		return took, nil, err
	}
	if meta, err = l.Meta(ctx, job); err != nil {
		return took, nil, err
	}
	if !meta.Listed || meta.Inventory.Objects != int64(b.objects) || meta.Planned != calls.units() {
		return took, nil, fmt.Errorf("%d of %d objects in %d units, of which %d were written", meta.Inventory.Objects, b.objects, meta.Planned, calls.units())
	}
	return took, calls, complete(ctx, l, f, calls.units())
}

// complete is an error unless so many units are in the table and in the queue.
func complete(ctx context.Context, l *dynamoledger.Ledger, f *sqsfeed.Feed, units int) error {
	census, err := l.Prove(ctx, job, 1)
	if err != nil {
		return err
	}
	depth, err := f.Depth(ctx)
	if err != nil {
		return err
	}
	if census.Open != units || depth.Ready != units {
		return fmt.Errorf("%d units are open and %d messages are ready, of %d", census.Open, depth.Ready, units)
	}
	return nil
}

// bucket is a listing that is made before, of objects that nobody reads.
type bucket []object.Listed

var _ object.Bucket = bucket(nil)

func newBucket(objects int) bucket {
	b := make(bucket, objects)
	for i := range b {
		b[i].Object = unit.Object{
			Key:  fmt.Sprintf("logs/region=eu-central-1/dt=2026-11-01/part-%09d.ndjson.zst", i),
			Size: 1 << 20, ETag: fmt.Sprintf(`"%x"`, md5.Sum([]byte{byte(i), byte(i >> 8), byte(i >> 16)})), LastModified: time.Date(2026, 11, 1, 0, 0, i, 0, time.UTC),
		}
	}
	return b
}

const pageKeys = 1000 // as S3 has it

func (b bucket) List(_ context.Context, after string) (object.Page, error) {
	from := sort.Search(len(b), func(i int) bool { return b[i].Key > after })
	to := min(from+pageKeys, len(b))
	p := object.Page{Objects: b[from:to], Last: after, More: to < len(b)}
	if from < to {
		p.Last = b[to-1].Key
	}
	return p, nil
}

func (b bucket) Pin(o unit.Object) object.Pinned { return unread{o} }

type unread struct{ unit.Object }

func (u unread) ReadRange(context.Context, int64, int64) (io.ReadCloser, error) {
	return nil, fmt.Errorf("%s was to be read: the lister reads nothing that it does not cut", u.Key)
}

func (unread) Close() error { return nil }
