package filesink_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/filesink"
	"github.com/spate-go/spate/pkg/unit"
)

// disk fails one operation, or that and all later ones, as if the process had
// died there. A write that fails leaves half of its bytes.
type disk struct {
	at   int // operation that fails, from 1; 0 for none
	dies bool
	err  error

	mu   sync.Mutex
	seen int      // guarded by mu
	log  []string // guarded by mu: operations and what kind of file they were on
	hit  string   // guarded by mu: the operation that failed
}

func (d *disk) fails(op, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen++
	d.log = append(d.log, op+" "+strings.TrimPrefix(filepath.Ext(name), "."))
	if d.seen == d.at {
		d.hit = op
	} else if !d.dies || d.at == 0 || d.seen < d.at {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: d.err}
}

func (d *disk) open(name string, flag int) (filesink.File, error) {
	if err := d.fails("open", name); err != nil {
		return nil, err
	}
	f, err := filesink.OSFile(name, flag)
	return &faulty{File: f, d: d, name: name}, err
}

type faulty struct {
	filesink.File
	d    *disk
	name string
}

func (f *faulty) WriteAt(p []byte, off int64) (int, error) {
	if err := f.d.fails("write", f.name); err != nil {
		n := 0
		if f.d.hit == "write" && f.d.seen == f.d.at {
			n, _ = f.File.WriteAt(p[:len(p)/2], off)
		}
		return n, err
	}
	return f.File.WriteAt(p, off)
}

func (f *faulty) Truncate(size int64) error {
	if err := f.d.fails("truncate", f.name); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *faulty) Sync() error {
	if err := f.d.fails("sync", f.name); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faulty) Close() error {
	err := f.File.Close() // whatever it answers, the descriptor is gone
	return errors.Join(f.d.fails("close", f.name), err)
}

// output is what a sweep writes: two units of three blocks.
type output struct {
	o    filesink.Options
	dir  bool
	acks map[unit.ID]int  // blocks acked, as a ledger's cursor has them
	done map[unit.ID]bool // commit acked
	last string           // call
}

func newOutput(t *testing.T, dir, journal bool) *output {
	base := t.TempDir()
	out := &output{o: filesink.Options{Path: filepath.Join(base, "out.ndjson")}, dir: dir, acks: map[unit.ID]int{}, done: map[unit.ID]bool{}}
	if dir {
		out.o.Path = filepath.Join(base, "out") + "/"
	}
	if journal {
		out.o.Journal = filepath.Join(base, "journal")
	}
	return out
}

func rowsOf(u unit.ID, segment int) string {
	return fmt.Sprintf("%s block %d, row 0\n%s block %d, row 1\n", u, segment, u, segment)
}

// deliver writes what is not acked yet, the units' blocks in turn, and stops at
// the first error.
func (out *output) deliver(t *testing.T, s sink.Sink, from func(unit.ID) int) error {
	for segment := range 3 {
		for _, u := range []unit.ID{unitA, unitB} {
			if out.done[u] || segment < from(u) {
				continue
			}
			out.last = "write"
			if err := s.Write(t.Context(), block(u, segment, rowsOf(u, segment))); err != nil {
				return err
			}
			out.acks[u] = max(out.acks[u], segment+1)
		}
	}
	for _, u := range []unit.ID{unitA, unitB} {
		out.last = "commit"
		if err := s.Commit(t.Context(), u, 0); err != nil {
			return err
		}
		out.done[u] = true
	}
	return nil
}

// whole fails the test when what a reader sees has half a row.
func (out *output) whole(t *testing.T) {
	t.Helper()
	for _, line := range strings.SplitAfter(out.read(t), "\n") {
		if line != "" && !strings.Contains(rowsOf(unitA, 0)+rowsOf(unitA, 1)+rowsOf(unitA, 2)+rowsOf(unitB, 0)+rowsOf(unitB, 1)+rowsOf(unitB, 2), line) ||
			line != "" && !strings.HasSuffix(line, "\n") {
			t.Fatalf("a reader sees %q", line)
		}
	}
}

