package finalizer

import (
	"hash/maphash"

	"github.com/spate-go/spate/pkg/ledger"
)

// maxUndone is how many keys are told apart, of dead units and of open ones.
const maxUndone = 1 << 20

// undone counts the objects of units that are not done, each once, although the
// ranges of one object are units of their own. It keeps eight bytes per key,
// its hash. Objects beyond maxUndone keys count once per unit.
type undone struct {
	seed    maphash.Seed
	failed  map[uint64]struct{} // of dead units
	waiting map[uint64]struct{} // of open units of single objects
	more    int64               // objects of open units of several, and those above the bound
	dropped int64               // of dead units, above the bound
}

func (u *undone) enter(set *map[uint64]struct{}, key string, over *int64) {
	if *set == nil {
		*set = map[uint64]struct{}{}
	}
	if u.seed == (maphash.Seed{}) {
		u.seed = maphash.MakeSeed()
	}
	h := maphash.String(u.seed, key)
	if _, known := (*set)[h]; !known && len(*set) >= maxUndone {
		*over++
		return
	}
	(*set)[h] = struct{}{}
}

func (u *undone) dead(i ledger.Item) {
	for _, o := range i.Cause.Objects {
		u.enter(&u.failed, o.Key, &u.dropped)
	}
}

func (u *undone) open(i ledger.Item) {
	if i.Objects == 1 {
		u.enter(&u.waiting, i.FirstKey, &u.more)
	} else {
		u.more += int64(i.Objects)
	}
}

// objects returns how many objects failed, and how many others are not done.
func (u *undone) objects() (failed, open int64) {
	open = int64(len(u.waiting)) + u.more
	for h := range u.waiting {
		if _, both := u.failed[h]; both {
			open--
		}
	}
	return int64(len(u.failed)) + u.dropped, open
}
