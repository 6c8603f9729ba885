package filesink_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/filesink"
	"github.com/spate-go/spate/pkg/sink/sinktest"
	"github.com/spate-go/spate/pkg/unit"
)

const (
	unitA = unit.ID("s3-_rD2rPZklAFVV4pYEYaWxg")
	unitB = unit.ID("s3-xje_MfL-wSNqMCft5ellCg")
)

func block(u unit.ID, segment int, rows string) *sink.Block {
	data := []byte(rows)
	return &sink.Block{
		Unit: u, Segment: segment, Token: sink.Token(u, "file", 0, segment, 0, data),
		Rows: bytes.Count(data, []byte{'\n'}), Data: data,
	}
}

func open(t *testing.T, o filesink.Options) *filesink.Sink {
	t.Helper()
	s, err := filesink.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func write(t *testing.T, s sink.Sink, blocks ...*sink.Block) {
	t.Helper()
	for _, b := range blocks {
		if err := s.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
}

func commit(t *testing.T, s sink.Sink, u unit.ID, series int) {
	t.Helper()
	if err := s.Commit(t.Context(), u, series); err != nil {
		t.Fatal(err)
	}
}

func shut(t *testing.T, s sink.Sink) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// holds fails the test unless the file has this content; "" also stands for no
// file.
func holds(t *testing.T, name, want string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if string(data) != want {
		t.Fatalf("%s holds %q, want %q", filepath.Base(name), data, want)
	}
}

// list returns the names in dir.
func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// visible reads all finished files of dir, one after the other.
func visible(t *testing.T, dir string) []byte {
	var all []byte
	for _, name := range list(t, dir) {
		if !strings.HasPrefix(name, ".") {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, data...)
		}
	}
	return all
}

// wantConfig fails the test unless err is a fault of the configuration in one
// line that says text.
func wantConfig(t *testing.T, err error, text string) {
	t.Helper()
	if scope, reason := failure.Of(err); err == nil || scope != failure.Job || reason != failure.Config {
		t.Fatalf("%v is %v, %v, want a fault of the configuration", err, scope, reason)
	}
	if !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("%q does not say %q in one line", err, text)
	}
}

func full(t *testing.T) sink.Sink { return open(t, filesink.Options{Path: "/dev/full"}) }

// journals are both ways to open an output.
func journals(t *testing.T, test func(t *testing.T, journal string)) {
	t.Run("without a journal", func(t *testing.T) { test(t, "") })
	t.Run("with a journal", func(t *testing.T) { test(t, filepath.Join(t.TempDir(), "journal")) })
}

func TestFile(t *testing.T) {
	journals(t, func(t *testing.T, journal string) {
		sinktest.Run(t, sinktest.Harness{
			Dedup:  true,
			Broken: full,
			New: func(t *testing.T) (sink.Sink, func() []byte) {
				dir := t.TempDir()
				s := open(t, filesink.Options{Path: filepath.Join(dir, "out.ndjson"), Journal: journal})
				return s, func() []byte { return visible(t, dir) }
			},
		})
	})
}

func TestDirectory(t *testing.T) {
	journals(t, func(t *testing.T, journal string) {
		sinktest.Run(t, sinktest.Harness{
			Dedup: true, AtCommit: true,
			New: func(t *testing.T) (sink.Sink, func() []byte) {
				dir := t.TempDir()
				return open(t, filesink.Options{Path: dir, Journal: journal}), func() []byte { return visible(t, dir) }
			},
		})
	})
}

func TestPipe(t *testing.T) {
	sinktest.Run(t, sinktest.Harness{
		Dedup:  true,
		Broken: full,
		New: func(t *testing.T) (sink.Sink, func() []byte) {
			name := filepath.Join(t.TempDir(), "pipe")
			if err := syscall.Mkfifo(name, 0o600); err != nil {
				t.Fatal(err)
			}
			read := follow(t, name)
			return open(t, filesink.Options{Path: name}), read
		},
	})
}

// follow reads a named pipe. The function it returns marks the pipe's present
// end and waits until all before the mark was read.
func follow(t *testing.T, name string) func() []byte {
	f, err := os.OpenFile(name, os.O_RDWR, 0) // for both, so that no side waits for the other
	if err != nil {
		t.Fatal(err)
	}
	marks, done := make(chan []byte), make(chan struct{})
	go func() {
		defer close(done)
		var all []byte
		for r := bufio.NewReader(f); ; {
			part, err := r.ReadBytes(0)
			if err != nil {
				return
			}
			all = append(all, part[:len(part)-1]...)
			marks <- bytes.Clone(all)
		}
	}()
	t.Cleanup(func() { f.Close(); <-done })
	return func() []byte {
		if _, err := f.Write([]byte{0}); err != nil {
			t.Error(err)
		}
		return <-marks
	}
}

