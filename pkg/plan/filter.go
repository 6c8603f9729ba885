package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/spate-go/spate/pkg/unit"
)

// Verdict says whether an object is read, and why not. The words are metric
// labels and report fields.
type Verdict string

// The verdicts.
const (
	Take      Verdict = ""
	Directory Verdict = "directory" // stands for a folder: a key ending in / without bytes
	Excluded  Verdict = "excluded"  // by a glob or by its time
	Empty     Verdict = "empty"     // no bytes, so no records
	Archived  Verdict = "archived"  // must be restored first, and the job skips such
)

// Filter chooses among the listed objects. The zero value takes all that have
// bytes.
type Filter struct {
	Prefix string // globs match what follows it in a key
	// Include and Exclude are globs; ** matches any number of path elements. No
	// Include means all. Exclude wins.
	Include, Exclude []string
	// After and Before bound LastModified: not earlier than After, earlier than
	// Before, so that two jobs can share a bound and no object. Zero means no
	// bound, and an object of unknown time is within any.
	After, Before time.Time
	// SkipArchived leaves out what must be restored first. Otherwise it is
	// planned like any other, and found faulty when read.
	SkipArchived bool
}

// Validate checks the globs and the bounds.
func (f *Filter) Validate() error {
	for i, g := range f.Include {
		if !doublestar.ValidatePattern(g) {
			return fmt.Errorf("check include[%d]: %q is not a glob", i, g)
		}
	}
	for i, g := range f.Exclude {
		if !doublestar.ValidatePattern(g) {
			return fmt.Errorf("check exclude[%d]: %q is not a glob", i, g)
		}
	}
	if !f.After.IsZero() && !f.Before.IsZero() && !f.After.Before(f.Before) {
		return fmt.Errorf("check modified: after %s is not before %s: no object would be read",
			f.After.Format(time.RFC3339), f.Before.Format(time.RFC3339))
	}
	return nil
}

// Select returns the verdict on o. A folder is never data, whatever the globs
// say. Exclusion comes next, so that Empty and Archived count only objects that
// the job asked for.
func (f *Filter) Select(o unit.Object, archived bool) Verdict {
	switch {
	case o.Size == 0 && strings.HasSuffix(o.Key, "/"):
		return Directory
	case !f.within(o.LastModified) || !f.match(o.Key):
		return Excluded
	case o.Size == 0:
		return Empty
	case archived && f.SkipArchived:
		return Archived
	}
	return Take
}

func (f *Filter) within(t time.Time) bool {
	if t.IsZero() {
		return true
	}
	return !t.Before(f.After) && (f.Before.IsZero() || t.Before(f.Before))
}

func (f *Filter) match(key string) bool {
	if len(f.Include)+len(f.Exclude) == 0 {
		return true
	}
	name := strings.TrimPrefix(key, f.Prefix)
	if !strings.HasSuffix(f.Prefix, "/") {
		name = strings.TrimPrefix(name, "/")
	}
	return (len(f.Include) == 0 || matchAny(f.Include, name)) && !matchAny(f.Exclude, name)
}

func matchAny(globs []string, name string) bool {
	for _, g := range globs {
		if doublestar.MatchUnvalidated(g, name) {
			return true
		}
	}
	return false
}
