package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/unit"
)

// Listing is everything that decides which units a job has. A lister with a
// different one would plan a different job under the same name.
type Listing struct {
	URL              string
	Include, Exclude []string // their order decides nothing
	Archived         string   // fail or skip; "" means fail
	After, Before    time.Time
	StartAfter       string // the key that the listing begins after; "": at its beginning
	Target           int64  // as in Options
	Cut              *Cut   // nil: objects are never cut
}

// Reading is everything that decides where records begin in an object. A reader
// with a different one would number them differently.
type Reading struct {
	Codec     string // "" means auto
	Framing   string // with everything in its section that moves a boundary
	MaxRecord int64  // bytes
	// Blocks decides which rows a block has, for a sink that names its output
	// by block: other rows under the same names would leave some of the old
	// ones. "" if there is no such sink.
	Blocks string
}

// PlanDigest is the fingerprint of l, packing rules included.
func PlanDigest(l Listing) string {
	var t text
	t.number("packing", unit.PackingVersion)
	t.line("url", l.URL)
	t.set("include", l.Include)
	t.set("exclude", l.Exclude)
	t.line("archived", cmp.Or(l.Archived, "fail"))
	t.time("after", l.After)
	t.time("before", l.Before)
	if l.StartAfter != "" {
		t.line("start_after", l.StartAfter)
	}
	t.number("target", Target(l.Target))
	if l.Cut != nil {
		t.number("delimiter", int64(l.Cut.Delimiter))
	}
	return t.digest("spate-plan-digest")
}

// ReadDigest is the fingerprint of r.
func ReadDigest(r Reading) string {
	var t text
	t.line("codec", cmp.Or(r.Codec, "auto"))
	t.line("framing", r.Framing)
	t.number("max_record", r.MaxRecord)
	if r.Blocks != "" {
		t.line("blocks", r.Blocks)
	}
	return t.digest("spate-read-digest")
}

// text is a canonical text: one named value a line, strings quoted, so that two
// inputs never share one.
type text struct{ b strings.Builder }

func (t *text) line(name, value string) { fmt.Fprintf(&t.b, "%s %q\n", name, value) }

func (t *text) number(name string, n int64) { fmt.Fprintf(&t.b, "%s %d\n", name, n) }

func (t *text) set(name string, values []string) {
	values = slices.Clone(values)
	slices.Sort(values)
	for _, v := range slices.Compact(values) {
		t.line(name, v)
	}
}

func (t *text) time(name string, v time.Time) {
	if !v.IsZero() {
		t.line(name, v.UTC().Format(time.RFC3339Nano))
	}
}

func (t *text) digest(domain string) string {
	sum := sha256.Sum256([]byte(domain + "\n" + t.b.String()))
	return hex.EncodeToString(sum[:])
}
