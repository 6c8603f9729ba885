package lister

import (
	"fmt"
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/unit"
)

// place is how far a run's listing has come: everything up to key is in pages of
// the ledger, or counted by them. If key's object is cut into more units than a
// page holds, object is that object and the pages hold its first units.
//
// A place within an object says all that it takes to plan the rest of it. So
// whoever continues there asks no store about the object, and plans the rest as
// the lister before would have: as ranges of the version that was listed. If that
// version was overwritten meanwhile, its ranges are found changed when they are
// read, and are reported, as are the ranges planned before; the new version is
// another object, and never read in part.
type place struct {
	key    string
	object *unit.Object // nil: all of key's object is in pages
	units  int          // of object, in pages
}

// mark follows the key in the name of a place that is not just a key. It sorts
// after what usually follows a key, so that names sort as places do.
const mark = "\x00\U0010FFFF"

// String is the place's name in the ledger. Different places have different
// names, and the names of a listing's places rise, whatever the keys are.
func (p place) String() string {
	if o := p.object; o != nil {
		return fmt.Sprintf("%s%s%08d %d %d %d %q %q",
			o.Key, mark, p.units, o.Size, o.LastModified.Unix(), o.LastModified.Nanosecond(), o.ETag, o.Version)
	}
	if strings.Contains(p.key, mark) {
		return p.key + mark + behind
	}
	return p.key
}

// after names the place, which is not within an object, so that the name
// differs from last: that of the place before, which may be the same one.
func (p place) after(last string) string {
	name := p.String()
	rest, ok := strings.CutPrefix(last, p.key+mark)
	switch {
	case ok && ended(rest):
		return last + behind
	case ok || name == last:
		return p.key + mark + behind
	}
	return name
}

// behind ends the name of a place that comes after one with the same key.
const behind = "~"

func ended(rest string) bool { return rest != "" && strings.Trim(rest, behind) == "" }

func parsePlace(name string) (place, error) {
	i := strings.LastIndex(name, mark)
	if i < 0 {
		return place{key: name}, nil
	}
	key, rest := name[:i], name[i+len(mark):]
	if ended(rest) {
		return place{key: key}, nil
	}
	o := &unit.Object{Key: key}
	p := place{key: key, object: o}
	var sec, nsec int64
	if _, err := fmt.Sscanf(rest, "%d %d %d %d %q %q", &p.units, &o.Size, &sec, &nsec, &o.ETag, &o.Version); err != nil {
		return place{}, failure.Errorf(failure.Job, failure.Config,
			"resume after %q: %w: no lister of this release stopped there: cancel the job and start it again", name, err)
	}
	o.LastModified = time.Unix(sec, nsec).UTC()
	return p, nil
}
