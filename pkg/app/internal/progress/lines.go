package progress

import (
	"io"
	"sync"
)

// lines shows each state as a line of text.
type lines struct {
	mu sync.Mutex // so that a line is never torn
	w  io.Writer
}

func (l *lines) update(s *state) { _, _ = io.WriteString(l, s.line()+"\n") }

func (l *lines) finish(s *state) { _, _ = io.WriteString(l, s.lastLine()+"\n") }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// nothing shows nothing and lets other lines through.
type nothing struct{ io.Writer }

func (nothing) update(*state) {}

func (nothing) finish(*state) {}
