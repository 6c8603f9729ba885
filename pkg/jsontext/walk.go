package jsontext

// Walker goes through the members of an object or the elements of an array. It
// checks the brackets, commas, colons and keys of these, but not their values.
type Walker struct {
	b    []byte
	i    int
	shut byte // the closing bracket
	more bool // a comma stands before what comes next
	bad  bool
}

// Members begins a walk through an object, around which there may be space.
func Members(object []byte) Walker { return walk(object, '{') }

// Elements begins a walk through an array, around which there may be space.
func Elements(array []byte) Walker { return walk(array, '[') }

func walk(b []byte, open byte) Walker {
	w := Walker{b: b, shut: open + 2} // as ASCII has them
	if w.i = space(b, 0); w.i == len(b) || b[w.i] != open {
		w.fail()
		return w
	}
	w.i++
	return w
}

// Bad reports whether the walk ended at a fault.
func (w *Walker) Bad() bool { return w.bad }

// Offset is where the value that was returned last ends, and, once the walk is
// over, where the closing bracket is.
func (w *Walker) Offset() int { return w.i }

// Element is the next element as written, nil after the last.
func (w *Walker) Element() []byte {
	i := w.next()
	if i < 0 {
		return nil
	}
	end := skip(w.b, i)
	if end <= i {
		return w.fail()
	}
	w.i = end
	return w.b[i:end:end]
}

// Member is the next member as written, quotes of its key included, or nil after
// the last.
func (w *Walker) Member() (key, value []byte) {
	b, i := w.b, w.next()
	if i < 0 {
		return nil, nil
	}
	if b[i] != '"' {
		return nil, w.fail()
	}
	shut := skipString(b, i+1)
	if shut < 0 {
		return nil, w.fail()
	}
	from := space(b, shut)
	if from == len(b) || b[from] != ':' {
		return nil, w.fail()
	}
	from = space(b, from+1)
	end := skip(b, from)
	if end <= from {
		return nil, w.fail()
	}
	w.i = end
	return b[i:shut:shut], b[from:end:end]
}

// next is the place of what comes next, behind the comma before it, or -1.
func (w *Walker) next() int {
	b, i := w.b, space(w.b, w.i)
	if i < len(b) {
		switch c := b[i]; {
		case c == w.shut:
			w.i = i
			return -1
		case !w.more:
			w.more = true
			return i
		case c == ',':
			if i = space(b, i+1); i < len(b) {
				return i
			}
		}
	}
	w.fail()
	return -1
}

// fail ends the walk, for good.
func (w *Walker) fail() []byte {
	w.bad, w.i = true, len(w.b)
	return nil
}
