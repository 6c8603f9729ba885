package dynamoledger

import (
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// maxPart is how many bytes a part of a page holds before it is compressed, so
// that even a part that does not compress stays below the 400 KB of an item.
// Each part is complete in itself: to read a unit's body takes one read.
const maxPart = 300 << 10

// part is a part of a page: some of its units and, in the first part, what the
// page itself says.
type part struct {
	name  string
	first bool
	page  ledger.Page
	parts int
}

// partName is the part's key within its run's plan. Names sort by page, then by
// part.
func partName(page, n int) string { return fmt.Sprintf("%s%03d", pageOf(page), n) }

// pageOf is the prefix of the names of a page's parts.
func pageOf(page int) string { return fmt.Sprintf("%08d#", page) }

func planPartition(job string, run int) string { return fmt.Sprintf("job#%s#plan#%d", job, run) }

// partsOf splits a page. Equal pages are split alike.
func partsOf(number int, p ledger.Page) (parts []part) {
	size := 0
	for i, u := range p.Units {
		n := len(u.FirstKey) + len(u.Body) + 64
		if i == 0 || size+n > maxPart {
			parts, size = append(parts, part{}), 0
		}
		size += n
		last := &parts[len(parts)-1]
		last.page.Units = append(last.page.Units, u)
	}
	if len(parts) == 0 {
		parts = make([]part, 1)
	}
	for i := range parts {
		parts[i].name = partName(number, i)
	}
	parts[0].first, parts[0].parts = true, len(parts)
	parts[0].page.After, parts[0].page.Last, parts[0].page.Inventory = p.After, p.Last, p.Inventory
	return parts
}

func (t *part) encode(job string, run int, p *press) attributes {
	a := key(planPartition(job, run), t.name)
	if t.first {
		a["parts"], a["after"], a["last"] = num(t.parts), bin([]byte(t.page.After)), bin([]byte(t.page.Last))
		a["inventory"] = packedInventory(t.page.Inventory)
	}
	var raw packer
	raw.length(len(t.page.Units))
	for _, u := range t.page.Units {
		raw.text(string(u.ID))
		raw.text(u.FirstKey)
		raw.numbers(int64(u.Objects))
		raw.length(len(u.Body))
		raw = append(raw, u.Body...)
	}
	a["units"] = bin(p.pack(raw))
	return a
}

func decodePart(a attributes, p *press) (part, error) {
	f := fields{of: a}
	t := part{name: f.text("sk"), parts: f.int("parts")}
	t.first = t.parts > 0
	t.page.After, t.page.Last = string(f.bytes("after")), string(f.bytes("last"))
	f.packed("inventory", func(u *unpacker) { t.page.Inventory = u.inventory() })
	err := f.err
	if err == nil {
		err = p.unpack(f.bytes("units"), t.units)
	}
	if err != nil {
		return part{}, fmt.Errorf("read page %s of %s: %w", t.name, f.text("pk"), err)
	}
	return t, nil
}

func (t *part) units(u *unpacker) {
	for range u.length() {
		p := ledger.Planned{ID: unit.ID(u.text()), FirstKey: u.text()}
		var objects int64
		u.numbers(&objects)
		p.Objects, p.Body = int(objects), []byte(u.text())
		t.page.Units = append(t.page.Units, p)
	}
}
