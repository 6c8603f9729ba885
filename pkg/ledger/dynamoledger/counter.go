package dynamoledger

import (
	"context"
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// tally is what a shard's counter of a run says, or what is added to it.
type tally struct {
	done, dead, beat        int64
	objects, bytes, records int64
}

func (t *tally) add(o tally) {
	t.done += o.done
	t.dead += o.dead
	t.beat += o.beat
	t.objects += o.objects
	t.bytes += o.bytes
	t.records += o.records
}

// doneTally is what a done unit adds.
func doneTally(it entry) tally {
	return tally{done: 1, beat: 1, objects: int64(it.Objects), bytes: it.Counts.BytesRead, records: it.Counts.In}
}

func decodeTally(a attributes) (tally, error) {
	f := fields{of: a}
	t := tally{
		done: f.long("done"), dead: f.long("dead"), beat: f.long("beat"),
		objects: f.long("objects"), bytes: f.long("bytes"), records: f.long("records"),
	}
	return t, f.err
}

func counterKey(job string, run, shard int) attributes {
	return key(shardPartition(job, shard), fmt.Sprintf("count#%d", run))
}

// count adds t to the counter of a shard and returns the sum. An addition whose
// answer was lost is not counted twice, unless another call came between.
func (l *Ledger) count(ctx context.Context, do op, run, shard int, t tally) (tally, error) {
	by := nonce()
	// Whether it was counted now or by the call whose answer was lost, a is the
	// counter as it stands.
	a, _, err := l.update(ctx, do, write{
		key: counterKey(do.Job, run, shard),
		set: "SET #by = :by, #expires = :expires" +
			" ADD #done :done, #dead :dead, #beat :beat, #objects :objects, #bytes :bytes, #records :records",
		when: "attribute_not_exists(#by) OR #by <> :by",
		values: attributes{
			"by": bin(by), "expires": l.expires(), "done": num(t.done), "dead": num(t.dead), "beat": num(t.beat),
			"objects": num(t.objects), "bytes": num(t.bytes), "records": num(t.records),
		},
		now: true,
	})
	if err != nil {
		return tally{}, err
	}
	return decodeTally(a)
}

// said is a shard's counter, with the number of units planned for the shard.
// The meta is read after the counter was written. So of the last reader and the
// lister, which writes the end marker and then looks at the counters, at least
// one sees what the other wrote.
func (l *Ledger) said(ctx context.Context, do op, run int, t tally) (ledger.Tally, error) {
	h, err := l.head(ctx, do)
	if err != nil {
		return ledger.Tally{}, err
	}
	out := ledger.Tally{Done: int(t.done), Dead: int(t.dead)}
	if h.Run == run {
		out.Planned, out.Listed = int(h.shards[do.ID.Shard()]), h.Listed
	}
	return out, nil
}

// look is said for a call that counted nothing.
func (l *Ledger) look(ctx context.Context, do op, run int) (ledger.Tally, error) {
	a, err := l.get(ctx, do, counterKey(do.Job, run, do.ID.Shard()))
	if err != nil {
		return ledger.Tally{}, err
	}
	t, err := decodeTally(a)
	if err != nil {
		return ledger.Tally{}, fmt.Errorf("%s: %w", do, err)
	}
	return l.said(ctx, do, run, t)
}

// Progress implements [ledger.Prover].
func (l *Ledger) Progress(ctx context.Context, job string, run int) (ledger.Progress, error) {
	do := onJob("count units of", job)
	var keys []attributes
	for shard := range unit.Shards {
		keys = append(keys, counterKey(job, run, shard))
	}
	items, err := l.batch(ctx, do, keys, "")
	if err != nil {
		return ledger.Progress{}, err
	}
	var sum tally
	for _, a := range items {
		t, err := decodeTally(a)
		if err != nil {
			return ledger.Progress{}, fmt.Errorf("%s: %w", do, err)
		}
		sum.add(t)
	}
	// After the counters, as in said.
	h, err := l.head(ctx, do)
	if err != nil {
		return ledger.Progress{}, err
	}
	p := ledger.Progress{
		Tally:   ledger.Tally{Done: int(sum.done), Dead: int(sum.dead)},
		Objects: sum.objects, BytesRead: sum.bytes, Records: sum.records, Beat: sum.beat,
	}
	if h.Run == run {
		p.Planned, p.Listed = h.Planned, h.Listed
	}
	return p, nil
}
