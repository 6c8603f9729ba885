package dirobject

import (
	"os"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/unit"
)

// Head returns the object at key as it is now, as a listing would.
func (b *Bucket) Head(key string) (unit.Object, error) {
	path, err := b.file(key)
	if err != nil {
		return unit.Object{}, err
	}
	fi, err := os.Stat(path)
	if err != nil {
		return unit.Object{}, b.classify("look at", path, err)
	}
	if !fi.Mode().IsRegular() {
		return unit.Object{}, failure.Errorf(failure.Member, failure.NotFound, "look at %q: it is not a file", path)
	}
	return describe(key, fi), nil
}
