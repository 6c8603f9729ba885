package progress_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spate-go/spate/pkg/app/internal/progress"
)

// terminal opens a pseudo-terminal: what is written to the second file comes out
// of the first.
func terminal(t *testing.T, columns uint16) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here:", err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	fd := int(screen.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skip("no pseudo-terminals here:", err)
	}
	return screen, tty
}

var escape = regexp.MustCompile(`\x1b\[([0-9;?]*)([A-Za-z])`)

// shown is a display on a terminal, and all that it wrote.
type shown struct {
	*progress.Display
	at atomic.Pointer[progress.Snapshot]

	mu  sync.Mutex
	out bytes.Buffer // guarded by mu
}

func (s *shown) written() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

// collect takes what comes out of the terminal until its other side is closed.
func (s *shown) collect(screen io.Reader) {
	buf := make([]byte, 4096)
	for {
		n, err := screen.Read(buf)
		s.mu.Lock()
		s.out.Write(buf[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// draws waits until the snapshot is drawn: text is in what comes from now on.
func (s *shown) draws(t *testing.T, at progress.Snapshot, text string) {
	t.Helper()
	before := len(s.written())
	s.at.Store(&at)
	for end := time.Now().Add(10 * time.Second); !strings.Contains(plain(s.written()[before:]), text); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q is not drawn", text)
		}
	}
}

// show runs a display on a terminal and returns all that it wrote.
func show(t *testing.T, columns uint16, during func(s *shown)) string {
	t.Helper()
	screen, tty := terminal(t, columns)
	s := new(shown)
	s.at.Store(&progress.Snapshot{})
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.collect(screen)
	}()
	s.Display = progress.Start(tty, progress.Auto, func() progress.Snapshot { return *s.at.Load() }, progress.Options{Refresh: 5 * time.Millisecond})
	during(s)
	s.Stop()
	_, _ = io.WriteString(s, "after\n")
	_ = tty.Close()
	<-read
	return s.written()
}

// plain is what was written without the movements of the cursor.
func plain(written string) string {
	return strings.ReplaceAll(escape.ReplaceAllString(written, ""), "\r", "")
}

func TestBarsOnATerminal(t *testing.T) {
	growing := progress.Snapshot{
		ListedObjects: 5000, DoneObjects: 1204, FailedObjects: 3, ListedBytes: 2000 * mib, DoneBytes: 512 * mib, Records: 2_100_000, Listing: true,
	}
	got := plain(show(t, 120, func(s *shown) {
		s.draws(t, growing, "1,204/5,000+ objects")
		_, _ = io.WriteString(s, "a warning\n")
		s.draws(t, growing, "1,204/5,000+ objects")
		complete := growing
		complete.Listing, complete.DoneObjects, complete.DoneBytes, complete.Halted = false, 4997, 2000*mib, "denied"
		s.draws(t, complete, "4,997/5,000 objects")
		_, _ = io.WriteString(s, "a last warning\n")
	}))
	if bar := regexp.MustCompile(`objects  \[=+>-+\] 1,204/5,000\+ objects  3 failed`); !bar.MatchString(got) {
		t.Errorf("no bar looks like %s", bar)
	}
	for _, want := range []string{
		"1,204/5,000+ objects", "3 failed", "512 MiB/2.0 GiB+", "2.1 M records", "+ left", "[=", "a warning\n", "a last warning\n",
		"4,997/5,000 objects", "100%", "halted: denied", "2.0 GiB/2.0 GiB", "\nafter\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q was not shown", want)
		}
	}
	if last := lastLine(strings.TrimSuffix(got, "after\n")); !regexp.MustCompile(`^\d+s  4,997/5,000 objects  100%  2\.0 GiB  2\.1 M records  .*/s  3 failed  halted: denied$`).MatchString(last) {
		t.Errorf("the last line is %q", last)
	}
	if t.Failed() {
		t.Log(got)
	}
}

// after plays what was written to a terminal and returns the rows it leaves.
func after(written string) []string {
	rows, at := []string{""}, 0
	for written != "" {
		if m := escape.FindStringSubmatch(written); m != nil && strings.HasPrefix(written, m[0]) {
			n, _ := strconv.Atoi(m[1])
			switch m[2] {
			case "A":
				at = max(0, at-max(n, 1))
			case "J":
				rows = append(rows[:at], "")
			}
			written = written[len(m[0]):]
			continue
		}
		switch c := written[0]; c {
		case '\r':
		case '\n':
			if at++; at == len(rows) {
				rows = append(rows, "")
			}
		default:
			rows[at] += string(c)
		}
		written = written[1:]
	}
	return rows
}

func TestBarsGiveWayToTheLastLine(t *testing.T) {
	at := progress.Snapshot{ListedObjects: 9, DoneObjects: 4, ListedBytes: 90, DoneBytes: 40}
	got := after(show(t, 120, func(s *shown) {
		s.draws(t, at, "4/9 objects")
		_, _ = io.WriteString(s, "a warning\n")
		s.draws(t, at, "4/9 objects")
		_, _ = io.WriteString(s, "a last warning\n")
	}))
	if len(got) != 5 || got[0] != "a warning" || got[1] != "a last warning" || !strings.Contains(got[2], "s  4/9 objects  44%") || got[3] != "after" {
		t.Errorf("the terminal shows\n%s", strings.Join(got, "\n"))
	}
}

func TestPlainHasNoBarsOnATerminalEither(t *testing.T) {
	screen, tty := terminal(t, 80)
	d := progress.Start(tty, progress.Plain, func() progress.Snapshot { return progress.Snapshot{} }, progress.Options{Interval: time.Millisecond})
	time.Sleep(20 * time.Millisecond)
	d.Stop()
	buf := make([]byte, 4096)
	n, err := screen.Read(buf)
	if err != nil || escape.Match(buf[:n]) || !strings.HasPrefix(string(buf[:n]), "0s  0/0 objects") {
		t.Errorf("got %q, %v", buf[:n], err)
	}
	_ = tty.Close()
}

func TestBarsFitANarrowTerminal(t *testing.T) {
	got := plain(show(t, 40, func(s *shown) {
		s.draws(t, progress.Snapshot{ListedObjects: 5_000_000, DoneObjects: 1_204_000, ListedBytes: 1 << 42, DoneBytes: 1 << 41}, "1,204,000")
	}))
	lines := strings.Split(strings.TrimSuffix(got, "after\n"), "\n")
	for _, line := range lines[:len(lines)-2] { // the last line may wrap: it is printed once
		if len([]rune(line)) > 40 {
			t.Errorf("%d columns: %q", len([]rune(line)), line)
		}
	}
}

func TestBarsSurviveAnEmptyJob(t *testing.T) {
	got := plain(show(t, 80, func(s *shown) { s.draws(t, progress.Snapshot{}, "objects") }))
	if !strings.Contains(got, "0/0 objects") || strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
		t.Errorf("got %s", got)
	}
}

func TestATerminalThatGoesAwayStopsNothing(t *testing.T) {
	screen, tty := terminal(t, 80)
	d := progress.Start(tty, progress.Auto, func() progress.Snapshot { return progress.Snapshot{} }, progress.Options{Refresh: time.Millisecond})
	time.Sleep(20 * time.Millisecond)
	_ = screen.Close()
	time.Sleep(20 * time.Millisecond)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.WriteString(d, "a warning\n")
		d.Stop()
	}()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("Stop hangs")
	}
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return lines[len(lines)-1]
}
