package unit

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// validate checks what readers rely on. Encode and Decode share it, so that
// nothing is sent that would be refused.
func (u *Unit) validate() error {
	switch {
	case u.Job == "" || !utf8.ValidString(u.Job):
		return fmt.Errorf("job %q: not a job's name", u.Job)
	case u.Run < 0:
		return fmt.Errorf("run %d: below 0", u.Run)
	case u.Origin != "" && u.Origin != FromList && u.Origin != FromEvent:
		return fmt.Errorf("origin %q: neither %s nor %s", u.Origin, FromList, FromEvent)
	case len(u.Objects) == 0:
		return errors.New("no objects")
	case len(u.Objects) > MaxMembers:
		return fmt.Errorf("%d objects of at most %d", len(u.Objects), MaxMembers)
	}
	for i := range u.Objects {
		o := &u.Objects[i]
		switch {
		case o.Key == "":
			return fmt.Errorf("object %d: no key", i)
		case o.Size < 0:
			return fmt.Errorf("object %q: size %d", o.Key, o.Size)
		case o.Take < 0 || o.Again < 0:
			return fmt.Errorf("object %q: taken %d times, and again %d", o.Key, o.Take, o.Again)
		case i > 0 && compare(u.Objects[i-1], *o) >= 0:
			return fmt.Errorf("object %q: not in order of key, etag and version, or there twice", o.Key)
		}
	}
	return u.validateRange()
}

func (u *Unit) validateRange() error {
	r := u.Range
	if r == nil {
		return nil
	}
	if len(u.Objects) != 1 {
		return fmt.Errorf("a range of %d objects", len(u.Objects))
	}
	o := &u.Objects[0]
	switch {
	case o.ETag == "":
		// Without one the ranges of two versions could be mixed (INV-2).
		return fmt.Errorf("object %q: a range without an etag", o.Key)
	case r.Start < 0 || r.End <= r.Start || r.End > o.Size:
		return fmt.Errorf("object %q: range [%d, %d) of %d bytes", o.Key, r.Start, r.End, o.Size)
	}
	return nil
}