func TestDevices(t *testing.T) {
	t.Run("/dev/null takes everything", func(t *testing.T) {
		s := open(t, filesink.Options{Path: "/dev/null"})
		write(t, s, block(unitA, 0, "1\n2\n"))
		commit(t, s, unitA, 0)
		shut(t, s)
	})
	t.Run("an open descriptor is a stream", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		s := open(t, filesink.Options{Path: fmt.Sprintf("/dev/fd/%d", w.Fd())})
		write(t, s, block(unitA, 0, "1\n2\n"))
		commit(t, s, unitA, 0)
		shut(t, s)
		w.Close()
		if got, _ := io.ReadAll(r); string(got) != "1\n2\n" {
			t.Fatalf("got %q", got)
		}
	})
	t.Run("a descriptor of a file adds to it", func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(name, []byte("0\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		s := open(t, filesink.Options{Path: fmt.Sprintf("/dev/fd/%d", f.Fd())})
		write(t, s, block(unitA, 0, "1\n"))
		commit(t, s, unitA, 0)
		shut(t, s)
		holds(t, name, "0\n1\n")
	})
	t.Run("a full device is named", func(t *testing.T) {
		err := full(t).Write(t.Context(), block(unitA, 0, "1\n"))
		wantConfig(t, err, "write /dev/full: no space left on device: free space")
	})
}

func TestFiles(t *testing.T) {
	t.Run("each unit and series has a file of its own, named by them", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "a", "b") + "/"
		s := open(t, filesink.Options{Path: dir, Extension: ".csv"})
		later := block(unitA, 0, "3\n")
		later.Series, later.Token = 4, "later"
		write(t, s, block(unitA, 0, "1\n"), block(unitB, 0, "2\n"), later)
		if got := visible(t, dir); len(got) != 0 {
			t.Fatalf("%q shows before a commit", got)
		}
		commit(t, s, unitA, 0)
		commit(t, s, unitA, 4)
		shut(t, s)
		holds(t, dir+string(unitA)+".csv", "1\n")
		holds(t, dir+string(unitA)+"-4.csv", "3\n")
		if got := list(t, dir); len(got) != 2 {
			t.Errorf("the directory holds %q: what was not committed goes at Close", got)
		}
	})
	t.Run("a series without rows has no file", func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, filesink.Options{Path: dir})
		commit(t, s, unitA, 0)
		shut(t, s)
		if got := list(t, dir); len(got) != 0 {
			t.Fatalf("the directory holds %q", got)
		}
	})
	t.Run("other rows in a known place replace it and what came after", func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, filesink.Options{Path: dir})
		name := filepath.Join(dir, string(unitA)+".ndjson")
		write(t, s, block(unitA, 0, "a\n"), block(unitA, 2, "longer c\n"), block(unitA, 3, "d\n"))
		write(t, s, block(unitA, 0, "a\n"), block(unitA, 2, "C\n"), block(unitA, 4, "e\n"))
		commit(t, s, unitA, 0)
		holds(t, name, "a\nC\ne\n")
		write(t, s, block(unitA, 1, "b\n")) // after the commit
		holds(t, name, "a\nC\ne\n")
		write(t, s, block(unitA, 2, "c\n"))
		commit(t, s, unitA, 0)
		holds(t, name, "a\nb\nc\n")
		if got := list(t, dir); len(got) != 1 {
			t.Errorf("the directory holds %q", got)
		}
	})
	t.Run("parts of a segment are places of their own", func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, filesink.Options{Path: dir})
		for part, rows := range []string{"a\n", "b\n", "c\n"} {
			b := block(unitA, 0, rows)
			b.Part = part
			write(t, s, b)
		}
		commit(t, s, unitA, 0)
		holds(t, filepath.Join(dir, string(unitA)+".ndjson"), "a\nb\nc\n")
	})
	t.Run("units that never come back keep no file open", func(t *testing.T) {
		s := open(t, filesink.Options{Path: t.TempDir()})
		before := len(list(t, "/dev/fd"))
		for i := range 50 {
			write(t, s, block(unit.ID(strings.Repeat("u", i+1)), 0, "a\n"))
		}
		if after := len(list(t, "/dev/fd")); after > before {
			t.Fatalf("%d descriptors, %d before", after, before)
		}
	})
}

