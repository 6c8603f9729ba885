package blackholesink_test

import (
	"testing"

	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/blackholesink"
	"github.com/spate-go/spate/pkg/sink/sinktest"
)

func TestBlackhole(t *testing.T) {
	sinktest.Run(t, sinktest.Harness{
		Discards: true,
		New:      func(*testing.T) (sink.Sink, func() []byte) { return blackholesink.New(), nil },
	})
	t.Run("it counts what it is given", func(t *testing.T) {
		s := blackholesink.New()
		for range 2 {
			if err := s.Write(t.Context(), &sink.Block{Token: "a", Rows: 3, Data: []byte("1\n22\n3\n")}); err != nil {
				t.Fatal(err)
			}
		}
		if s.Blocks() != 2 || s.Rows() != 6 || s.Bytes() != 14 {
			t.Fatalf("%d blocks, %d rows, %d bytes", s.Blocks(), s.Rows(), s.Bytes())
		}
	})
}
