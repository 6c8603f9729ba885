package pipe

import (
	"sync"

	"github.com/spate-go/spate/pkg/chain"
)

// takeRows and putRows pool row buffers: with a fast sink a unit needs only
// one, however many segments it has.
func (p *Pipe) takeRows() []chain.Rows {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.rows); n > 0 {
		r := p.rows[n-1]
		p.rows = p.rows[:n-1]
		return r
	}
	rows := make([]chain.Rows, len(p.limits))
	for i := range rows {
		rows[i].Traced = p.limits[i].Rejects
	}
	return rows
}

func (p *Pipe) putRows(rows []chain.Rows) {
	if rows == nil {
		return
	}
	for i := range rows {
		p.recycle(i, &rows[i])
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rows = append(p.rows, rows)
}

// recycle resets sink i's rows, and keeps no more memory than the next unit
// begins with.
func (p *Pipe) recycle(i int, rows *chain.Rows) {
	rows.Reset()
	if n := cap(rows.Data); p.joins(i) && n > blockBytes {
		if n <= p.blockMax(i) {
			p.large.put(rows.Data)
		}
		rows.Data = nil
	}
	if cap(rows.Data)+8*(cap(rows.Ends)+cap(rows.Records)) > 2*blockBytes { // beyond the floor: not ours to keep
		*rows = chain.Rows{Traced: rows.Traced}
	}
}

// joins reports whether sink i's blocks are of more than one segment.
func (p *Pipe) joins(i int) bool { return p.limits[i].Joined() > 1 }

// blockMax is the usual upper bound, in bytes, of the rows of one of sink i's
// blocks.
func (p *Pipe) blockMax(i int) int { return p.limits[i].Joined() * blockBytes }

// weight is the memory of sink i's rows. A buffer that grows ahead of many
// segments counts with its capacity.
func (p *Pipe) weight(i int, rows *chain.Rows) int64 {
	n := rows.Bytes()
	if p.joins(i) {
		n = max(n, int64(cap(rows.Data)))
	}
	return n
}

func (p *Pipe) weigh(rows []chain.Rows) (n int64) {
	for i := range rows {
		n += p.weight(i, &rows[i])
	}
	return n
}

// room makes room for the rows of a usual piece. Buffers grow in few steps, so
// that small units stay small: append would take a dozen for a block, and leave
// several times its size as garbage.
func (r *run) room() error {
	for i := range r.out.Sinks {
		rows := &r.out.Sinks[i]
		n := len(rows.Data) + pieceBytes
		if n <= cap(rows.Data) {
			continue
		}
		switch n = step(n, r.blockMax(i)); {
		case n > blockBytes:
			if err := r.enlarge(i, n); err != nil {
				return err
			}
		case n > 0:
			rows.Data = append(r.fresh(i, n), rows.Data...)
		}
	}
	return nil
}

// step is the size of a buffer that is to hold n bytes; 0: that is unusually
// many, and left to append.
func step(n, most int) int {
	for _, size := range []int{2 * pieceBytes, 8 * pieceBytes, blockBytes} {
		if n <= size {
			return size
		}
	}
	for size := 2 * blockBytes; size < most; size *= 2 {
		if n <= size {
			return size
		}
	}
	if n <= most {
		return most
	}
	return 0
}

// fresh is an empty buffer of n bytes or more, up to what a unit begins with.
func (r *run) fresh(i, n int) []byte {
	if r.joins(i) {
		if b := r.small.take(); b != nil {
			return b
		}
	}
	return make([]byte, 0, n)
}

// enlarge moves joined rows into a buffer of n bytes or more, once there is
// memory for it. An idle buffer is taken at its full size if the memory allows
// that: then nothing is moved again.
func (r *run) enlarge(i, n int) error {
	rows := &r.out.Sinks[i]
	others := r.weigh(r.rows) - r.weight(i, rows)
	data := r.large.take()
	if cap(data) < n || r.mem.block(others+int64(cap(data))) != nil {
		if cap(data) >= n {
			r.large.put(data)
		}
		if err := r.mem.block(others + int64(n)); err != nil {
			return err
		}
		data = make([]byte, 0, n)
	}
	old := rows.Data
	rows.Data = append(data, old...)
	if cap(old) == blockBytes {
		r.small.put(old)
	}
	return nil
}

// spare is idle memory outside the budget: the garbage collector takes it when
// it needs it.
type spare struct{ pool sync.Pool }

func (s *spare) take() []byte {
	if b, ok := s.pool.Get().(*[]byte); ok {
		return *b
	}
	return nil
}

func (s *spare) put(b []byte) {
	b = b[:0]
	s.pool.Put(&b)
}
