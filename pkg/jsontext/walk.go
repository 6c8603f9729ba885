package jsontext

// Walker goes through the members of an object or the elements of an array. It
// checks the brackets, commas, colons and keys of these, but not their values.
type Walker struct {
	b []byte
	i int // 0 before the first; beyond b after a fault
}

// Walk begins a walk through a value, around which there may be space. Either
// Member or Element is called then: an array has no members, which is a fault.
func Walk(value []byte) Walker { return Walker{b: value} }

// Bad reports whether the walk ended at a fault.
func (w *Walker) Bad() bool { return w.i > len(w.b) }

// Offset is where the value that was returned last ends, and, once the walk is
// over, where the closing bracket is.
func (w *Walker) Offset() int { return w.i }

// Element is the next element of an array as written, nil after the last.
func (w *Walker) Element() []byte {
	b, i := w.b, w.next(']')
	if i < 0 {
		return nil
	}
	end := skip(b, i)
	if end <= i {
		w.fail()
		return nil
	}
	w.i = end
	return b[i:end:end]
}

// Member is the next member of an object as written, its key with the quotes;
// nil after the last.
func (w *Walker) Member() (key, value []byte) {
	b, i := w.b, w.next('}')
	if i < 0 {
		return nil, nil
	}
	if i == len(b) || b[i] != '"' {
		return w.noMember()
	}
	shut := skipString(b, i+1)
	if shut < 0 {
		return w.noMember()
	}
	from := space(b, shut)
	if from == len(b) || b[from] != ':' {
		return w.noMember()
	}
	from = space(b, from+1)
	end := skip(b, from)
	if end <= from {
		return w.noMember()
	}
	w.i = end
	return b[i:shut:shut], b[from:end:end]
}

func (w *Walker) noMember() (key, value []byte) {
	w.fail()
	return nil, nil
}

// next is the place of what should come next, or -1 where nothing should.
func (w *Walker) next(shut byte) int {
	if w.i == 0 {
		return w.first(shut)
	}
	i := space(w.b, w.i)
	if i < len(w.b) && w.b[i] == ',' {
		return space(w.b, i+1)
	}
	if i >= len(w.b) || w.b[i] != shut {
		return w.fail()
	}
	w.i = i
	return -1
}

// first is next at the opening bracket.
func (w *Walker) first(shut byte) int {
	i := space(w.b, 0)
	if i == len(w.b) || w.b[i] != shut-2 { // as ASCII has them
		return w.fail()
	}
	if i = space(w.b, i+1); i == len(w.b) || w.b[i] != shut {
		return i
	}
	w.i = i
	return -1
}

// fail ends the walk, for good.
func (w *Walker) fail() int {
	w.i = len(w.b) + 1
	return -1
}
