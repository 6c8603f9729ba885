package prommetric

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// ticksPerSecond is the kernel's USER_HZ, the same on every architecture that Go
// runs on.
const ticksPerSecond = 100

func stat() process {
	p := process{-1, -1, -1, -1, -1}
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) == nil {
		p.cpuSeconds = time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
	}
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) == nil {
		p.maximumFDs = float64(l.Cur)
	}
	if fds, err := os.ReadDir("/proc/self/fd"); err == nil {
		p.openFDs = float64(len(fds) - 1) // one is ReadDir's own
	}
	// Counted from the state, which follows the name in brackets: the name may
	// hold anything.
	text, _ := os.ReadFile("/proc/self/stat")
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const start, rss = 19, 21
	if len(fields) > rss {
		p.residentBytes = parse(fields[rss]) * float64(os.Getpagesize())
		p.startSeconds = bootSeconds() + parse(fields[start])/ticksPerSecond
	}
	return p
}

// bootSeconds is when the system was started.
func bootSeconds() float64 {
	text, _ := os.ReadFile("/proc/stat")
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("btime ")); ok {
			return parse(bytes.TrimSpace(rest))
		}
	}
	return 0
}

func parse(text []byte) float64 {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return -1
	}
	return v
}
