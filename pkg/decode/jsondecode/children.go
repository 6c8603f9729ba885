package jsondecode

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
)

// children are those of a node, by key. A key is compared with those of one
// bucket, so that what a member costs does not grow with the number of wanted
// ones.
type children struct {
	list    []child // bucket by bucket
	lengths uint64  // bit n: a key has n bytes, or 63 and more
	starts  []int32 // of the buckets in list, and its end
	shift   int     // of a hash: what is left is the bucket
}

type child struct {
	key  string
	word uint64 // key, as short wants it
	node *node
}

func newChild(key string, n *node) child { return child{key, wordOf(key), n} }

// few children are one bucket: to compare them all is quicker.
const few = 16

// index puts the list in the order of its buckets.
func (c *children) index() {
	buckets := 1
	if len(c.list) > few {
		buckets = 1 << bits.Len(uint(len(c.list)))
	}
	c.shift = 65 - bits.Len(uint(buckets))
	bucket := func(of *child) int { return int(hashOf([]byte(of.key)) >> c.shift) }
	slices.SortStableFunc(c.list, func(a, b child) int { return bucket(&a) - bucket(&b) })
	c.starts = make([]int32, buckets+1)
	for i := range c.list {
		c.lengths |= 1 << min(len(c.list[i].key), 63)
		c.starts[bucket(&c.list[i])+1] = int32(i + 1)
	}
	for b := range buckets { // one without a child ends where it begins
		c.starts[b+1] = max(c.starts[b], c.starts[b+1])
	}
}

// bucket are the children whose keys may have that hash.
func (c *children) bucket(hash uint64) []child {
	b := hash >> c.shift
	return c.list[c.starts[b]:c.starts[b+1]]
}

// among are the children that a key is compared with.
func (c *children) among(key []byte) []child {
	if len(c.list) <= few {
		return c.list
	}
	return c.bucket(hashOf(key))
}

// hashOf is the same for keys that differ in nothing but the case of letters of
// ASCII. Its high bits are the good ones. No record can fill a bucket: what is in
// them is the pipeline's.
func hashOf(key []byte) uint64 {
	if len(key) < 8 {
		var w uint64
		for i, b := range key {
			w |= uint64(b) << (8 * i)
		}
		return hashWord(0, w)
	}
	var h uint64
	for i := 0; i < len(key); i += 8 {
		h = hashWord(h, binary.LittleEndian.Uint64(key[min(i, len(key)-8):]))
	}
	return h
}

// hashWord is the hash of 8 bytes that follow those of hash h; missing ones are 0.
func hashWord(h, w uint64) uint64 {
	hi, lo := bits.Mul64(h^(w|ones*0x20), 0x9e3779b97f4a7c15)
	return hi ^ lo
}

// wordOf is a key of up to 7 bytes as a number, the first byte lowest, and for
// other keys a number that is none of those. Keys with a NUL count among the
// latter, since a NUL would look like a missing byte; a key as written has
// none.
func wordOf(key string) (w uint64) {
	if len(key) > 7 || strings.IndexByte(key, 0) >= 0 {
		return 1<<64 - 1
	}
	for i := range len(key) {
		w |= uint64(key[i]) << (8 * i)
	}
	return w
}

// short is find for keys that are one word: of up to 7 bytes, all of them ASCII
// and none a backslash. n may be nil.
func (n *node) short(word uint64, size int) *node {
	if n == nil || n.lengths>>size&1 == 0 {
		return nil
	}
	if len(n.list) > few {
		return n.shortOfMany(word)
	}
	for i := range n.list {
		if c := &n.list[i]; c.word == word {
			return c.node
		}
	}
	return nil
}

// shortOfMany stands apart so that few stay quick.
func (n *node) shortOfMany(word uint64) *node {
	in := n.bucket(hashWord(0, word))
	for i := range in {
		if in[i].word == word {
			return in[i].node
		}
	}
	return nil
}

// find is the child whose key is name, or nil.
func (c *children) find(name []byte) *node {
	if c.lengths>>min(len(name), 63)&1 == 0 {
		return nil
	}
	in := c.among(name)
	for i := range in {
		if string(name) == in[i].key {
			return in[i].node
		}
	}
	return nil
}

// resembles reports whether a key as written, which names no child, may name
// one if case is ignored.
func (c *children) resembles(raw []byte) bool {
	if c.list == nil {
		return false
	}
	if !plain(raw) {
		return true
	}
	if c.lengths>>min(len(raw), 63)&1 == 0 {
		return false
	}
	in := c.among(raw)
	for i := range in {
		if key := in[i].key; len(key) == len(raw) && strings.EqualFold(key, string(raw)) {
			return true
		}
	}
	return false
}
