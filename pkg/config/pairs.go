package config

// Pairs are the entries of a mapping from names to text, in the order of the
// file. A Go map would lose that order.
type Pairs []Pair

// Pair is one entry of Pairs.
type Pair struct{ Key, Value string }

// pairs reads n into p.
func (d *decoder) pairs(p *Pairs, n *node, path string) {
	if !d.expect(n, mapping, path) {
		return
	}
	out := make(Pairs, 0, len(n.entries))
	for _, e := range n.entries {
		at := below(path, e.key)
		if e.value.kind == null {
			d.add(e.pos, at, "no value")
		} else if d.expect(e.value, scalar, at) {
			out = append(out, Pair{e.key, e.value.text})
		}
	}
	*p = out
}