func (out *output) read(t *testing.T) string {
	t.Helper()
	if out.dir {
		if _, err := os.Stat(out.o.Path); err != nil {
			return ""
		}
		return string(visible(t, out.o.Path))
	}
	data, err := os.ReadFile(out.o.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

// exact fails the test unless each row shows once, a unit's in order.
func (out *output) exact(t *testing.T) {
	t.Helper()
	got := out.read(t)
	for _, u := range []unit.ID{unitA, unitB} {
		var mine string
		for _, line := range strings.SplitAfter(got, "\n") {
			if strings.HasPrefix(line, string(u)) {
				mine += line
			}
		}
		if want := rowsOf(u, 0) + rowsOf(u, 1) + rowsOf(u, 2); mine != want {
			t.Fatalf("unit %s shows %q, want %q", u, mine, want)
		}
	}
	if n := strings.Count(got, "\n"); n != 12 {
		t.Fatalf("%d rows show, want 12", n)
	}
}

func modes(t *testing.T, test func(t *testing.T, dir, journal bool)) {
	for _, dir := range []bool{false, true} {
		for _, journal := range []bool{false, true} {
			t.Run(fmt.Sprintf("directory %v, journal %v", dir, journal), func(t *testing.T) { test(t, dir, journal) })
		}
	}
}

func TestEachOperationFailsOnce(t *testing.T) {
	modes(t, func(t *testing.T, dir, journal bool) {
		ops := map[string]int{}
		for n := 1; ; n++ {
			d := &disk{at: n, err: syscall.ENOSPC}
			sweepOnce(t, d, newOutput(t, dir, journal))
			if d.hit == "" {
				break
			}
			ops[d.hit]++
		}
		if t.Logf("failed: %v", ops); ops["write"] < 6 || ops["sync"] < 1 || ops["truncate"] < 1 || ops["open"] < 1 {
			t.Errorf("operations that failed: %v", ops)
		}
	})
}

// sweepOnce delivers until it works, each time from the start as a feed does.
func sweepOnce(t *testing.T, d *disk, out *output) {
	out.o.Overwrite = true // New may have failed after it made the output
	s, err := filesink.NewOn(out.o, d.open)
	if err != nil {
		wantConfig(t, err, "no space left on device")
		if s, err = filesink.NewOn(out.o, d.open); err != nil && d.hit != "sync" {
			t.Fatalf("after %s %d failed: %v", d.hit, d.at, err)
		}
		if err != nil {
			return
		}
	}
	scratch := func(unit.ID) int { return 0 }
	if err := out.deliver(t, s, scratch); err != nil {
		wantConfig(t, err, "no space left on device: ")
		out.whole(t)
		lost := strings.Contains(err.Error(), "rows may be lost")
		if lost != (d.hit == "sync" || d.hit == "close" && out.last == "write") {
			t.Fatalf("after %s %d failed: %v", d.hit, d.at, err)
		}
		err = out.deliver(t, s, scratch)
		switch {
		case lost && err == nil:
			t.Fatalf("%s %d failed, and the unit was done all the same", d.hit, d.at)
		case lost:
			wantConfig(t, err, "rows may be lost")
			_ = s.Close()
			return
		case err != nil:
			t.Fatalf("after %s %d failed: %v", d.hit, d.at, err)
		}
	}
	if err := s.Close(); err != nil && d.hit != "close" {
		t.Fatal(err)
	}
	out.exact(t)
	if out.dir && len(list(t, out.o.Path)) != 2 {
		t.Fatalf("after %s %d failed, the directory holds %q", d.hit, d.at, list(t, out.o.Path))
	}
}

func TestDeathAtEachOperation(t *testing.T) {
	for _, dir := range []bool{false, true} {
		t.Run(fmt.Sprintf("directory %v", dir), func(t *testing.T) {
			for n := 1; ; n++ {
				out := newOutput(t, dir, true)
				d := &disk{at: n, dies: true, err: syscall.EIO}
				if s, err := filesink.NewOn(out.o, d.open); err == nil {
					_ = out.deliver(t, s, func(unit.ID) int { return 0 }) // not closed: its process is gone
				}
				if d.hit == "" {
					t.Logf("%d operations", n-1)
					return
				}
				s, err := filesink.New(out.o)
				if err != nil {
					t.Fatalf("after a death at %s %d: %v", d.hit, n, err)
				}
				if err := out.deliver(t, s, func(u unit.ID) int { return out.acks[u] }); err != nil {
					t.Fatalf("after a death at %s %d: %v", d.hit, n, err)
				}
				shut(t, s)
				out.exact(t)
			}
		})
	}
}

// TestOrderOfEffects keeps the journal behind the rows: what it knows is there,
// whatever the machine forgets.
func TestOrderOfEffects(t *testing.T) {
	for _, c := range []struct {
		dir           bool
		write, commit []string
	}{
		{false,
			[]string{"write ndjson", "sync ndjson", "write journal", "sync journal"},
			nil},
		{true,
			[]string{"open partial", "truncate partial", "write partial", "sync partial", "write journal", "sync journal", "close partial"},
			[]string{"open partial", "truncate partial", "sync partial", "close partial", "write journal", "sync journal"}},
	} {
		t.Run(fmt.Sprintf("directory %v", c.dir), func(t *testing.T) {
			out := newOutput(t, c.dir, true)
			out.o.Journal += ".journal"
			d := &disk{}
			s, err := filesink.NewOn(out.o, d.open)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for _, step := range []struct {
				name string
				do   func()
				want []string
			}{
				{"a write", func() { write(t, s, block(unitA, 0, "1\n")) }, c.write},
				{"a repeated write", func() { write(t, s, block(unitA, 0, "1\n")) }, nil},
				{"a commit", func() { commit(t, s, unitA, 0) }, c.commit},
				{"a repeated commit", func() { commit(t, s, unitA, 0) }, nil},
			} {
				d.log = nil
				if step.do(); !slices.Equal(d.log, step.want) {
					t.Errorf("%s does %q, want %q", step.name, d.log, step.want)
				}
			}
		})
	}
	t.Run("without a journal a commit syncs once", func(t *testing.T) {
		out := newOutput(t, false, false)
		d := &disk{}
		s, err := filesink.NewOn(out.o, d.open)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		write(t, s, block(unitA, 0, "1\n"))
		d.log = nil
		commit(t, s, unitA, 0)
		commit(t, s, unitA, 0)
		if want := []string{"sync ndjson"}; !slices.Equal(d.log, want) {
			t.Errorf("two commits do %q, want %q", d.log, want)
		}
	})
}

func TestTruncateFailsToo(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out.ndjson")
	d := &disk{err: syscall.EIO}
	s, err := filesink.NewOn(filesink.Options{Path: name}, d.open)
	if err != nil {
		t.Fatal(err)
	}
	write(t, s, block(unitA, 0, "1\n"))
	d.at, d.dies = d.seen+1, true // the write fails, and so does taking it back
	if err := s.Write(t.Context(), block(unitA, 1, "long row 2\n")); !failure.Is(err, failure.Transient) {
		t.Fatal(err)
	}
	holds(t, name, "1\nlong ")
	d.at = 0
	write(t, s, block(unitA, 1, "2\n"))
	holds(t, name, "1\n2\n")
	d.at = d.seen + 1
	_ = s.Write(t.Context(), block(unitA, 2, "long row 3\n"))
	d.at = 0
	shut(t, s)
	holds(t, name, "1\n2\n")
}

func TestErrorsSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		err  error
		next string // "" for a transient one
	}{
		{syscall.ENOSPC, ": no space left on device: free space or set rejects.url to another disk, then run again"},
		{syscall.EDQUOT, ": free space or set rejects.url to another disk, then run again"},
		{syscall.EROFS, ": make it writable or set rejects.url elsewhere, then run again"},
		{syscall.EACCES, ": permission denied: make it writable"},
		{syscall.EPERM, ": make it writable"},
		{syscall.EFBIG, ": file too large: check rejects.url"},
		{syscall.EIO, ""},
		{syscall.EMFILE, ""},
	} {
		t.Run(c.err.Error(), func(t *testing.T) {
			t.Chdir(t.TempDir())
			d := &disk{err: c.err}
			s, err := filesink.NewOn(filesink.Options{Path: "out.ndjson", Setting: "rejects.url"}, d.open)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			d.at = d.seen + 1
			err = s.Write(t.Context(), block(unitA, 0, "1\n2\n"))
			if c.next == "" {
				if scope, _ := failure.Of(err); scope != failure.Transient {
					t.Fatalf("%v is %v", err, scope)
				}
				return
			}
			wantConfig(t, err, c.next)
			if !strings.HasPrefix(err.Error(), "write out.ndjson: ") {
				t.Errorf("%q does not begin with the file", err)
			}
			holds(t, "out.ndjson", "")
		})
	}
}

func TestRowsShowWhileTheyAreWritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out.ndjson")
	s := open(t, filesink.Options{Path: name})
	var got []string
	for segment := range 3 {
		write(t, s, block(unitA, segment, rowsOf(unitA, segment)))
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(data))
	}
	a, b, c := rowsOf(unitA, 0), rowsOf(unitA, 1), rowsOf(unitA, 2)
	if !slices.Equal(got, []string{a, a + b, a + b + c}) {
		t.Fatalf("after each ack the file held %q", got)
	}
}
