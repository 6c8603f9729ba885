// Package filesink writes rows to a local file, to a directory of files, or to
// a pipe or device.
//
// A path that ends in "/", or that is a directory, holds one file per unit and
// series, which appears whole under its name at Commit. Until then its rows are
// in a hidden file beside it. A series without rows has no file. A block that
// comes again in its place with other rows replaces it and what came after it:
// whoever sends it sends the rest again too.
//
// Any other path is one file with the rows of all units, blocks interleaved
// whole. A write that fails or stops short is taken back, so the file holds the
// acked rows and never half a line. A block of an acked token is not written
// again.
//
// A pipe, a terminal, /dev/null or /dev/stdout takes blocks as they come, and
// nothing back.
//
// Acked rows survive a crash of the process, and from Commit on one of the
// machine. With a journal, repeats are known across processes and acked rows
// survive a crash of the machine at once. Without one, hidden files end with
// the process, so a unit must not be continued elsewhere from a cursor. An
// output belongs to one process at a time.
package filesink

import (
	"cmp"
	"context"
	"os"
	"strings"

	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

var _ sink.Sink = (*Sink)(nil)

// Options say where rows go.
type Options struct {
	// Path is a file, a pipe or device, or a directory. Missing directories are
	// created, parents too.
	Path string
	// Setting is what Path comes from, for errors; "" means sink.file.path.
	Setting string
	// Overwrite lets New replace an existing output: a file is emptied at once,
	// and a directory loses the files that are named like a unit's. An output
	// of this journal is continued all the same.
	Overwrite bool
	// Extension of the files in a directory; "" means "ndjson".
	Extension string
	// Journal is a file that remembers the blocks from one process to the next,
	// beside a ledger that does the same. With it an output that it knows is
	// continued. "" means that blocks are remembered by this process only.
	Journal string
}

// Sink is one output.
type Sink struct{ out sink.Sink }

// New prepares the output, and refuses one that exists already.
func New(o Options) (*Sink, error) { return open(o, osFile) }

// Check reports what New would refuse. It creates and changes nothing.
func Check(o Options) error {
	p, err := resolve(o)
	if err != nil {
		return err
	}
	known, err := journalKnows(o.Journal, p.abs)
	if err != nil {
		return err
	}
	return p.refuse(known)
}

func open(o Options, opener opener) (*Sink, error) {
	p, err := resolve(o)
	if err != nil {
		return nil, err
	}
	out, err := openPlace(p, o.Journal, opener)
	if err != nil {
		return nil, err
	}
	return &Sink{out: out}, nil
}

func openPlace(p place, journalName string, opener opener) (sink.Sink, error) {
	if p.kind == stream {
		return openStream(p)
	}
	known, err := journalKnows(journalName, p.abs)
	if err != nil {
		return nil, err
	}
	if err := p.refuse(known); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return nil, p.setting.classify(err)
	}
	var j *journal
	var past []entry
	if journalName != "" {
		if j, past, err = openJournal(journalName, p.abs, opener); err != nil {
			return nil, err
		}
	}
	if p.kind == directory {
		return openDir(p, known, j, past, opener)
	}
	return openSingle(p, known, j, past, opener)
}

// Write implements sink.Sink.
func (s *Sink) Write(ctx context.Context, b *sink.Block) error { return s.out.Write(ctx, b) }

// Commit implements sink.Sink.
func (s *Sink) Commit(ctx context.Context, u unit.ID, series int) error {
	return s.out.Commit(ctx, u, series)
}

// Limits implements sink.Sink: none.
func (s *Sink) Limits() sink.Limits { return sink.Limits{} }

// Close implements sink.Sink. Without a journal it removes what was not
// committed to a directory.
func (s *Sink) Close() error { return s.out.Close() }

func (o Options) setting() setting { return setting(cmp.Or(o.Setting, "sink.file.path")) }

func (o Options) extension() string {
	return strings.TrimPrefix(cmp.Or(o.Extension, "ndjson"), ".")
}
