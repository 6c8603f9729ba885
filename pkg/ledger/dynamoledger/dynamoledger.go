// Package dynamoledger is the ledger of a job that many processes work on: one
// DynamoDB table, as Schema has it. It makes no table, and it sends nothing to the
// feed.
//
// What holds between two items is written in one transaction; everything else is
// one conditional write, whose condition is the fence, the lease or the state
// that the contract names. A write whose answer was lost is repeated by the SDK:
// the condition then fails on the caller's own doing, which every method here
// tells from another's. Counters are for display and as a trigger only, and are
// written after what they count; the proof reads every item, strongly
// consistently (INV-1, INV-7).
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
// intake, in one transaction with its claims, after one read.
//
// A run that was listed finds its units by its plan. A continuous one has none,
// and its items are mostly those of units that are done: its open and dead ones
// carry an attribute, IndexKey, that only they have, and so stand in the index of
// that name. The index is a moment behind. Whoever goes by it reads each item that
// it names, consistently, and what it does not name yet is found the next time.
//
// Units stay for as long as the job may be started again, and those that were
// entered until DoneTime after they are done. What a run needs beside them (plan,
// counters, todos) has its time to live from its first write, half a year: that
// costs nothing, where marking the plan once the run has ended would write it a
// second time. So it is there for 30 days after the end of a run that took up to
// five months. A run that outlives it sends no unit again and fails by name;
// starting the job again heals it.
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
// allow these actions, and PutItem and ConditionCheckItem, which transactions
// hold.
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
	// Now is the clock that leases lapse by; nil means time.Now.
	Now func() time.Time
}

// keep is the time to live of what only a run needs.
const keep = 180 * 24 * time.Hour

// Ledger holds jobs in a table.
type Ledger struct {
	client      API
	table       string
	concurrency int
	now         func() time.Time
	press       press

	mu sync.Mutex
	// runs are the highest runs seen, by job. They only rise, so what is known
	// is true; it is as late as the last Meta of this process. Guarded by mu.
	runs map[string]seen
}

// seen is what is known of a job's run. What it is like never changes.
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

// continuous guesses whether a unit of the job was entered, not listed. A write
// that goes by it has the item say whether it is so.
func (l *Ledger) continuous(job string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs[job].continuous
}

// expires is when an item that is written now may go.
func (l *Ledger) expires() value { return num(l.now().Add(keep).Unix()) }

// nonce names one call, so that its own write is known again when the SDK
// repeats it.
func nonce() []byte {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // it never fails
	return b
}
