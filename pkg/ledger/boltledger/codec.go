package boltledger

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// codec visits the fields of a record, to write or to read them: there is one
// list of fields for both, so that they cannot drift apart. It is not JSON,
// which cannot hold a key that is not UTF-8, and in which the millions of
// records of done units would take several times the room.
type codec struct {
	b       []byte
	reading bool
	adding  bool // what is read is added to what is there
	short   bool // the record ended before its fields did, or is no record
}

var errRecord = errors.New("a record is malformed")

// encode writes the fields that pass visits.
func encode(pass func(*codec)) []byte {
	c := codec{b: make([]byte, 0, 64)}
	pass(&c)
	return c.b
}

// decode reads the fields that pass visits.
func decode(b []byte, pass func(*codec)) error {
	c := codec{b: b, reading: true}
	pass(&c)
	if c.short || len(c.b) > 0 {
		return errRecord
	}
	return nil
}

func (c *codec) number(p *int64) {
	if !c.reading {
		c.b = binary.AppendVarint(c.b, *p)
		return
	}
	n, size := binary.Varint(c.b)
	if size <= 0 {
		c.short, c.b = true, nil
		return
	}
	if c.b = c.b[size:]; c.adding {
		n += *p
	}
	*p = n
}

func (c *codec) int(p *int) {
	n := int64(*p)
	c.number(&n)
	*p = int(n)
}

func (c *codec) flag(p *bool) {
	var n int64
	if *p {
		n = 1
	}
	c.number(&n)
	*p = n == 1
}

// time keeps an instant without its zone. The zero time stays zero.
func (c *codec) time(p *time.Time) {
	var n int64
	if !p.IsZero() {
		n = p.UnixNano()
	}
	c.number(&n)
	if *p = (time.Time{}); n != 0 {
		*p = time.Unix(0, n).UTC()
	}
}

// length visits the number of things that follow, each of which takes at least
// a byte.
func (c *codec) length(n int) int {
	c.int(&n)
	if n < 0 || c.reading && n > len(c.b) {
		c.short, c.b, n = true, nil, 0
	}
	return n
}

func text[S ~string](c *codec, p *S) {
	n := c.length(len(*p))
	if !c.reading {
		c.b = append(c.b, *p...)
		return
	}
	*p, c.b = S(c.b[:n]), c.b[n:]
}

func list[T any](c *codec, p *[]T, each func(*codec, *T)) {
	n := c.length(len(*p))
	if c.reading {
		*p = make([]T, n)
	}
	for i := range *p {
		each(c, &(*p)[i])
	}
}

// optional visits what may be missing.
func optional[T any](c *codec, p **T, each func(*codec, *T)) {
	is := *p != nil
	c.flag(&is)
	if !is {
		*p = nil
		return
	}
	if c.reading {
		*p = new(T)
	}
	each(c, *p)
}

func (c *codec) counts(p *ledger.Counts) {
	for _, n := range []*int64{&p.In, &p.Out, &p.Filtered, &p.Rejected, &p.Expanded, &p.BytesRead, &p.BytesDecoded, &p.MemoryTime} {
		c.number(n)
	}
	var names []string
	if !c.reading {
		names = slices.Sorted(maps.Keys(p.Sinks))
	}
	list(c, &names, func(c *codec, name *string) {
		var n ledger.SinkCounts
		if !c.reading {
			n = p.Sinks[*name]
		}
		text(c, name)
		c.number(&n.Records)
		c.number(&n.Blocks)
		c.number(&n.Bytes)
		if c.reading {
			p.AddSink(*name, n)
		}
	})
}

// fault leaves out what only events bring about, and so does object: continuous
// jobs have a Shared ledger.
func (c *codec) fault(p *ledger.Fault) {
	c.int(&p.Member)
	c.number(&p.Record)
	c.number(&p.Framed)
	text(c, &p.Reason)
	text(c, &p.Detail)
}

func (c *codec) cursor(p *ledger.Cursor) {
	c.int(&p.Series)
	c.int(&p.Segment)
	c.int(&p.Member)
	c.number(&p.Record)
	c.number(&p.Offset)
	c.number(&p.Undecoded)
}

func (c *codec) object(p *unit.Object) {
	text(c, &p.Key)
	c.number(&p.Size)
	text(c, &p.ETag)
	text(c, &p.Version)
	c.time(&p.LastModified)
}

func (c *codec) cause(p *ledger.Cause) {
	text(c, &p.Reason)
	text(c, &p.Detail)
	list(c, &p.Objects, (*codec).object)
	list(c, &p.Faults, (*codec).fault)
	c.number(&p.Record)
}

// item visits a unit that is not done. Its id is the record's key.
func (c *codec) item(p *ledger.Item) {
	text(c, &p.FirstKey)
	c.int(&p.Objects)
	c.int(&p.Run)
	text(c, &p.State)
	c.int(&p.Serial)
	c.int(&p.Attempts)
	c.flag(&p.Last)
	list(c, &p.Faults, (*codec).fault)
	c.flag(&p.RestDone)
	optional(c, &p.Cursor, (*codec).cursor)
	c.counts(&p.Counts)
	optional(c, &p.Cause, (*codec).cause)
}

// done is what is kept of a unit that is done.
type done struct {
	run    int
	counts ledger.Counts
}

func (c *codec) done(p *done) {
	c.int(&p.run)
	c.counts(&p.counts)
}

// addDone adds a done unit to the proof of its run.
func addDone(b []byte, run int, to *ledger.Census) error {
	c := codec{b: b, reading: true}
	var of int
	switch c.int(&of); {
	case of < run:
		to.Unlisted++
		return nil
	case of > run:
		return nil
	}
	to.Done++
	c.adding = true
	c.counts(&to.Counts)
	if c.short || len(c.b) > 0 {
		return errRecord
	}
	return nil
}
