package main

import (
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// span is what something took, in seconds.
type span struct {
	wall, engine float64 // the engine's CPU seconds; NaN: not known
}

func (b *bench) timed(do func() error) (s span, err error) {
	cpu, began := b.engineCPU(), time.Now()
	err = do()
	s.wall = time.Since(began).Seconds()
	s.engine = b.engineCPU() - cpu
	return s, err
}

// engineCPU is the CPU seconds of the engine's process so far, as Linux tells
// them.
func (b *bench) engineCPU() float64 {
	pid, err := os.ReadFile(b.engine)
	if err != nil {
		return math.NaN()
	}
	stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
	if err != nil {
		return math.NaN()
	}
	_, text, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(text)
	if len(fields) < 13 {
		return math.NaN()
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	const ticks = 100 // a second, on every Linux that Go runs on
	return (user + system) / ticks
}
