package dynamoledger

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// packer writes what no condition refers to as one binary value. That takes a
// fraction of the room of attributes, and of the time to read them, which a
// proof does a million times. It takes any bytes, as there are in keys.
type packer []byte

// numbers are preceded by their count, so that a later release may add some.
func (p *packer) numbers(ns ...int64) {
	*p = binary.AppendUvarint(*p, uint64(len(ns)))
	for _, n := range ns {
		*p = binary.AppendVarint(*p, n)
	}
}

func (p *packer) length(n int) { *p = binary.AppendUvarint(*p, uint64(n)) }

func (p *packer) text(s string) {
	p.length(len(s))
	*p = append(*p, s...)
}

// unpacker reads what a packer wrote.
type unpacker struct {
	b     []byte
	short bool // it ended before it should
}

func (u *unpacker) fail() { u.b, u.short = nil, true }

func (u *unpacker) numbers(to ...*int64) {
	for i := range u.length() {
		n, size := binary.Varint(u.b)
		if size <= 0 {
			u.fail()
			return
		}
		u.b = u.b[size:]
		if i < len(to) {
			*to[i] = n
		}
	}
}

// length is a count of things that take at least a byte each.
func (u *unpacker) length() int {
	n, size := binary.Uvarint(u.b)
	if size <= 0 || n > uint64(len(u.b)-size) {
		u.fail()
		return 0
	}
	u.b = u.b[size:]
	return int(n)
}

func (u *unpacker) text() string {
	n := u.length()
	s := string(u.b[:n])
	u.b = u.b[n:]
	return s
}

func (p *packer) counts(c ledger.Counts) {
	p.numbers(c.In, c.Out, c.Filtered, c.Rejected, c.Expanded, c.BytesRead, c.BytesDecoded, c.MemoryTime, c.Overwritten)
	p.length(len(c.Sinks))
	for _, name := range slices.Sorted(maps.Keys(c.Sinks)) {
		n := c.Sinks[name]
		p.text(name)
		p.numbers(n.Records, n.Blocks, n.Bytes)
	}
}

func (u *unpacker) counts() (c ledger.Counts) {
	u.numbers(&c.In, &c.Out, &c.Filtered, &c.Rejected, &c.Expanded, &c.BytesRead, &c.BytesDecoded, &c.MemoryTime, &c.Overwritten)
	for range u.length() {
		name, n := u.text(), ledger.SinkCounts{}
		u.numbers(&n.Records, &n.Blocks, &n.Bytes)
		c.AddSink(name, n)
	}
	return c
}

func (p *packer) cursor(c ledger.Cursor) {
	p.numbers(int64(c.Series), int64(c.Segment), int64(c.Member), c.Record, c.Offset, c.Undecoded)
}

func (u *unpacker) cursor() (c ledger.Cursor) {
	var series, segment, member int64
	u.numbers(&series, &segment, &member, &c.Record, &c.Offset, &c.Undecoded)
	c.Series, c.Segment, c.Member = int(series), int(segment), int(member)
	return c
}

func (p *packer) inventory(v ledger.Inventory) {
	p.numbers(v.Objects, v.Bytes, v.Empty, v.Directory, v.Archived, v.Excluded, v.ArchivedBytes)
}

func (u *unpacker) inventory() (v ledger.Inventory) {
	u.numbers(&v.Objects, &v.Bytes, &v.Empty, &v.Directory, &v.Archived, &v.Excluded, &v.ArchivedBytes)
	return v
}

func (p *packer) cause(c ledger.Cause) {
	p.text(string(c.Reason))
	p.text(c.Detail)
	p.numbers(c.Record)
	p.length(len(c.Objects))
	for _, o := range c.Objects {
		p.object(o)
	}
	p.length(len(c.Faults))
	for _, f := range c.Faults {
		overwritten := int64(0)
		if f.Overwritten {
			overwritten = 1
		}
		p.numbers(int64(f.Member), f.Record, f.Framed, overwritten)
		p.text(string(f.Reason))
		p.text(f.Detail)
	}
}

func (u *unpacker) cause() (c ledger.Cause) {
	c.Reason, c.Detail = failure.Reason(u.text()), u.text()
	u.numbers(&c.Record)
	for range u.length() {
		c.Objects = append(c.Objects, u.object())
	}
	for range u.length() {
		var f ledger.Fault
		var member, overwritten int64
		u.numbers(&member, &f.Record, &f.Framed, &overwritten)
		f.Member, f.Overwritten, f.Reason, f.Detail = int(member), overwritten == 1, failure.Reason(u.text()), u.text()
		c.Faults = append(c.Faults, f)
	}
	return c
}

func (p *packer) object(o unit.Object) {
	p.text(o.Key)
	p.text(o.ETag)
	p.text(o.Version)
	p.numbers(o.Size, nanos(o.LastModified), int64(o.Take), int64(o.Again))
}

func (u *unpacker) object() unit.Object {
	o := unit.Object{Key: u.text(), ETag: u.text(), Version: u.text()}
	var at, take, again int64
	u.numbers(&o.Size, &at, &take, &again)
	o.Take, o.Again, o.LastModified = int(take), int(again), instant(at)
	return o
}

func (p *packer) flow(f ledger.Flow) { p.numbers(f.Units, f.Objects, f.Bytes, f.Records) }

func (u *unpacker) flow() (f ledger.Flow) {
	u.numbers(&f.Units, &f.Objects, &f.Bytes, &f.Records)
	return f
}

func instant(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos).UTC()
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
