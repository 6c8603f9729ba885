// Package pipe moves one unit's bytes: pinned windows → codec → frames → chain
// → blocks → sinks. It owns the memory floor, segments and series, and knows
// neither feed nor ledger.
//
// Bytes are handled in pieces that stay in the processor's cache: framed in
// place, processed, encoded, before the next piece is read. Same unit, same
// faults, same configuration: same blocks and tokens (INV-3).
package pipe

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/spate-go/spate/pkg/budget"
	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/codec"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/segment"
	"github.com/spate-go/spate/pkg/sink"
)

const (
	// pieceBytes is what is framed and processed at a time.
	pieceBytes = 256 << 10
	// fillBytes is how much of a piece is read before it is processed.
	fillBytes = 64 << 10
	// blockBytes is the memory that a unit begins with for one sink's rows of a
	// segment: enough if rows are not much longer than their records.
	blockBytes = segment.Bytes + 2*pieceBytes
)

// NamedSink is a sink under the name that tokens and reports give it.
type NamedSink struct {
	Name string
	Type string
	sink.Sink
}

// Config is what a Pipe is made of. Fields up to Threads are required, except
// Rejects.
type Config struct {
	Source object.Opener
	Framer func() frame.Framer
	Chain  chain.Constructor
	Sinks  []NamedSink
	Budget *budget.Budget
	// Rejects, if not nil, takes the rejected records; otherwise they are only
	// counted.
	Rejects *Rejects
	// Threads bounds how many pieces go through the chain at once.
	Threads int
	// Force overrides the codec that the content shows; "" goes by content.
	Force codec.Codec
	// Limit, if not nil, is the number of records that are still to be read, by
	// all units together; at 0 every member ends.
	Limit    *atomic.Int64
	Registry *metric.Registry // nil counts into nothing
	Labels   []metric.Label
}

// Pipe reads units. Its methods may be called concurrently.
type Pipe struct {
	config    Config
	threads   threads
	turns     atomic.Int64 // of the series so far
	metrics   metrics
	limits    []sink.Limits // of each sink
	floor     floor         // that a series begins under
	lines     bool          // framing may begin at any record
	rejecting int           // sinks that may refuse rows
	outputs   int           // sinks that the chain knows; the rejects' sink, if any, follows them

	mu      sync.Mutex
	workers []*worker      // idle; guarded by mu
	rows    [][]chain.Rows // idle, empty; guarded by mu

	small, large spare // idle buffers of joined rows: of one segment, of more
}

// New returns a pipe over c.
func New(c Config) *Pipe {
	outputs := len(c.Sinks)
	if c.Rejects != nil {
		c.Sinks = append(slices.Clone(c.Sinks), c.Rejects.NamedSink)
	}
	rejecting := 0
	limits := make([]sink.Limits, len(c.Sinks)) // rejects are cut in a way of their own
	for i := range outputs {
		limits[i] = c.Sinks[i].Limits()
		if limits[i].Rejects {
			rejecting++
		}
	}
	f := c.Framer()
	return &Pipe{
		outputs:   outputs,
		config:    c,
		threads:   threads{free: c.Threads},
		metrics:   newMetrics(c, limits),
		limits:    limits,
		rejecting: rejecting,
		floor:     floorOf(f.Need(), limits),
		lines:     resyncs(f),
	}
}

// resyncs reports whether f has a delimiter that ends a record wherever it
// stands.
func resyncs(f frame.Framer) bool {
	l, ok := f.(interface{ Delimiter() (byte, bool) })
	if !ok {
		return false
	}
	_, ok = l.Delimiter()
	return ok
}

// Records counts the records framed so far, those of repeated work too.
func (p *Pipe) Records() *metric.Value { return p.metrics.records }

// BytesRead counts the bytes read from the store so far, those of repeated work
// too.
func (p *Pipe) BytesRead() *metric.Value { return p.metrics.bytesRead }

// worker is what one unit at a time needs and the next one reuses.
type worker struct {
	chain  chain.Worker
	framer frame.Framer
	codec  *codec.Reader
	buf    []byte
	frames []record.Frame
	window func(int64) error // of the current unit
}

func (p *Pipe) takeWorker() *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.workers); n > 0 {
		w := p.workers[n-1]
		p.workers = p.workers[:n-1]
		return w
	}
	w := &worker{chain: p.config.Chain(), framer: p.config.Framer(), buf: make([]byte, 0, pieceBytes)}
	w.codec = codec.NewReader(codec.Options{Force: p.config.Force, Window: func(n int64) error { return w.window(n) }})
	return w
}

func (p *Pipe) putWorker(w *worker) {
	if cap(w.buf) > 4*pieceBytes { // grown for a long record, on that unit's account
		w.buf = make([]byte, 0, pieceBytes)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.workers = append(p.workers, w)
}
