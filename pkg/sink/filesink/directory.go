package filesink

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

// folder is a directory with a file per unit and series. It keeps no file open
// between calls, so that units which never come back cost no descriptors.
type folder struct {
	place
	opener  opener
	journal *journal // nil: none
	self    *os.File // the directory, for its sync

	mu    sync.Mutex
	parts map[series]*part // guarded by mu; a part is touched by its unit's calls only, which never overlap
	lost  error            // guarded by mu; of a failed sync, final
}

func openDir(p place, known bool, j *journal, past []entry, opener opener) (*folder, error) {
	d := &folder{place: p, opener: opener, journal: j, parts: map[series]*part{}}
	var err error
	if d.self, err = os.Open(p.dir); err != nil {
		return nil, cmp.Or(d.setting.classify(err), j.close())
	}
	if err := d.start(known, past); err != nil {
		return nil, cmp.Or(err, d.self.Close(), j.close())
	}
	return d, nil
}

func (d *folder) start(known bool, past []entry) error {
	if !known {
		if err := d.clear(); err != nil {
			return err
		}
	}
	for _, e := range past {
		d.part(e.series).replay(e)
	}
	for s, p := range d.parts {
		if err := d.recover(s, p); err != nil {
			return err
		}
	}
	return d.probe()
}

// probe checks before the first row whether files can be made here.
func (d *folder) probe() error {
	name := filepath.Join(d.dir, ".spate.partial")
	f, err := d.opener(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return d.setting.classify(err)
	}
	if err := cmp.Or(f.Close(), os.Remove(name)); err != nil {
		return d.setting.classify(err)
	}
	return nil
}

// recover compares a part with the files that a process before this one left.
// The journal follows the files, so a file may hold more than it, never less.
func (d *folder) recover(s series, p *part) error {
	if p.settled || p.size() == 0 {
		return nil // a finished file may have been taken away since
	}
	hidden, err := sizeOf(d.hidden(s))
	if err == nil && hidden >= p.size() {
		return nil
	}
	final, err := sizeOf(d.final(s))
	if err == nil && final >= p.size() {
		p.shown = true
		return nil
	}
	return shorter(d.hidden(s), hidden, p.size())
}

func (d *folder) part(s series) *part {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, ok := d.parts[s]
	if !ok {
		p = &part{}
		d.parts[s] = p
	}
	return p
}

func (d *folder) Write(ctx context.Context, b *sink.Block) error {
	if err := cmp.Or(ctx.Err(), d.failed()); err != nil {
		return err
	}
	s := series{b.Unit, b.Series}
	p := d.part(s)
	keep, repeat := p.find(b)
	if repeat {
		return nil
	}
	t, err := d.reopen(s, p, keep)
	if err != nil {
		return err
	}
	err = d.add(t, p, b)
	if e := t.f.Close(); e != nil && err == nil {
		err = d.keep(unsynced(e)) // a network file system may report only here what it lost
	}
	return err
}

// add appends b and acks it to the journal, in this order: the journal must
// never know what the file has not.
func (d *folder) add(t *tail, p *part, b *sink.Block) error {
	if err := t.append(b.Data); err != nil {
		return err
	}
	if d.journal != nil {
		err := d.keep(t.sync())
		if err == nil {
			err = d.journal.add(appendedEntry(b, t.good))
		}
		if err != nil {
			return err // what was appended is cut off before anything follows it
		}
	}
	p.blocks = append(p.blocks, extent{at: at{b.Segment, b.Part}, token: b.Token, end: t.good})
	return nil
}

// reopen opens the hidden file of a part at the end of its first keep blocks.
// The blocks after them are given up, in the journal first.
func (d *folder) reopen(s series, p *part, keep int) (*tail, error) {
	if p.shown || keep < len(p.blocks) {
		if err := d.journal.add(entry{op: cut, series: s, end: int64(keep)}); err != nil {
			return nil, err
		}
	}
	if p.shown {
		if err := copyPrefix(d.hidden(s), d.final(s), p.sizeOf(keep)); err != nil {
			return nil, d.setting.classify(err)
		}
		p.shown, p.settled = false, false
	}
	p.blocks = p.blocks[:keep]
	flag := os.O_RDWR
	if keep == 0 {
		flag |= os.O_CREATE
	}
	f, err := d.opener(d.hidden(s), flag)
	if err != nil {
		return nil, d.setting.classify(err)
	}
	p.made = true
	t := &tail{setting: d.setting, name: d.hidden(s), f: f}
	if err := t.cut(p.size()); err != nil {
		return nil, cmp.Or(err, f.Close())
	}
	return t, nil
}

func (d *folder) Commit(ctx context.Context, u unit.ID, index int) error {
	if err := cmp.Or(ctx.Err(), d.failed()); err != nil {
		return err
	}
	s := series{u, index}
	p := d.part(s)
	if p.settled || len(p.blocks) == 0 {
		return nil
	}
	if !p.shown {
		if err := d.show(s, p); err != nil {
			return err
		}
	}
	if err := d.keep(syncDir(d.self)); err != nil {
		return err
	}
	if err := d.journal.add(entry{op: committed, series: s}); err != nil {
		return err
	}
	p.settled = true
	return nil
}

// show gives a part its name, its rows being durable before.
func (d *folder) show(s series, p *part) error {
	f, err := d.opener(d.hidden(s), os.O_RDWR)
	if err != nil {
		return d.setting.classify(err)
	}
	t := &tail{setting: d.setting, name: d.hidden(s), f: f}
	err = t.cut(p.size())
	if err == nil {
		err = d.keep(t.sync())
	}
	if err != nil {
		return cmp.Or(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return d.setting.classify(err)
	}
	if err := os.Rename(d.hidden(s), d.final(s)); err != nil {
		return d.setting.classify(err)
	}
	p.shown = true
	return nil
}

// failed returns the failed sync after which nothing can be promised.
func (d *folder) failed() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lost
}

func (d *folder) keep(err error) error {
	if err != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.lost = err
	}
	return err
}

func (d *folder) Limits() sink.Limits { return sink.Limits{} }

func (d *folder) Close() error {
	var err error
	for s, p := range d.parts {
		if d.journal == nil && p.made && !p.shown {
			err = cmp.Or(err, os.Remove(d.hidden(s)))
		}
	}
	return cmp.Or(err, d.self.Close(), d.journal.close())
}

func (d *folder) name(s series) string {
	name := string(s.unit)
	if s.index > 0 {
		name += "-" + strconv.Itoa(s.index)
	}
	return name + "." + d.ext
}

func (d *folder) final(s series) string  { return filepath.Join(d.dir, d.name(s)) }
func (d *folder) hidden(s series) string { return filepath.Join(d.dir, "."+d.name(s)+".partial") }
