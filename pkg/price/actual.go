package price

// Actual is what a job did take, as far as its ledger says.
type Actual struct {
	MemoryTime int64 // of all its invocations, in MB·ms
	Units      int64
	Objects    int64 // that they read
	Bytes      int64 // of those, from the store
	Listed     int64 // keys
}

// Usage reckons what was paid for: memory and time as they were measured, and
// the requests of units that go well. What attempts took that broke off before
// they could write it down is not in it.
func (a Actual) Usage() Usage {
	w := Work{Units: a.Units, Bytes: a.Bytes, Listed: a.Listed}
	if a.Objects > 0 { // as if all were equally large
		w.Gets = a.Objects * Gets((a.Bytes+a.Objects-1)/a.Objects)
	}
	// The memory of one function is not known, nor needed but for the minutes
	// that messages are held.
	mbSeconds := float64(a.MemoryTime) / msPerSecond
	return usage(w, mbSeconds/mbPerGB, mbSeconds/DefaultMemoryMB)
}
