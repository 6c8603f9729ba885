package price

// Actual is what a job took, as far as its ledger says.
type Actual struct {
	MemoryTime int64 // of all its invocations, in MB·ms
	Units      int64
	Objects    int64 // that they read
	Bytes      int64 // of those, from the store
	Listed     int64 // keys
}

// Usage computes what was paid for: memory and time as measured, and the
// requests of units that succeed at once. What was spent on attempts that broke
// off before they could record it is not in it.
func (a Actual) Usage() Usage {
	w := Work{Units: a.Units, Bytes: a.Bytes, Listed: a.Listed}
	if a.Objects > 0 { // as if all were equally large
		w.Gets = a.Objects * Gets((a.Bytes+a.Objects-1)/a.Objects)
	}
	// The memory of one function is not known. It matters only for the minutes
	// that messages are held.
	mbSeconds := float64(a.MemoryTime) / msPerSecond
	return usage(w, mbSeconds/mbPerGB, mbSeconds/DefaultMemoryMB)
}
