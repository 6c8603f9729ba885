package codec

import "io"

// source is a reader whose first bytes can be looked at, and which remembers
// how it ended. Decoders fold the errors of their input into their own; the
// memory here is what keeps a cut connection from passing for corrupt data, or
// even for a clean end.
type source struct {
	r      io.Reader
	head   [HeadBytes]byte
	off, n int // head[off:n] is still to be read
	err    error
}

// reset looks at the beginning of r.
func (s *source) reset(r io.Reader) {
	*s = source{r: r}
	for s.n < len(s.head) && s.err == nil {
		var n int
		n, s.err = r.Read(s.head[s.n:])
		s.n += n
	}
}

// peek returns the source's first bytes, up to HeadBytes. They are valid until
// the first Read.
func (s *source) peek() []byte { return s.head[:s.n] }

// failed returns the source's own error, if any; io.EOF is not one.
func (s *source) failed() error {
	if s.err == io.EOF {
		return nil
	}
	return s.err
}

// Read reads into p directly, except for the bytes that were peeked.
func (s *source) Read(p []byte) (int, error) {
	n := copy(p, s.head[s.off:s.n])
	s.off += n
	if n == len(p) {
		return n, nil
	}
	if s.err != nil {
		return n, s.err
	}
	m, err := s.r.Read(p[n:])
	s.err = err
	return n + m, err
}
