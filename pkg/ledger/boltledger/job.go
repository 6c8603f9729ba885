package boltledger

import (
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// The file holds a bucket that says what it is, and one with a bucket for each job.
// A job's bucket holds its head, the page that was published and not advanced yet,
// and these:
const (
	itemBucket = "items"  // units that are not done, by id
	bodyBucket = "bodies" // their bodies, by id
	pageBucket = "paged"  // units of that page, by id: with the body if the unit is done
	doneBucket = "done"   // run and counts, by id
	pastBucket = "past"   // heads of earlier runs, by their token
)

const (
	aboutBucket = "spate ledger"
	jobsBucket  = "jobs"
	formatKey   = "format"
	format      = "2"
	headKey     = "head"
	pageKey     = "page"
)

// txn is a transaction. An error of the library, or of a record that makes no
// sense, is kept until its end and then rolls it back.
type txn struct {
	tx      *bolt.Tx
	process *process
	err     error
}

func (t *txn) check(err error) {
	if t.err == nil {
		t.err = err
	}
}

// format turns a new file into a ledger.
func (t *txn) format() error {
	if t.tx.Bucket([]byte(aboutBucket)) != nil {
		return nil
	}
	about, err := t.tx.CreateBucket([]byte(aboutBucket))
	t.check(err)
	if err == nil {
		t.check(about.Put([]byte(formatKey), []byte(format)))
	}
	_, err = t.tx.CreateBucket([]byte(jobsBucket))
	t.check(err)
	return nil
}

// job is a job within a transaction.
type job struct {
	*txn
	name   string
	bucket *bolt.Bucket
	head   head // save writes what was changed
}

// key makes a key of a string that may be empty; the library refuses empty
// keys.
func key(s string) []byte { return append([]byte{'='}, s...) }

// job returns the job that an operation is about.
func (t *txn) job(verb, name string) (*job, error) {
	b := t.tx.Bucket([]byte(jobsBucket)).Bucket(key(name))
	if b == nil {
		return nil, fmt.Errorf("%s job %s: %w", verb, name, ledger.ErrNoJob)
	}
	j := &job{txn: t, name: name, bucket: b}
	j.head.Job = name
	t.check(decode(b.Get([]byte(headKey)), func(c *codec) { c.head(&j.head) }))
	if j.head.State == ledger.Listing {
		j.head.Leased = t.process.lease(name, j.head.Run).until
	}
	return j, nil
}

// create makes a job without a run.
func (t *txn) create(name string) *job {
	b, err := t.tx.Bucket([]byte(jobsBucket)).CreateBucket(key(name))
	t.check(err)
	j := &job{txn: t, name: name, bucket: b}
	j.head.Job = name
	for _, sub := range []string{itemBucket, bodyBucket, pageBucket, doneBucket, pastBucket} {
		_, err := b.CreateBucket([]byte(sub))
		t.check(err)
	}
	return j
}

func (j *job) in(bucket string) *bolt.Bucket { return j.bucket.Bucket([]byte(bucket)) }

func (j *job) put(bucket string, k, v []byte) { j.check(j.in(bucket).Put(k, v)) }

func (j *job) drop(bucket string, k []byte) { j.check(j.in(bucket).Delete(k)) }

func (j *job) save() {
	j.check(j.bucket.Put([]byte(headKey), encode(func(c *codec) { c.head(&j.head) })))
}

// item returns a unit that is not done.
func (j *job) item(id unit.ID) (*ledger.Item, bool) {
	v := j.in(itemBucket).Get([]byte(id))
	if v == nil {
		return nil, false
	}
	return j.parse(id, v), true
}

func (j *job) parse(id unit.ID, v []byte) *ledger.Item {
	it := &ledger.Item{Planned: ledger.Planned{ID: id}}
	j.check(decode(v, func(c *codec) { c.item(it) }))
	j.process.onto(j.name, it)
	return it
}

func (j *job) putItem(it *ledger.Item) {
	j.put(itemBucket, []byte(it.ID), encode(func(c *codec) { c.item(it) }))
}

func (j *job) doneUnit(id unit.ID) (d done, ok bool) {
	v := j.in(doneBucket).Get([]byte(id))
	if v == nil {
		return d, false
	}
	j.check(decode(v, func(c *codec) { c.done(&d) }))
	return d, true
}

func (j *job) putDone(id unit.ID, d done) {
	j.put(doneBucket, []byte(id), encode(func(c *codec) { c.done(&d) }))
}

// unit returns a unit, done or not, as a caller may see it.
func (j *job) unit(id unit.ID) (ledger.Item, bool) {
	if it, ok := j.item(id); ok {
		return *it, true
	}
	d, ok := j.doneUnit(id)
	if !ok {
		return ledger.Item{}, false
	}
	return ledger.Item{Planned: ledger.Planned{ID: id}, Run: d.run, State: ledger.Done, Counts: d.counts}, true
}

// moved is the error for a job that is not where an operation needs it.
func (j *job) moved(verb, why string) error {
	return fmt.Errorf("%s job %s: run %d is %s, %s: %w", verb, j.name, j.head.Run, j.head.State, why, ledger.ErrState)
}