func TestExistingOutput(t *testing.T) {
	t.Run("a file is refused, and replaced on demand", func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "out.ndjson")
		if err := os.WriteFile(name, []byte("old\nrows\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := filesink.New(filesink.Options{Path: name})
		wantConfig(t, err, "out.ndjson exists already: pass --overwrite")
		wantConfig(t, filesink.Check(filesink.Options{Path: name}), "exists already")
		holds(t, name, "old\nrows\n")
		o := filesink.Options{Path: name, Overwrite: true}
		if err := filesink.Check(o); err != nil {
			t.Fatal(err)
		}
		holds(t, name, "old\nrows\n")
		s := open(t, o)
		write(t, s, block(unitA, 0, "a\n"))
		shut(t, s)
		holds(t, name, "a\n")
	})
	t.Run("a directory of files is refused, and emptied of units' files on demand", func(t *testing.T) {
		dir := t.TempDir()
		for _, name := range []string{string(unitA) + ".ndjson", string(unitB) + "-2.ndjson", "." + string(unitB) + ".ndjson.partial", "mine.ndjson", "mine.txt"} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := filesink.New(filesink.Options{Path: dir})
		wantConfig(t, err, "mine.ndjson already: pass --overwrite")
		wantConfig(t, filesink.Check(filesink.Options{Path: dir}), "pass --overwrite")
		if got := list(t, dir); len(got) != 5 {
			t.Fatalf("a refusal left %q", got)
		}
		shut(t, open(t, filesink.Options{Path: dir, Overwrite: true}))
		if got := list(t, dir); !slices.Equal(got, []string{"mine.ndjson", "mine.txt"}) {
			t.Fatalf("the directory holds %q", got)
		}
	})
	t.Run("files of another extension are no output of ours", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".hidden.ndjson"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		shut(t, open(t, filesink.Options{Path: dir}))
	})
	t.Run("Check lets a device pass", func(t *testing.T) {
		if err := filesink.Check(filesink.Options{Path: "/dev/null"}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("Check creates nothing", func(t *testing.T) {
		dir := t.TempDir()
		for _, path := range []string{"a/b/out.ndjson", "c/d/"} {
			o := filesink.Options{Path: dir + "/" + path, Journal: filepath.Join(dir, "journal")}
			if err := filesink.Check(o); err != nil || len(list(t, dir)) != 0 {
				t.Fatalf("%v, and %q", err, list(t, dir))
			}
		}
	})
}

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "data.csv")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path, ext, want string }{
		{"an empty path", "", "", "sink.file.path is empty"},
		{"a path below a file", file + "/out.ndjson", "", "data.csv is a file"},
		{"a path far below a file", file + "/a/b/out.ndjson", "", "data.csv is a file"},
		{"a directory below a file", file + "/a/", "", "data.csv is a file"},
		{"a file named as a directory", file + "/", "", "data.csv is a file"},
		{"an extension with a separator", dir, "a/b", "holds a separator"},
		{"a name that is too long", filepath.Join(dir, strings.Repeat("x", 300)), "", "file name too long"},
	} {
		t.Run(c.name+" is refused", func(t *testing.T) {
			o := filesink.Options{Path: c.path, Extension: c.ext}
			_, err := filesink.New(o)
			wantConfig(t, err, c.want)
			wantConfig(t, filesink.Check(o), c.want)
		})
	}
	t.Run("missing parents are created", func(t *testing.T) {
		name := filepath.Join(dir, "x", "y", "out.ndjson")
		s := open(t, filesink.Options{Path: name})
		write(t, s, block(unitA, 0, "a\n"))
		holds(t, name, "a\n")
	})
	t.Run("a path is relative to the working directory, and so named", func(t *testing.T) {
		t.Chdir(t.TempDir())
		s := open(t, filesink.Options{Path: "out.ndjson"})
		write(t, s, block(unitA, 0, "a\n"))
		holds(t, "out.ndjson", "a\n")
		_, err := filesink.New(filesink.Options{Path: "out.ndjson"})
		wantConfig(t, err, "sink.file.path: out.ndjson exists already")
	})
	t.Run("the setting is named that a path comes from", func(t *testing.T) {
		o := filesink.Options{Path: file, Setting: "sinks.all.file.path"}
		wantConfig(t, filesink.Check(o), "sinks.all.file.path: "+file+" exists already")
		o.Path = filepath.Join(dir, strings.Repeat("x", 300))
		wantConfig(t, filesink.Check(o), "check sinks.all.file.path")
	})
	t.Run("a journal is of the state, whose setting it is", func(t *testing.T) {
		_, err := filesink.New(filesink.Options{Path: filepath.Join(dir, "z.ndjson"), Journal: filepath.Join(file, "z.journal")})
		wantConfig(t, err, "check --state")
	})
}

func TestAnOutputThatIsTakenAwayIsNotCommitted(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			return os.Rename(path+".new", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out.ndjson")
			if err := os.WriteFile(path+".new", []byte("other\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := filesink.New(filesink.Options{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := s.Write(t.Context(), &sink.Block{Unit: "u", Token: "t", Rows: 1, Data: []byte("1\n")}); err != nil {
				t.Fatal(err)
			}
			if err := take(path); err != nil {
				t.Fatal(err)
			}
			if err := s.Commit(t.Context(), "u", 0); !failure.Is(err, failure.Job) || !strings.Contains(err.Error(), path) {
				t.Errorf("commit: %v, want it to say that the file is gone", err)
			}
		})
	}
}
