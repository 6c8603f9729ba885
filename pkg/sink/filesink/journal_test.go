package filesink_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/sink/filesink"
)

func TestContinuing(t *testing.T) {
	start := func(t *testing.T, path string) (filesink.Options, *filesink.Sink) {
		base := t.TempDir()
		o := filesink.Options{Path: base + "/" + path, Journal: filepath.Join(base, "journal")}
		return o, open(t, o)
	}
	t.Run("a file is continued, its tokens known", func(t *testing.T) {
		o, s := start(t, "out.ndjson")
		write(t, s, block(unitA, 0, "1\n"), block(unitB, 0, "2\n"))
		shut(t, s)
		if err := filesink.Check(o); err != nil {
			t.Fatal(err)
		}
		s = open(t, o)
		write(t, s, block(unitA, 0, "1\n"), block(unitA, 1, "3\n"), block(unitB, 0, "2\n"))
		shut(t, s)
		holds(t, o.Path, "1\n2\n3\n")
	})
	t.Run("overwriting is for other outputs, not for the one that is continued", func(t *testing.T) {
		o, s := start(t, "out.ndjson")
		write(t, s, block(unitA, 0, "1\n"))
		shut(t, s)
		o.Overwrite = true
		s = open(t, o)
		write(t, s, block(unitA, 0, "1\n"), block(unitA, 1, "2\n"))
		shut(t, s)
		holds(t, o.Path, "1\n2\n")
	})
	t.Run("a directory keeps its finished files and goes on with the others", func(t *testing.T) {
		o, s := start(t, "out/")
		write(t, s, block(unitA, 0, "1\n"), block(unitB, 0, "2\n"))
		commit(t, s, unitA, 0)
		shut(t, s)
		s = open(t, o)
		write(t, s, block(unitB, 1, "3\n")) // from a cursor
		commit(t, s, unitB, 0)
		write(t, s, block(unitA, 0, "1\n"))
		commit(t, s, unitA, 0)
		shut(t, s)
		holds(t, o.Path+string(unitA)+".ndjson", "1\n")
		holds(t, o.Path+string(unitB)+".ndjson", "2\n3\n")
	})
	t.Run("replaced rows stay replaced", func(t *testing.T) {
		o, s := start(t, "out/")
		write(t, s, block(unitA, 0, "1\n"), block(unitA, 1, "old\n"), block(unitA, 2, "old\n"))
		commit(t, s, unitA, 0)
		write(t, s, block(unitA, 1, "2\n"))
		shut(t, s)
		s = open(t, o)
		write(t, s, block(unitA, 2, "3\n"))
		commit(t, s, unitA, 0)
		shut(t, s)
		holds(t, o.Path+string(unitA)+".ndjson", "1\n2\n3\n")
	})
	t.Run("rows replaced before the commit stay replaced", func(t *testing.T) {
		o, s := start(t, "out/")
		write(t, s, block(unitA, 0, "1\n"), block(unitA, 1, "old\n"), block(unitA, 2, "old\n"), block(unitA, 1, "2\n"))
		shut(t, s)
		s = open(t, o)
		write(t, s, block(unitA, 2, "3\n")) // from a cursor
		commit(t, s, unitA, 0)
		shut(t, s)
		holds(t, o.Path+string(unitA)+".ndjson", "1\n2\n3\n")
	})
	t.Run("rows added after a commit wait for the next one", func(t *testing.T) {
		o, s := start(t, "out/")
		write(t, s, block(unitA, 0, "1\n"))
		commit(t, s, unitA, 0)
		write(t, s, block(unitA, 1, "2\n"))
		shut(t, s)
		s = open(t, o)
		holds(t, o.Path+string(unitA)+".ndjson", "1\n")
		commit(t, s, unitA, 0)
		shut(t, s)
		holds(t, o.Path+string(unitA)+".ndjson", "1\n2\n")
	})
	t.Run("a finished file may be taken away", func(t *testing.T) {
		o, s := start(t, "out/")
		write(t, s, block(unitA, 0, "1\n"))
		commit(t, s, unitA, 0)
		shut(t, s)
		if err := os.Remove(o.Path + string(unitA) + ".ndjson"); err != nil {
			t.Fatal(err)
		}
		s = open(t, o)
		write(t, s, block(unitB, 0, "2\n"))
		commit(t, s, unitB, 0)
		shut(t, s)
	})
	t.Run("what was written and not acked goes", func(t *testing.T) {
		o, s := start(t, "out.ndjson")
		write(t, s, block(unitA, 0, "1\n"))
		shut(t, s)
		add(t, o.Path, "2\nhalf")
		s = open(t, o)
		holds(t, o.Path, "1\n")
		write(t, s, block(unitA, 1, "2\n"))
		holds(t, o.Path, "1\n2\n")
	})
	t.Run("a line that was cut short is forgotten", func(t *testing.T) {
		o, s := start(t, "out.ndjson")
		write(t, s, block(unitA, 0, "1\n"), block(unitA, 1, "2\n"))
		shut(t, s)
		info, err := os.Stat(o.Journal)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(o.Journal, info.Size()-3); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s = open(t, o)
			write(t, s, block(unitA, 0, "1\n"), block(unitA, 1, "2\n"))
			shut(t, s)
			holds(t, o.Path, "1\n2\n")
		}
	})
	t.Run("a changed journal is refused", func(t *testing.T) {
		for _, line := range []string{"nonsense\n", "? \"u\" 0 0 0 0 \"\"\n"} {
			o, s := start(t, "out.ndjson")
			shut(t, s)
			add(t, o.Journal, line)
			_, err := filesink.New(o)
			wantConfig(t, err, "journal at byte")
		}
	})
	t.Run("a file that lost rows is refused", func(t *testing.T) {
		o, s := start(t, "out.ndjson")
		write(t, s, block(unitA, 0, "1\n"), block(unitA, 1, "2\n"))
		shut(t, s)
		if err := os.Truncate(o.Path, 2); err != nil {
			t.Fatal(err)
		}
		_, err := filesink.New(o)
		wantConfig(t, err, "holds 2 bytes, and 4 were written to it before")
		holds(t, o.Path, "1\n")
	})
	t.Run("a directory that lost an unfinished file is refused", func(t *testing.T) {
		o, s := start(t, "out/")
		write(t, s, block(unitA, 0, "1\n"))
		shut(t, s)
		if err := os.Remove(o.Path + "." + string(unitA) + ".ndjson.partial"); err != nil {
			t.Fatal(err)
		}
		_, err := filesink.New(o)
		wantConfig(t, err, "holds 0 bytes, and 2 were written")
	})
	t.Run("a journal of another output is begun anew, and keeps nobody from refusing", func(t *testing.T) {
		o, s := start(t, "out.ndjson")
		write(t, s, block(unitA, 0, "1\n"))
		shut(t, s)
		other := o
		other.Path += ".2"
		add(t, other.Path, "mine\n")
		_, err := filesink.New(other)
		wantConfig(t, err, "exists already")
		holds(t, other.Path, "mine\n")
		if err := os.Remove(other.Path); err != nil {
			t.Fatal(err)
		}
		s = open(t, other)
		write(t, s, block(unitA, 0, "1\n"))
		shut(t, s)
		holds(t, other.Path, "1\n")
	})
}

func add(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte("+ \"u\" 0 0 0 2 \"token\"\n= \"u\" 0 0 0 0 \"\"\n"))
	f.Add([]byte("- \"u\" 0 0 0 -1 \"\"\n"))
	f.Add([]byte("+ \"u\" 0 0 0 -5 \"token\"\n"))
	f.Add([]byte("- \"u\" 0 0 0 9"))
	f.Fuzz(func(t *testing.T, tail []byte) {
		for _, path := range []string{"out.ndjson", "out/"} {
			base := t.TempDir()
			o := filesink.Options{Path: base + "/" + path, Journal: filepath.Join(base, "journal")}
			shut(t, open(t, o))
			add(t, o.Journal, string(tail))
			s, err := filesink.New(o)
			if err != nil {
				wantConfig(t, err, "")
				continue
			}
			if b := block(unitA, 0, "1\n"); !strings.Contains(string(tail), string(unitA)) {
				write(t, s, b)
			}
			shut(t, s)
		}
	})
}
