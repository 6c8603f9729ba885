package dynamoledger

import (
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
	e := entry{Item: it, plan: plan}
	return e.encode(job, &shared)
}

func DecodeItem(a map[string]types.AttributeValue) (ledger.Item, error) {
	e, err := decodeEntry(a, &shared)
	return e.Item, err
}
