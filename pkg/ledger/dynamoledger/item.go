package dynamoledger

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// Limits of what a unit's item says about faults, details in bytes: with a thousand
// faulty members, and their keys in the cause, it stays below DynamoDB's 400 KB.
const (
	fewFaults        = 64
	maxFaultDetail   = 512 // of the first few
	maxCrowdedDetail = 64  // of the others
	maxCauseDetail   = 2 << 10
	maxCauseFaults   = 16 << 10 // of the details together, beyond maxCrowdedDetail each
)

// entry is a unit's item.
type entry struct {
	ledger.Item
	plan    string // where its body is: page and part
	counted bool   // Attempts includes the last start of work, which may be given back
	body    []byte // of a unit that was entered and is not done
}

// entered reports whether the unit is of a continuous job.
func (e *entry) entered() bool { return !e.Entered.IsZero() }

// asEntered are the attributes that only units of continuous jobs have.
const asEntered = "#body, #entered, #touched, #ended, #repeats, #unfinished, #expires"

func faultName(member int) string { return "m" + strconv.Itoa(member) }

func faultValue(f ledger.Fault, limit int) value {
	a := attributes{"record": num(f.Record), "framed": num(f.Framed), "reason": str(f.Reason), "detail": str(cut(f.Detail, limit))}
	if f.Overwritten {
		a["overwritten"] = flag(true)
	}
	return doc(a)
}

func countsValue(c ledger.Counts) value {
	var p packer
	p.counts(c)
	return bin(p)
}

func cursorValue(c ledger.Cursor) value {
	var p packer
	p.cursor(c)
	return bin(p)
}

func decodeEntry(a attributes, p *press) (entry, error) {
	f := fields{of: a}
	e := entry{
		Item: ledger.Item{
			Planned: ledger.Planned{ID: unit.ID(f.text("sk")), FirstKey: string(f.bytes("first")), Objects: f.int("objects")},
			Run:     f.int("run"), State: ledger.UnitState(f.text("state")), Serial: f.int("serial"), Attempts: f.int("attempts"),
			Last: f.flag("last"), RestDone: f.flag("rest"), Faults: f.faults(),
			Entered: f.time("entered"), Ended: f.time("ended"), Repeats: f.int("repeats"),
		},
		plan: f.text("plan"), counted: f.flag("counted"),
	}
	f.packed("counts", func(u *unpacker) { e.Counts = u.counts() })
	f.packed("cursor", func(u *unpacker) { c := u.cursor(); e.Cursor = &c })
	if e.entered() { // nobody asks for that of a listed unit
		e.Touched = f.time("touched")
	}
	if raw := f.bytes("body"); raw != nil {
		if err := p.unpack(raw, func(u *unpacker) { e.body = u.b }); err != nil {
			f.err = err
		}
	}
	if raw := f.bytes("cause"); raw != nil {
		c, err := p.readCause(raw)
		if err != nil {
			f.err = err
		}
		e.Cause = &c
	}
	if f.err != nil {
		return entry{}, fmt.Errorf("read unit %s: %w", e.ID, f.err)
	}
	return e, nil
}

func (f *fields) faults() (faults []ledger.Fault) {
	for name, v := range f.doc("faults") {
		member, err := strconv.Atoi(strings.TrimPrefix(name, "m"))
		of := fields{err: err}
		if m, ok := v.(*types.AttributeValueMemberM); ok {
			of.of = m.Value
		}
		faults = append(faults, ledger.Fault{
			Member: member, Record: of.long("record"), Framed: of.long("framed"),
			Reason: failure.Reason(of.text("reason")), Detail: of.text("detail"), Overwritten: of.flag("overwritten"),
		})
		if f.err == nil {
			f.err = of.err
		}
	}
	slices.SortFunc(faults, func(a, b ledger.Fault) int { return a.Member - b.Member })
	return faults
}

func unitKey(job string, id unit.ID) attributes {
	return key(shardPartition(job, id.Shard()), string(id))
}

// unitPrefix is the prefix of unit ids. Counters and claims are in the same
// partitions.
const unitPrefix = "s3-"

func shardPartition(job string, shard int) string { return fmt.Sprintf("job#%s#%d", job, shard) }

// entry reads a unit's item. ErrNoUnit, ErrNoJob.
func (l *Ledger) entry(ctx context.Context, do op) (entry, error) {
	a, err := l.get(ctx, do, unitKey(do.Job, do.ID))
	if err != nil {
		return entry{}, err
	}
	return l.found(ctx, do, a)
}

// found decodes a unit's item. nil means that there is no such unit, or no such
// job.
func (l *Ledger) found(ctx context.Context, do op, a attributes) (entry, error) {
	if a == nil {
		if _, err := l.head(ctx, do); err != nil {
			return entry{}, err
		}
		return entry{}, fmt.Errorf("%s: %w", do, ledger.ErrNoUnit)
	}
	return decodeEntry(a, &l.press)
}
