package dynamoledger

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

var shared = newPress()

// Job is a job's item with what only the ledger knows of it.
type Job struct {
	ledger.Meta
	Token, Holder    string
	Pages, Published int
	Shards, Again    [unit.Shards]int64
}

// EncodeJob gives the item of j, whose Planned is the sum of Shards.
func EncodeJob(j Job) map[string]types.AttributeValue {
	h := head{Meta: j.Meta, token: j.Token, holder: j.Holder, pages: j.Pages, published: j.Published, shards: j.Shards, again: j.Again}
	return h.encode(&shared)
}

func DecodeJob(name string, a map[string]types.AttributeValue) (Job, error) {
	h, err := decodeHead(name, a, &shared)
	return Job{Meta: h.Meta, Token: h.token, Holder: h.holder, Pages: h.pages, Published: h.published, Shards: h.shards, Again: h.again}, err
}

func EncodeItem(job, plan string, it ledger.Item) map[string]types.AttributeValue {
	e := entry{Item: it, plan: plan, body: it.Body}
	return e.encode(job, &shared)
}

func DecodeItem(a map[string]types.AttributeValue) (ledger.Item, error) {
	e, err := decodeEntry(a, &shared)
	e.Body = e.body
	return e.Item, err
}

// encode is the item as the writes of its life leave it.
func (e *entry) encode(job string, p *press) attributes {
	a := unitKey(job, e.ID)
	a["run"], a["plan"], a["state"] = num(e.Run), str(e.plan), str(e.State)
	a["first"], a["objects"] = bin([]byte(e.FirstKey)), num(e.Objects)
	a["serial"], a["attempts"] = num(e.Serial), num(e.Attempts)
	faults := attributes{}
	for i, f := range e.Faults {
		limit := maxFaultDetail
		if i >= fewFaults {
			limit = maxCrowdedDetail
		}
		faults[faultName(f.Member)] = faultValue(f, limit)
	}
	a["faults"] = doc(faults)
	if e.entered() {
		a["entered"], a["repeats"], a["body"] = when(e.Entered), num(e.Repeats), bin(p.pack(e.body))
	}
	for name, at := range map[string]time.Time{"touched": e.Touched, "ended": e.Ended} {
		if !at.IsZero() {
			a[name] = when(at)
		}
	}
	for name, is := range map[string]bool{"last": e.Last, "rest": e.RestDone, "counted": e.counted} {
		if is {
			a[name] = flag(true)
		}
	}
	if e.Cursor != nil {
		a["cursor"] = cursorValue(*e.Cursor)
	}
	a["counts"] = countsValue(e.Counts)
	if e.Cause != nil {
		a["cause"] = p.cause(*e.Cause)
	}
	return a
}
