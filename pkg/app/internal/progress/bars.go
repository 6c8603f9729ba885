package progress

import (
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// bars shows the state as two bars and a line below them, and leaves the last
// state as a line of text where they stood.
type bars struct {
	lines
	container *mpb.Progress
	refresh   chan any // asks for a frame
	gone      chan any // closed when there will be no more frames
	over      bool     // nothing may be written through the container; guarded by writing
	writing   sync.Mutex

	objects, bytes, rest bar
}

// bar is one row: its text is set with each state and drawn with each frame.
type bar struct {
	*mpb.Bar
	mu   sync.Mutex
	text string // guarded by mu
}

func newBars(w io.Writer) *bars {
	b := &bars{lines: lines{w: w}, refresh: make(chan any), gone: make(chan any)}
	b.container = mpb.New(mpb.WithOutput(w), mpb.WithWidth(100),
		mpb.WithManualRefresh(b.refresh), mpb.WithShutdownNotifier(b.gone))
	b.objects.Bar = b.row("objects", &b.objects)
	b.bytes.Bar = b.row("bytes", &b.bytes)
	b.rest.Bar = b.container.New(0, mpb.NopStyle(), mpb.PrependDecorators(decor.Any(b.rest.draw)))
	return b
}

func (b *bars) row(name string, r *bar) *mpb.Bar {
	return b.container.New(0, mpb.BarStyle(),
		mpb.BarWidth(30),
		mpb.PrependDecorators(decor.Name(name, decor.WC{W: len("objects "), C: decor.DindentRight})),
		mpb.AppendDecorators(decor.Any(r.draw)))
}

func (r *bar) draw(decor.Statistics) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text
}

// set never lets the bar complete: a complete bar cannot be changed, and the
// total may still grow.
func (r *bar) set(done, total int64, text string) {
	r.mu.Lock()
	r.text = text
	r.mu.Unlock()
	r.SetTotal(total+1, false)
	r.SetCurrent(done)
}

func (b *bars) update(s *state) {
	b.objects.set(s.DoneObjects+s.FailedObjects, s.ListedObjects, join(s.objects(), s.trouble()))
	b.bytes.set(s.DoneBytes, s.ListedBytes, join(s.percentage(), size(s.DoneBytes)+"/"+size(s.ListedBytes)+s.growing(),
		perSecond(s.rate()), s.timeLeft()))
	b.rest.set(0, 0, join(clock(s.elapsed()), s.records()))
	// The container ends by itself when the terminal goes away.
	select {
	case b.refresh <- time.Now():
	case <-b.gone:
	}
}

// finish draws once more, because what was written since the last frame appears
// with the next, and takes the bars away.
func (b *bars) finish(s *state) {
	b.writing.Lock()
	b.over = true
	b.update(s)
	for _, r := range []*mpb.Bar{b.objects.Bar, b.bytes.Bar, b.rest.Bar} {
		r.Abort(true)
	}
	b.container.Wait()
	b.writing.Unlock()
	b.lines.finish(s)
}

func (b *bars) Write(p []byte) (int, error) {
	b.writing.Lock()
	defer b.writing.Unlock()
	if b.over {
		return b.lines.Write(p)
	}
	return b.container.Write(p)
}
