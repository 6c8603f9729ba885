package dynamoledger_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/unit"
)

// random makes values that a table has to keep.
type random struct{ *rand.Rand }

func (r random) text() string { return string(r.bytes(40)[:r.IntN(40)]) }

func (r random) word() string { return fmt.Sprintf("%x", r.Uint64()>>r.IntN(60)) }

func (r random) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func (r random) long() int64 { return int64(r.Uint64() >> (1 + r.IntN(63))) }

func (r random) small() int { return int(r.long() >> 8) }

func (r random) is() bool { return r.IntN(2) == 0 }

func (r random) time() time.Time {
	if r.IntN(4) == 0 {
		return time.Time{}
	}
	return time.Unix(1_700_000_000+r.Int64N(1e9), r.Int64N(1e9)).UTC()
}

func (r random) fault(member int) ledger.Fault {
	return ledger.Fault{Member: member, Record: r.long(), Framed: r.long(), Reason: failure.Reason(r.word()), Detail: r.word(), Overwritten: r.is()}
}

func (r random) counts() ledger.Counts {
	c := ledger.Counts{
		Counts:    record.Counts{In: r.long(), Out: r.long(), Filtered: r.long(), Rejected: r.long(), Expanded: r.long()},
		BytesRead: r.long(), BytesDecoded: r.long(), MemoryTime: r.long(), Overwritten: r.long(),
	}
	for range r.IntN(4) {
		c.AddSink(r.text(), ledger.SinkCounts{Records: r.long() >> 2, Blocks: r.long() >> 2, Bytes: r.long() >> 2})
	}
	return c
}

func (r random) job() dynamoledger.Job {
	j := dynamoledger.Job{
		Meta: ledger.Meta{
			Job: r.word(), Run: r.small(), State: ledger.State(r.word()), Digests: ledger.Digests{Plan: r.word(), Read: r.word()},
			Source: r.text(), Callback: r.word(), Generation: r.small(), Page: r.text(), Listed: r.is(),
			Inventory: ledger.Inventory{Objects: r.long(), Bytes: r.long(), Empty: r.long(), Directory: r.long(), Archived: r.long(), Excluded: r.long(), ArchivedBytes: r.long()},
			Ask:       r.small(), Swept: r.small(), Resends: r.small(), Started: r.time(), Ended: r.time(),
		},
		Token: r.word(), Pages: r.small(), Published: r.small(),
	}
	if r.is() {
		j.Continuous, j.Cutoff = true, r.time()
	}
	if r.is() {
		j.Holder, j.Leased = r.word(), r.time()
	}
	if r.is() {
		j.Halt = &ledger.Halt{Reason: failure.Reason(r.word()), Detail: r.word(), At: r.time()}
	}
	for range r.IntN(4) {
		j.Pipelines = append(j.Pipelines, fmt.Sprint(len(j.Pipelines))+r.word())
	}
	for i := range j.Shards {
		j.Shards[i], j.Again[i] = int64(r.IntN(1<<20)), int64(r.IntN(2))
		j.Planned += int(j.Shards[i])
	}
	return j
}

func (r random) item() ledger.Item {
	it := ledger.Item{
		Planned: ledger.Planned{ID: unit.ID(r.word()), FirstKey: r.text(), Objects: r.small()},
		Run:     r.small(), State: ledger.UnitState(r.word()), Serial: r.small(), Attempts: r.small(),
		Last: r.is(), RestDone: r.is(), Counts: r.counts(),
	}
	if r.is() {
		it.Entered, it.Touched, it.Ended, it.Repeats, it.Body = time.Unix(r.Int64N(1e9)+1, 0).UTC(), r.time(), r.time(), r.small(), r.bytes(r.IntN(3000))
	}
	for m := range r.IntN(5) {
		it.Faults = append(it.Faults, r.fault(m*m))
	}
	if r.is() {
		it.Cursor = &ledger.Cursor{Series: r.small(), Segment: r.small(), Member: r.small(), Record: r.long(), Offset: r.long(), Undecoded: r.long()}
	}
	if r.is() {
		c := ledger.Cause{Reason: failure.Reason(r.word()), Detail: r.word(), Record: r.long() - 1}
		for m := range r.IntN(4) {
			c.Objects = append(c.Objects, unit.Object{Key: r.text(), Size: r.long(), ETag: r.text(), Version: r.text(), LastModified: r.time(), Take: r.small(), Again: r.small()})
			c.Faults = append(c.Faults, r.fault(m))
		}
		it.Cause = &c
	}
	return it
}

