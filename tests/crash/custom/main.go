// Custom is a lister and a reader whose framer, operator and chain panic at
// records that tell them to, as code of a user's own may.
package main

import (
	"bytes"
	"os"

	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/app/function"
	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/decode"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/record"
)

func main() {
	p := app.Pipeline{Framer: newFramer, Chain: newWorker}
	if os.Getenv("FUNCTION") == "lister" {
		function.Lister(p)
	}
	function.Reader(p)
}

func told(who string, b []byte) {
	if bytes.Contains(b, []byte("panic, "+who)) {
		panic(who + " was told to")
	}
}

type framer struct{ frame.Framer }

func newFramer() frame.Framer { return framer{frame.NDJSON(1 << 20)} }

func (f framer) Split(dst []record.Frame, buf []byte, final bool) ([]record.Frame, int, error) {
	told("framer", buf)
	return f.Framer.Split(dst, buf, final)
}

// text is a record as it stands.
type text []byte

type decoder struct{}

func (decoder) Decode(b []byte, v *text) error {
	*v = b
	return nil
}

type worker struct{ chain.Worker }

func newWorker() chain.Worker {
	s := chain.Decode(func() decode.Decoder[text] { return decoder{} }, chain.Fail)
	s = chain.Inspect(s, func(_ *chain.Context, v *text) { told("operator", *v) })
	return worker{chain.Encode(s, chain.Fail, func(dst []byte, v *text) ([]byte, error) {
		return append(append(dst, *v...), '\n'), nil
	})()}
}

func (w worker) Process(b *chain.Batch, out *chain.Output) error {
	told("chain", b.Buf)
	return w.Worker.Process(b, out)
}
