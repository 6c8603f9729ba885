package jsondecode

import (
	"encoding/binary"
	"strings"
)

// Path leads from a record to a member of it: one key per level.
type Path []string

// String is the path with dots between its keys.
func (p Path) String() string { return strings.Join(p, ".") }

// node is a key that leads to wanted members.
type node struct {
	children
	slot int // of the member itself; -1: not wanted
	// first and last bound the slots at and below the node.
	first, last int
	// seen are the keys of an earlier object here, as written and with their
	// colons: most records have theirs in one order. They save the search, and
	// change nothing of what is found.
	seen    []seen
	learned int // how many were put there
}

// seen is a key with its quotes and its colon, and the words that it is compared
// by: its first 8 bytes, as far as it has them, and its last.
type seen struct {
	key        string
	head, mask uint64
	tail       uint64 // where it has more than 8
	child      *node
}

// Bounds on how many keys are kept, and on how often they are replaced for
// records that are all different.
const (
	maxSeen    = 64
	maxLearned = 1024
)

// guess looks whether b begins with the key that member k had before. It
// returns the key's child and the offset after its colon, or 0.
func (n *node) guess(k int, b []byte) (c *node, end int) {
	if n == nil || k >= len(n.seen) {
		return nil, 0
	}
	g := &n.seen[k]
	end = len(g.key)
	if len(b) < max(end, 8) || binary.LittleEndian.Uint64(b)&g.mask != g.head {
		return nil, 0
	}
	if end > 8 && binary.LittleEndian.Uint64(b[end-8:]) != g.tail || end > 16 && string(b[8:end-8]) != g.key[8:end-8] {
		return nil, 0
	}
	return g.child, end
}

// learn keeps the key of member k.
func (n *node) learn(k int, key []byte, c *node) {
	if k > len(n.seen) || k >= maxSeen || n.learned >= maxLearned || len(key) > maxSeen {
		return
	}
	n.learned++
	if k == len(n.seen) {
		n.seen = append(n.seen, seen{})
	}
	g := seen{key: string(key), child: c, mask: 1<<(8*min(len(key), 8)) - 1}
	var first [8]byte
	copy(first[:], key)
	g.head = binary.LittleEndian.Uint64(first[:])
	if len(key) > 8 {
		g.tail = binary.LittleEndian.Uint64(key[len(key)-8:])
	}
	n.seen[k] = g
}

// plan makes the tree of the paths and says which slot each has. Slots are
// numbered in tree order, so that those below a node are neighbours.
func plan(paths []Path) (root *node, slots []int) {
	root = &node{slot: -1}
	leaves := make([]*node, len(paths))
	wanted := map[*node]bool{}
	type edge struct {
		from *node
		key  string
	}
	made := map[edge]*node{}
	for i, p := range paths {
		n := root
		for _, key := range p {
			to := made[edge{n, key}]
			if to == nil {
				to = &node{slot: -1}
				made[edge{n, key}] = to
				n.list = append(n.list, newChild(key, to))
			}
			n = to
		}
		leaves[i] = n
		wanted[n] = true
	}
	root.number(wanted, 0)
	for _, n := range leaves {
		slots = append(slots, n.slot)
	}
	return root, slots
}

func (n *node) number(wanted map[*node]bool, next int) int {
	n.first = next
	n.index()
	if wanted[n] {
		n.slot = next
		next++
	}
	for _, c := range n.list {
		next = c.node.number(wanted, next)
	}
	n.last = next
	return next
}

// plain reports whether a string as written is the string that is meant: no
// escapes, and nothing that may not be UTF-8.
func plain(raw []byte) bool {
	for ; len(raw) >= 8; raw = raw[8:] {
		x := binary.LittleEndian.Uint64(raw)
		e := x ^ ones*'\\'
		if (x|(e-ones)&^e)&highs != 0 {
			return false
		}
	}
	for _, c := range raw {
		if c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}