func TestJobsAndItemsAreReadAsTheyWereWritten(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := random{rand.New(rand.NewPCG(seed, 1))}
	for range 300 {
		job := r.job()
		got, err := dynamoledger.DecodeJob(job.Job, dynamoledger.EncodeJob(job))
		if d := cmp.Diff(job, got, cmpopts.EquateEmpty()); err != nil || d != "" {
			t.Fatalf("job: %v (-want +got):\n%s", err, d)
		}
		it := r.item()
		kept, err := dynamoledger.DecodeItem(dynamoledger.EncodeItem(job.Job, "00000001#002", it))
		if d := cmp.Diff(it, kept, cmpopts.EquateEmpty()); err != nil || d != "" {
			t.Fatalf("item: %v (-want +got):\n%s", err, d)
		}
	}
}

func TestWhatThisProgramDidNotWriteIsRefused(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := random{rand.New(rand.NewPCG(seed, 2))}
	refused := func(what string, err error) {
		t.Helper()
		if !failure.Is(err, failure.Job) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, name := range []string{"run", "state", "planned", "inventory", "page", "listed", "started", "halt", "pipelines", "continuous", "cutoff"} {
		a := dynamoledger.EncodeJob(r.job())
		a[name] = &types.AttributeValueMemberNULL{Value: true}
		_, err := dynamoledger.DecodeJob("j", a)
		refused(name, err)
	}
	for _, name := range []string{"counts", "cause", "cursor", "faults", "serial", "entered", "body"} {
		a := dynamoledger.EncodeItem("j", "p", r.item())
		a[name] = &types.AttributeValueMemberNULL{Value: true}
		_, err := dynamoledger.DecodeItem(a)
		refused(name, err)
	}
	for range 200 { // bytes that end too early, or are others
		a := dynamoledger.EncodeItem("j", "p", ledger.Item{Entered: time.Unix(1, 0), Counts: r.counts(), Cause: &ledger.Cause{Detail: r.text()}})
		for _, name := range []string{"counts", "cause", "body"} {
			b := slices.Clone(a[name].(*types.AttributeValueMemberB).Value)
			a[name] = &types.AttributeValueMemberB{Value: b[:r.IntN(len(b))]}
		}
		_, err := dynamoledger.DecodeItem(a)
		refused("cut off", err)
	}
}

func FuzzItem(f *testing.F) {
	r := random{rand.New(rand.NewPCG(1, 3))}
	for range 8 {
		a := dynamoledger.EncodeItem("j", "p", r.item())
		f.Add(a["counts"].(*types.AttributeValueMemberB).Value, []byte("cursor"), []byte("cause"))
	}
	f.Fuzz(func(t *testing.T, counts, cursor, cause []byte) {
		a := item{"counts": &types.AttributeValueMemberB{Value: counts}, "cursor": &types.AttributeValueMemberB{Value: cursor}}
		if len(cause) > 0 {
			a["cause"] = &types.AttributeValueMemberB{Value: cause}
		}
		it, err := dynamoledger.DecodeItem(a)
		if err != nil {
			if !failure.Is(err, failure.Job) {
				t.Errorf("no kind: %v", err)
			}
			return
		}
		again, err := dynamoledger.DecodeItem(dynamoledger.EncodeItem("j", "p", it))
		if d := cmp.Diff(it, again, cmpopts.EquateEmpty()); it.Cause == nil && (err != nil || d != "") {
			t.Errorf("%v (-first +second):\n%s", err, d)
		}
	})
}

func TestSizes(t *testing.T) {
	t.Run("a job's item stays below 4 KB at its largest", func(t *testing.T) {
		r := random{rand.New(rand.NewPCG(1, 5))}
		source := `{"url":"s3://a-bucket/with/a/prefix/","include":[`
		for len(source) < 2000 {
			source += fmt.Sprintf(`"**/tenant=%s/year=202%d/*.json.gz",`, r.word(), r.IntN(10))
		}
		source = (source + strings.Repeat(" ", 99))[:2<<10]
		callback := base64.StdEncoding.EncodeToString(r.bytes(500))
		j := dynamoledger.Job{
			Meta: ledger.Meta{
				Job: strings.Repeat("j", 100), Run: 99, State: ledger.Cancelled, Digests: ledger.Digests{Plan: strings.Repeat("f", 64), Read: strings.Repeat("f", 64)},
				Source: source, Callback: callback, Page: strings.Repeat("k", 1034), Listed: true, Generation: 1e6,
				Pipelines: []string{strings.Repeat("1", 64), strings.Repeat("2", 64)},
				Halt:      &ledger.Halt{Reason: failure.Fingerprint, Detail: strings.Repeat("d", 50_000), At: time.Now()},
				Leased:    time.Now(), Started: time.Now(), Continuous: true, Cutoff: time.Now(), Ended: time.Now(), Ask: 1e6, Swept: 1e6,
			},
			Token: strings.Repeat("t", 40), Holder: strings.Repeat("h", 40), Pages: 1e6, Published: 1e6,
		}
		for i := range j.Shards {
			j.Shards[i] = 1 << 20
		}
		for _, n := range []*int64{&j.Inventory.Objects, &j.Inventory.Bytes, &j.Inventory.Empty, &j.Inventory.Directory, &j.Inventory.ArchivedBytes} {
			*n = 1 << 50
		}
		if n := size(dynamoledger.EncodeJob(j)); n > 4<<10 {
			t.Errorf("%d bytes", n)
		}
	})
	t.Run("a unit's item stays below 400 KB with its body and as many faulty members as it has claims", func(t *testing.T) {
		r := random{rand.New(rand.NewPCG(1, 6))}
		it := ledger.Item{
			Planned: ledger.Planned{FirstKey: strings.Repeat("k", 1024), Body: r.bytes(200 << 10)}, Entered: time.Now(), Touched: time.Now(), Ended: time.Now(),
			Cause: &ledger.Cause{Detail: string(r.bytes(100_000))},
		}
		for m := range ledger.MaxClaims {
			f := r.fault(m)
			f.Detail = string(r.bytes(4000))
			it.Faults = append(it.Faults, f)
			it.Cause.Faults = append(it.Cause.Faults, f)
			it.Cause.Objects = append(it.Cause.Objects, unit.Object{Key: string(r.bytes(1024)), ETag: string(r.bytes(36)), Size: 1 << 40})
		}
		if n := size(dynamoledger.EncodeItem(strings.Repeat("j", 100), "", it)); n > 400<<10 {
			t.Errorf("%d bytes", n)
		} else {
			t.Logf("%d bytes", n)
		}
	})
	t.Run("what is cut says so, and stays text", func(t *testing.T) {
		j := dynamoledger.Job{Meta: ledger.Meta{Job: "j", Halt: &ledger.Halt{Detail: strings.Repeat("é", 5_000)}}}
		got, err := dynamoledger.DecodeJob("j", dynamoledger.EncodeJob(j))
		if err != nil || len(got.Halt.Detail) > 600 || !strings.HasSuffix(got.Halt.Detail, "é … (10000 bytes)") {
			t.Errorf("%v: %q", err, got.Halt.Detail)
		}
	})
	t.Run("a unit's item stays below 350 KB with a thousand faulty members", func(t *testing.T) {
		r := random{rand.New(rand.NewPCG(1, 4))}
		it := ledger.Item{Planned: ledger.Planned{FirstKey: strings.Repeat("k", 1024)}, Cause: &ledger.Cause{Detail: string(r.bytes(100_000))}}
		for m := range unit.MaxMembers {
			f := r.fault(m)
			f.Detail = string(r.bytes(4000)) // a panic's stack, that does not compress
			it.Faults = append(it.Faults, f)
			it.Cause.Faults = append(it.Cause.Faults, f)
			it.Cause.Objects = append(it.Cause.Objects, unit.Object{Key: string(r.bytes(90)), ETag: string(r.bytes(18)), Size: 1 << 40})
		}
		if n := size(dynamoledger.EncodeItem(strings.Repeat("j", 100), "00000001#001", it)); n > 350_000 {
			t.Errorf("%d bytes", n)
		}
	})
}
