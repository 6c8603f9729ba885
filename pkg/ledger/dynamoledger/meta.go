package dynamoledger

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// maxHaltDetail is in bytes. The job's item is read with every unit, and a read
// costs by 4 KB.
const maxHaltDetail = 600

// head is a job's item.
type head struct {
	ledger.Meta          // Planned is the sum of shards
	token       string   // the one that started the run
	holder      string   // of the lease
	pages       int      // how many the listing has reached
	published   int      // how many are in the ledger: one more while a page is under way
	shards      perShard // units planned, of the pages reached
	// again counts the units of the page under way that earlier pages of the run
	// had already: they count once.
	again perShard
}

// perShard is a number for each shard.
type perShard [unit.Shards]int64

func (s *perShard) refs() []*int64 {
	refs := make([]*int64, len(s))
	for i := range s {
		refs[i] = &s[i]
	}
	return refs
}

func (s *perShard) packed() value {
	var p packer
	p.numbers(s[:]...)
	return bin(p)
}

func (s *perShard) sum() (n int) {
	for _, of := range s {
		n += int(of)
	}
	return n
}

func (h *head) encode(p *press) attributes {
	a := metaKey(h.Job)
	for name, n := range map[string]int{"run": h.Run, "generation": h.Generation, "pages": h.pages, "published": h.published, "ask": h.Ask, "swept": h.Swept, "resends": h.Resends} {
		a[name] = num(n)
	}
	a["state"] = str(h.State)
	a["plan"], a["read"], a["token"] = str(h.Digests.Plan), str(h.Digests.Read), str(h.token)
	a["start"] = bin(p.start(h.Source, h.Callback))
	a["page"], a["inventory"], a["planned"] = bin([]byte(h.Page)), packedInventory(h.Inventory), h.shards.packed()
	a["listed"], a["started"] = flag(h.Listed), when(h.Started)
	if h.Continuous {
		a["continuous"], a["cutoff"] = flag(true), when(h.Cutoff)
	}
	if h.again != (perShard{}) {
		a["again"] = h.again.packed()
	}
	if !h.Ended.IsZero() {
		a["ended"] = when(h.Ended)
	}
	if h.holder != "" {
		a["holder"], a["leased"] = str(h.holder), when(h.Leased)
	}
	if len(h.Pipelines) > 0 {
		a["pipelines"] = &types.AttributeValueMemberSS{Value: h.Pipelines}
	}
	if h.Halt != nil {
		a["halt"] = haltValue(*h.Halt)
	}
	return a
}

func packedInventory(v ledger.Inventory) value {
	var p packer
	p.inventory(v)
	return bin(p)
}

func haltValue(h ledger.Halt) value {
	return doc(attributes{"reason": str(h.Reason), "detail": str(cut(h.Detail, maxHaltDetail)), "at": when(h.At)})
}

func decodeHead(job string, a attributes, p *press) (head, error) {
	f := fields{of: a}
	h := head{
		Meta: ledger.Meta{
			Job: job, Run: f.int("run"), State: ledger.State(f.text("state")), Halt: f.halt(),
			Digests:    ledger.Digests{Plan: f.text("plan"), Read: f.text("read")},
			Continuous: f.flag("continuous"), Cutoff: f.time("cutoff"),
			Pipelines:  slices.Sorted(slices.Values(f.texts("pipelines"))),
			Generation: f.int("generation"), Leased: f.time("leased"), Page: string(f.bytes("page")), Listed: f.flag("listed"),
			Ask: f.int("ask"), Swept: f.int("swept"), Resends: f.int("resends"), Started: f.time("started"), Ended: f.time("ended"),
		},
		token: f.text("token"), holder: f.text("holder"), pages: f.int("pages"), published: f.int("published"),
	}
	f.packed("inventory", func(u *unpacker) { h.Inventory = u.inventory() })
	f.packed("planned", func(u *unpacker) { u.numbers(h.shards.refs()...) })
	f.packed("again", func(u *unpacker) { u.numbers(h.again.refs()...) })
	h.Planned = h.shards.sum()
	if raw := f.bytes("start"); raw != nil && f.err == nil {
		h.Source, h.Callback, f.err = p.readStart(raw)
	}
	if f.err != nil {
		return head{}, fmt.Errorf("read job %s: %w", job, f.err)
	}
	return h, nil
}

func (f *fields) halt() *ledger.Halt {
	m := f.doc("halt")
	if m == nil {
		return nil
	}
	of := fields{of: m}
	h := &ledger.Halt{Reason: failure.Reason(of.text("reason")), Detail: of.text("detail"), At: of.time("at")}
	if f.err == nil {
		f.err = of.err
	}
	return h
}

func key(pk, sk string) attributes { return attributes{"pk": str(pk), "sk": str(sk)} }

func jobKey(job, sk string) attributes { return key("job#"+job, sk) }

func metaKey(job string) attributes { return jobKey(job, "meta") }

const livePartition = "jobs"

func liveKey(job string) attributes { return key(livePartition, job) }

// head reads the job's item. ErrNoJob.
func (l *Ledger) head(ctx context.Context, do op) (head, error) {
	a, err := l.get(ctx, do, metaKey(do.Job))
	if err != nil {
		return head{}, err
	}
	return l.known(do, a)
}

// known decodes a job's item; nil means that there is no such job.
func (l *Ledger) known(do op, a attributes) (head, error) {
	if a == nil {
		return head{}, fmt.Errorf("%s: %w", do, ledger.ErrNoJob)
	}
	h, err := decodeHead(do.Job, a, &l.press)
	if err != nil {
		return head{}, fmt.Errorf("%s: %w", do, err)
	}
	l.saw(&h.Meta)
	return h, nil
}

// moved is the error for a job that is not where an operation needs it.
func (h *head) moved(do op, why string) error {
	return fmt.Errorf("%s: run %d is %s at generation %d, %s: %w", do, h.Run, h.State, h.Generation, why, ledger.ErrState)
}

// change is a conditional write of the job's item. If the condition does not
// hold, it returns the item that it does not hold for; ErrNoJob if there is
// none.
func (l *Ledger) change(ctx context.Context, do op, w write) (was head, ok bool, err error) {
	w.key = metaKey(do.Job)
	if w.when == "" {
		w.when = "attribute_exists(#pk)"
	}
	a, ok, err := l.update(ctx, do, w)
	if err != nil || ok && !w.now {
		return head{}, ok, err
	}
	was, err = l.known(do, a)
	if err != nil {
		return head{}, false, err
	}
	by := w.values["by"]
	if b, is := by.(*types.AttributeValueMemberB); is && !ok {
		ok = a.wrote(b.Value) // an answer was lost: this call did it
	}
	return was, ok, nil
}
