package sink

import (
	"crypto/sha256"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/spate-go/spate/pkg/unit"
)

// Token names a block of one sink and its bytes: unit, sink, place in the unit,
// hash of the encoded rows. A repeated write is recognised by it, and rows that
// changed code encodes differently do not pass for repeats (INV-3). Unit ids
// have one length, so no two blocks share a token unless their rows' hashes
// collide in the same place.
func Token(u unit.ID, sinkName string, series, segment, part int, data []byte) string {
	return fmt.Sprintf("%s-%s-%d.%d.%d-%016x", u, sinkName, series, segment, part, xxhash.Sum64(data))
}

// Tokens remembers tokens, 16 bytes each: a set for sinks that have to tell
// repeats by themselves. Its zero value is empty.
type Tokens struct{ seen map[[16]byte]struct{} }

// Add remembers token.
func (t *Tokens) Add(token string) {
	if t.seen == nil {
		t.seen = map[[16]byte]struct{}{}
	}
	t.seen[digest(token)] = struct{}{}
}

// Has reports whether token was added.
func (t *Tokens) Has(token string) bool {
	_, ok := t.seen[digest(token)]
	return ok
}

// digest is cryptographic because a collision would drop rows.
func digest(token string) [16]byte {
	sum := sha256.Sum256([]byte(token))
	return [16]byte(sum[:16])
}
