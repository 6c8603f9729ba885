package clickhousesink

import (
	"context"
	"errors"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
)

// replica is one server.
type replica struct {
	url     string
	name    string // its host and port, for errors
	alone   bool   // in its shard
	breaker *sink.Breaker

	lock   chan struct{} // a mutex whose waits end with their context
	known  *known        // written once, under lock, before the first insert
	looked time.Time     // guarded by lock: when its columns were last compared
}

// known is what inserts at a replica need to know of it.
type known struct {
	insert     string
	parameters url.Values
	header     []byte // ahead of rows
	token      bool   // it knows tokens
	divisible  bool   // what a view refuses has stored nothing
	untyped    bool   // rows do not name their types to it
}

// shard is the replicas of one part of the rows.
type shard struct {
	mark     string // in tokens; "": it is the only one
	replicas []*replica
	next     atomic.Uint64
	last     atomic.Pointer[lastError]
	patience time.Duration // for a replica that may be asked
}

type lastError struct{ err error }

// newShards are the shards, and which of them a key's remainder is of: half-open
// intervals in the order of the configuration, as many wide as the weight says.
func newShards(o *Options) (shards []*shard, slots []int) {
	for i, s := range o.Shards {
		sh := &shard{}
		if len(o.Shards) > 1 {
			sh.mark = shardMark(i)
		}
		for _, text := range s.Replicas {
			r := &replica{url: text, alone: len(s.Replicas) == 1, breaker: sink.NewBreaker(o.Breaker), lock: make(chan struct{}, 1)}
			if u, err := url.Parse(text); err == nil { // it was checked
				r.name = u.Host
			}
			sh.replicas = append(sh.replicas, r)
		}
		sh.patience = 2 * max(o.Breaker.Open, 5*time.Second)
		shards = append(shards, sh)
		for range s.Weight {
			slots = append(slots, i)
		}
	}
	return shards, slots
}

// admit is the next replica in turn that may be asked. While none may it waits;
// that is no attempt. When nobody's probe has found one in the meantime, it gives
// up for this time, so that whoever retries can tell how long that has been
// going on.
func (sh *shard) admit(ctx context.Context) (*replica, func(sink.Outcome), error) {
	first := sh.next.Add(1) - 1
	start := time.Now()
	for {
		wait := sh.patience
		for i := range sh.replicas {
			r := sh.replicas[(first+uint64(i))%uint64(len(sh.replicas))]
			if report, ok := r.breaker.Admit(); ok {
				return r, report, nil
			}
			wait = min(wait, r.breaker.Wait())
		}
		if time.Since(start) >= sh.patience {
			return nil, nil, sh.exhausted()
		}
		if err := backoff.Wait(ctx, max(wait, time.Millisecond)); err != nil {
			return nil, nil, err
		}
	}
}

func (sh *shard) exhausted() error {
	err := errors.New("no replica may be asked")
	if last := sh.last.Load(); last != nil {
		err = last.err
	}
	return failure.Errorf(failure.Transient, failure.RetriesExhausted, "every replica fails, and a probe is still under way: last error: %w", err)
}
