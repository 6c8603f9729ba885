// Package progress shows how far a running job is: bars on a terminal, a line
// now and then elsewhere.
//
// It looks at the job and never touches it: Start takes a function that says
// where the job stands, and nothing here slows or fails it. An output that
// cannot be written to is ignored.
//
// The law: what is shown is known. There is no percentage of a total that still
// grows, and no time left without a rate; a negative number counts as zero.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
)

// Snapshot is where a job stands. Sizes are those of the listing, before
// decompression, so that done and listed can be compared. The bytes of failed
// objects count as done, because nothing of them is left to do; the objects
// themselves are counted apart. What an earlier run has done is in none of the
// numbers, or the rate would be wrong.
type Snapshot struct {
	ListedObjects, DoneObjects, FailedObjects int64
	ListedBytes, DoneBytes                    int64
	Records                                   int64
	Listing                                   bool   // the listed numbers still grow
	Halted                                    string // why the job stands still; "" while it runs
}

// Mode is how progress is shown.
type Mode int

// The modes.
const (
	Auto  Mode = iota // bars on a terminal, lines elsewhere
	Plain             // lines
	None              // nothing
)

// ParseMode reads a mode by its name: auto, plain or none.
func ParseMode(name string) (Mode, error) {
	switch name {
	case "auto":
		return Auto, nil
	case "plain":
		return Plain, nil
	case "none":
		return None, nil
	}
	return None, fmt.Errorf("progress %q: choose auto, plain or none", name)
}

// Options tune a Display. The zero value is usable.
type Options struct {
	Interval time.Duration // between lines; 0 means 10 s
	Refresh  time.Duration // between frames of the bars; 0 means 200 ms

	// For a job that is first looked at in the middle of its course: when it began,
	// zero for now, and the bytes that were done by then, which count in no rate.
	Begun     time.Time
	DoneBytes int64
}

// Display shows one job until it is stopped.
type Display struct {
	snapshot func() Snapshot
	show     shower
	state    state // of the goroutine, until it has ended

	stopOnce sync.Once
	stop     chan struct{}
	ended    sync.WaitGroup
}

// shower is one way of showing progress.
type shower interface {
	io.Writer
	update(s *state)
	finish(s *state)
}

// Start shows on w what snapshot returns, until Stop. It calls snapshot from
// one goroutine of its own and, for the last time, from Stop.
func Start(w io.Writer, mode Mode, snapshot func() Snapshot, o Options) *Display {
	d := &Display{snapshot: snapshot, stop: make(chan struct{}), state: newState(time.Now(), o)}
	every := o.Interval
	if every <= 0 {
		every = 10 * time.Second
	}
	switch {
	case mode == None:
		d.show = nothing{w}
		return d
	case mode == Auto && isTerminal(w):
		every = o.Refresh
		if every <= 0 {
			every = 200 * time.Millisecond
		}
		d.show = newBars(w)
	default:
		d.show = &lines{w: w}
	}
	d.ended.Go(func() { d.run(every) })
	return d
}

func (d *Display) run(every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			d.state.add(now, d.snapshot())
			d.show.update(&d.state)
		case <-d.stop:
			return
		}
	}
}

// Stop shows the final state and returns when nothing of the display runs any
// more. A second call does nothing.
func (d *Display) Stop() {
	d.stopOnce.Do(func() {
		close(d.stop)
		d.ended.Wait()
		d.state.add(time.Now(), d.snapshot())
		d.show.finish(&d.state)
	})
}

// Write writes whole lines, such as warnings, without tearing the display: on a
// terminal they appear above the bars.
func (d *Display) Write(p []byte) (int, error) { return d.show.Write(p) }

func isTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && isatty.IsTerminal(f.Fd())
}
