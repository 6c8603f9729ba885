package app

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestTheHeapIsHeldWhileAJobRuns(t *testing.T) {
	unset := func(string) (string, bool) { return "", false }
	c := Config{}
	c.Pipeline.Memory = 100 << 20
	release := c.holdHeap(unset)
	if got := debug.SetMemoryLimit(-1); got != 164<<20 {
		t.Errorf("the limit is %d", got)
	}
	release()
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("afterwards it is %d", got)
	}
	c.holdHeap(func(name string) (string, bool) { return "1GiB", name == "GOMEMLIMIT" })()
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("the environment's is %d", got)
	}
}
