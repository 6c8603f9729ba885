package app

import "runtime/debug"

// baseline is what a process needs beside what pipeline.memory bounds, in
// bytes: the program, connections, and garbage for the collector to work with.
const baseline = 64 << 20

// holdHeap has the collector keep the process near what pipeline.memory allows,
// until release is called. By itself the collector lets garbage grow as large
// as what is in use, and the blocks that a sink joins are large. GOMEMLIMIT in
// the environment wins.
func (c *Config) holdHeap(env func(string) (string, bool)) (release func()) {
	if limit, _ := env("GOMEMLIMIT"); limit != "" {
		return func() {}
	}
	before := debug.SetMemoryLimit(int64(c.Pipeline.Memory) + baseline)
	return func() { debug.SetMemoryLimit(before) }
}
