package filesink

import (
	"cmp"
	"os"

	"github.com/spate-go/spate/pkg/sink"
)

// streamed closes what it writes to.
type streamed struct {
	*sink.Stream
	f *os.File
}

// openStream waits for the reader of a named pipe, as any writer to one does.
func openStream(p place) (*streamed, error) {
	f, err := os.OpenFile(p.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, p.setting.classify(err)
	}
	return &streamed{Stream: sink.NewStream(p.path, f), f: f}, nil
}

func (s *streamed) Close() error { return cmp.Or(s.Stream.Close(), s.f.Close()) }
