// Package dynamoledger is the ledger of a job that many processes work on: one
// DynamoDB table with the layout of Schema. It makes no table, and it sends
// nothing to the feed.
//
// What must hold between two items is written in one transaction; everything else
// is one conditional write, whose condition is the fence, the lease or the state
// that the contract names. The SDK repeats a write whose answer was lost, and then
// the condition fails because of the caller's own first write; every method here
// can tell that from somebody else's write. Counters are for display and as a
// trigger only, and are written after what they count; the proof reads every item,
// strongly consistently (INV-1, INV-7).
//
//	jobs                 job              a job that is not retired
//	job#<job>            meta             the job, with the lease; 4 KB at most
//	                     watch            what the schedule remembers
//	                     token#<token>    an earlier run as it ended
//	job#<job>#plan#<run> <page>#<part>    units of a page with their bodies, packed
//	job#<job>#<shard>    <unit id>        a unit; one that was entered with its body
//	                     <object id>      a claim
//	                     count#<run>      the shard's counter
//	job#<job>#todo       <unit id>        a unit that is due again
//	job#<job>#keys       <object id>      a key that is to be looked at again
//
// A unit that goes well costs its reader three writes and two reads: Meta, Begin,
// and Done, which counts and then reads the meta. Its lister writes it once; an
// intake writes it in one transaction with its claims, after one read.
//
// A listed run finds its units by its plan. A continuous run has none, and most of
// its items are units that are done. So its open and dead units carry an attribute,
// IndexKey, that no others have, which puts them into the index of that name. The
// index lags behind by a moment: whatever it names is read again, consistently, and
// what it does not name yet is found the next time.
//
// Units of listed runs stay for as long as the job may be started again, those of
// continuous runs until DoneTime after they are done. What a run needs beside them
// (plan, counters, todos) lives for half a year from its first write. That costs
// nothing, whereas to mark the plan at the end of the run would be to write it a
// second time. So the plan of a run that takes up to five months is still there 30
// days after its end. A run that outlives its plan sends no unit again and fails,
// naming them; starting the job again repairs that.
package dynamoledger

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/spate-go/spate/pkg/ledger"
)

var _ ledger.Shared = (*Ledger)(nil)

// API is the part of *dynamodb.Client that this package calls. A policy has to
// allow these actions and, for the parts of transactions, PutItem and
// ConditionCheckItem.
type API interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Options tune a Ledger. The zero value is usable.
type Options struct {
	// Concurrency is how many requests one call makes at a time; 0 means 32.
	Concurrency int
	// Now is the clock of leases and of all times in items; nil means time.Now.
	Now func() time.Time
}

// keep is the time to live of what is needed only by its run.
const keep = 180 * 24 * time.Hour

// Ledger holds jobs in a table.
type Ledger struct {
	client      API
	table       string
	concurrency int
	now         func() time.Time
	press       press

	mu sync.Mutex
	// runs are the highest runs seen, by job. Runs only rise, so the job has reached
	// at least these; they are as old as this process's last Meta. Guarded by mu.
	runs map[string]seen
}

// seen is what is known of a job's run. Its kind never changes.
type seen struct {
	run        int
	continuous bool
}

// New returns the ledger in a table that exists.
func New(client API, table string, o Options) *Ledger {
	l := &Ledger{client: client, table: table, concurrency: o.Concurrency, now: o.Now, press: newPress(), runs: map[string]seen{}}
	if l.concurrency <= 0 {
		l.concurrency = 32
	}
	if l.now == nil {
		l.now = time.Now
	}
	return l
}

// saw notes that the job has reached a run.
func (l *Ledger) saw(m *ledger.Meta) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.Run >= l.runs[m.Job].run {
		l.runs[m.Job] = seen{run: m.Run, continuous: m.Continuous}
	}
}

// past reports whether the job is known to have a later run.
func (l *Ledger) past(job string, run int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return run < l.runs[job].run
}

// continuous guesses whether a unit of the job was entered rather than listed.
// A write that relies on it has the item confirm it.
func (l *Ledger) continuous(job string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs[job].continuous
}

// expires is when an item that is written now may be deleted.
func (l *Ledger) expires() value { return num(l.now().Add(keep).Unix()) }

// nonce identifies one call, so that it recognises its own write when the SDK
// repeats it.
func nonce() []byte {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // it never fails
	return b
}
