package app

import (
	"fmt"
	"io"
	"sync"

	"github.com/spate-go/spate/pkg/app/internal/progress"
)

// progressMode is how progress is shown. A terminal that cannot move its cursor
// says so in TERM, and is shown lines.
func progressMode(flag string, env func(string) (string, bool)) (progress.Mode, error) {
	mode, err := progress.ParseMode(flag)
	if err != nil {
		return mode, fmt.Errorf("--progress: %w", err)
	}
	if term, _ := env("TERM"); term == "dumb" && mode == progress.Auto {
		return progress.Plain, nil
	}
	return mode, nil
}

// switchable is a writer that leads elsewhere later.
type switchable struct {
	mu sync.Mutex
	w  io.Writer // guarded by mu
}

func (s *switchable) to(w io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w = w
}

func (s *switchable) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}
