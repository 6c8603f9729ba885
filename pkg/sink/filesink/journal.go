package filesink

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

// journal remembers the blocks of one output across processes: a line each,
// after a first line that names the output. A line that a crash cut short was
// never acked.
type journal struct {
	mu  sync.Mutex
	out tail // guarded by mu
}

// op is what a line of the journal says.
type op byte

const (
	appended  op = '+' // a block was written and ends at end
	cut       op = '-' // only the first end blocks stay, in the hidden file
	committed op = '=' // the file has its name
)

type entry struct {
	op     op
	series series
	at     at
	end    int64
	token  string
}

func appendedEntry(b *sink.Block, end int64) entry {
	return entry{op: appended, series: series{b.Unit, b.Series}, at: at{b.Segment, b.Part}, end: end, token: b.Token}
}

func headLine(output string) string { return fmt.Sprintf("spate file sink 1 %q\n", output) }

// journalKnows reports whether the journal is of that output.
func journalKnows(name, output string) (bool, error) {
	if name == "" {
		return false, nil
	}
	data, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, ofJournals.classify(err)
	}
	return bytes.HasPrefix(data, []byte(headLine(output))), nil
}

// openJournal returns the journal and what it says of output. A journal of
// another output is started over: its blocks are not in this one.
func openJournal(name, output string, opener opener) (*journal, []entry, error) {
	data, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, ofJournals.classify(err)
	}
	head := headLine(output)
	known := bytes.HasPrefix(data, []byte(head))
	f, err := opener(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, nil, ofJournals.classify(err)
	}
	j := &journal{out: tail{setting: ofJournals, name: name, f: f}}
	var past []entry
	if known {
		past, j.out.good, err = parseEntries(name, data, len(head))
	}
	if err == nil {
		err = j.out.cut(j.out.good)
	}
	if err == nil && !known {
		err = cmp.Or(j.out.append([]byte(head)), j.out.sync())
	}
	if err != nil {
		return nil, nil, cmp.Or(err, f.Close())
	}
	return j, past, nil
}

// parseEntries reads whole lines from offset on and returns where they end.
func parseEntries(name string, data []byte, offset int) ([]entry, int64, error) {
	var past []entry
	for {
		n := bytes.IndexByte(data[offset:], '\n')
		if n < 0 {
			return past, int64(offset), nil
		}
		e, err := parseEntry(string(data[offset : offset+n]))
		if err != nil {
			return nil, 0, configf("read %s at byte %d: %w: it was changed; start over with a fresh --state and output", name, offset, err)
		}
		past = append(past, e)
		offset += n + 1
	}
}

func parseEntry(line string) (entry, error) {
	var e entry
	var u string
	_, err := fmt.Sscanf(line, "%c %q %d %d %d %d %q", &e.op, &u, &e.series.index, &e.at.segment, &e.at.part, &e.end, &e.token)
	e.series.unit = unit.ID(u)
	if err != nil {
		return e, err
	}
	if e.op != appended && e.op != cut && e.op != committed {
		return e, fmt.Errorf("unknown entry %q", e.op)
	}
	if min(e.series.index, e.at.segment, e.at.part) < 0 || e.end < 0 {
		return e, errors.New("a number is negative")
	}
	return e, nil
}

func (e entry) String() string {
	return fmt.Sprintf("%c %q %d %d %d %d %q\n", e.op, string(e.series.unit), e.series.index, e.at.segment, e.at.part, e.end, e.token)
}

// add makes e durable. Without a journal it does nothing.
func (j *journal) add(e entry) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	before := j.out.good
	if err := j.out.append([]byte(e.String())); err != nil {
		return err
	}
	if err := j.out.sync(); err != nil {
		return cmp.Or(err, j.out.cut(before))
	}
	return nil
}

func (j *journal) close() error {
	if j == nil {
		return nil
	}
	return j.out.close()
}
