package jsondecode

import "github.com/spate-go/spate/pkg/decode"

// Document is a record in which only the wanted members were looked up. Values
// are kept as written, so numbers and strings pass through unchanged.
type Document struct {
	bytes []byte
	spans []span
	slots []int // of each path
}

// Bytes is the whole record.
func (d *Document) Bytes() []byte { return d.bytes }

// Raw is the value of the member that path number i leads to, as written, or
// nil where the record has none.
func (d *Document) Raw(i int) []byte {
	s := d.spans[d.slots[i]]
	if s.end == 0 {
		return nil
	}
	return d.bytes[s.start:s.end:s.end]
}

// IsObject reports whether the record is an object.
func (d *Document) IsObject() bool {
	for _, c := range d.bytes {
		if c > ' ' {
			return c == '{'
		}
	}
	return false
}

// Documents returns a decoder of documents with the members that paths lead to;
// the empty path is the record itself. The whole record is checked, including
// what is not wanted.
func Documents(o Options, paths ...Path) decode.Decoder[Document] {
	d := &documents{options: o}
	d.root, d.slots = plan(paths)
	d.scan.spans = make([]span, d.root.last)
	return d
}

type documents struct {
	options Options
	root    *node
	slots   []int
	scan    scanner
	keys    keys
}

func (d *documents) Decode(b []byte, v *Document) error {
	*v = Document{b, d.scan.spans, d.slots}
	d.scan.b = b
	if err := d.scan.text(d.root); err != nil {
		return err
	}
	if d.options.DisallowDuplicateKeys {
		return d.keys.check(b)
	}
	return nil
}
