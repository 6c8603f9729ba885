package clickhouse

import "encoding/binary"

// measureRow adds the row at i to the lengths of the runs and returns its end, or
// -1. The common columns are measured here, without a call for each.
func (n *Native) measureRow(b []byte, i int) int {
	for k := range n.columns {
		c := &n.columns[k]
		switch {
		case c.shape.op == opFixed && c.shape.width <= len(b)-i:
			i += c.shape.width
			n.at[c.first] += c.shape.width
		case c.shape.op == opBytes && i < len(b) && int(b[i]) < min(0x80, len(b)-i):
			n.at[c.first] += 1 + int(b[i])
			i += 1 + int(b[i])
		default:
			if i, _ = n.measure(c.shape, b, i, c.first); i < 0 {
				return -1
			}
		}
	}
	return i
}

// fillRow copies the row at i, which was measured, and returns its end.
func (n *Native) fillRow(dst, b []byte, i int) int {
	for k := range n.columns {
		c := &n.columns[k]
		at := n.at[c.first]
		switch {
		case c.shape.op == opFixed && c.shape.width == 8:
			binary.LittleEndian.PutUint64(dst[at:], binary.LittleEndian.Uint64(b[i:]))
			i, n.at[c.first] = i+8, at+8
		case c.shape.op == opBytes && b[i] < 0x80:
			end := i + 1 + int(b[i])
			n.at[c.first] = at + copy(dst[at:], b[i:end])
			i = end
		default:
			i, _ = n.fill(dst, c.shape, b, i, c.first)
		}
	}
	return i
}

// measure adds the value at i to the lengths of the runs from r on. It returns
// the end of the value, or -1, and the run after the value's.
func (n *Native) measure(s *shape, b []byte, i, r int) (end, next int) {
	switch s.op {
	case opFixed:
		if i += s.width; i > len(b) {
			return -1, 0
		}
		n.at[r] += s.width
		return i, r + 1
	case opBytes:
		if end = s.skip(b, i); end < 0 {
			return -1, 0
		}
		n.at[r] += end - i
		return end, r + 1
	case opOptional:
		if i >= len(b) || b[i] > 1 {
			return -1, 0
		}
		n.at[r]++
		if b[i] == 0 {
			return n.measure(s.parts[0], b, i+1, r+1)
		}
		_, next = n.measure(s.parts[0], s.zero, 0, r+1)
		return i + 1, next
	case opList:
		return n.measureList(s, b, i, r)
	case opRecord:
	}
	for _, p := range s.parts {
		if i, r = n.measure(p, b, i, r); i < 0 {
			return -1, 0
		}
	}
	return i, r
}

func (n *Native) measureList(s *shape, b []byte, i, r int) (end, next int) {
	count, i := uvarint(b, i)
	if i < 0 || count > uint64(len(b)-i) {
		return -1, 0
	}
	n.at[r] += 8
	next = r + 1 + s.parts[0].runs
	for ; count > 0; count-- {
		if i, _ = n.measure(s.parts[0], b, i, r+1); i < 0 {
			return -1, 0
		}
	}
	return i, next
}

// fill copies the value at i, which was measured, to the runs from r on.
func (n *Native) fill(dst []byte, s *shape, b []byte, i, r int) (end, next int) {
	switch s.op {
	case opFixed:
		at := n.at[r]
		end, n.at[r] = i+s.width, at+s.width
		switch s.width {
		case 8:
			copy(dst[at:at+8], b[i:i+8])
		case 4:
			copy(dst[at:at+4], b[i:i+4])
		case 2:
			copy(dst[at:at+2], b[i:i+2])
		case 1:
			dst[at] = b[i]
		default:
			copy(dst[at:at+s.width], b[i:end])
		}
		return end, r + 1
	case opBytes:
		end = s.skip(b, i)
		n.at[r] += copy(dst[n.at[r]:], b[i:end])
		return end, r + 1
	case opOptional:
		dst[n.at[r]] = b[i]
		n.at[r]++
		if b[i] == 0 {
			return n.fill(dst, s.parts[0], b, i+1, r+1)
		}
		_, next = n.fill(dst, s.parts[0], s.zero, 0, r+1)
		return i + 1, next
	case opList:
		count, i := uvarint(b, i)
		n.lists[r] += count
		binary.LittleEndian.PutUint64(dst[n.at[r]:], n.lists[r])
		n.at[r] += 8
		for ; count > 0; count-- {
			i, _ = n.fill(dst, s.parts[0], b, i, r+1)
		}
		return i, r + 1 + s.parts[0].runs
	case opRecord:
	}
	for _, p := range s.parts {
		i, r = n.fill(dst, p, b, i, r)
	}
	return i, r
}
