// Package price estimates how long a job takes on Lambda and what it costs. One
// model serves the plan, the report of what a job took, and the pages that show
// numbers.
//
// It measures nothing and calls nothing: prices and speeds are constants with
// their source and date. An estimate gives the order of magnitude; sinks, and a
// store that throttles, are not in it.
//
// The law: every figure of time or money that is shown anywhere comes from
// here, and docs/PERFORMANCE.md lists the constants.
package price

import (
	"math"
	"time"
)

// Usage is what is paid for.
type Usage struct {
	GBSeconds     float64 `json:"lambda_gb_seconds"`
	Invocations   int64   `json:"invocations"`
	QueueRequests int64   `json:"queue_requests"`
	WriteUnits    int64   `json:"ledger_write_units"`
	ReadUnits     int64   `json:"ledger_read_units"`
	Gets          int64   `json:"get_requests"`
	Lists         int64   `json:"list_requests"`
}

// Requests counts those of all services.
func (u Usage) Requests() int64 {
	return u.Invocations + u.QueueRequests + u.WriteUnits + u.ReadUnits + u.Gets + u.Lists
}

// Dollars are what a Usage costs.
type Dollars struct {
	Compute  float64 `json:"compute"`
	Requests float64 `json:"requests"` // of all services
	Total    float64 `json:"total"`
}

// Cost prices u.
func Cost(u Usage) Dollars {
	d := Dollars{Compute: u.GBSeconds * GBSecond}
	d.Requests = (float64(u.Invocations)*Invocation + float64(u.QueueRequests)*QueueRequest +
		float64(u.WriteUnits)*WriteUnit + float64(u.ReadUnits)*ReadUnit + float64(u.Gets)*Get + float64(u.Lists)*List) / million
	d.Total = d.Compute + d.Requests
	return d
}

const (
	million     = 1e6
	mbPerGB     = 1024
	msPerSecond = 1000
)

// Work is a plan in figures. Add its units one by one.
type Work struct {
	Units  int64
	Bytes  int64
	Gets   int64
	Listed int64 // keys

	longest struct{ bytes, gets int64 } // of the unit that takes longest
}

// Add adds a unit that reads bytes with that many GETs.
func (w *Work) Add(bytes, gets int64) {
	w.Units++
	w.Bytes += bytes
	w.Gets += gets
	if bytes > w.longest.bytes || bytes == w.longest.bytes && gets > w.longest.gets {
		w.longest.bytes, w.longest.gets = bytes, gets
	}
}

// Function is the function that runs it. The zero value is the template's.
type Function struct {
	MemoryMB    int // 0 means DefaultMemoryMB
	Concurrency int // invocations at once; 0 means DefaultConcurrency
}

// Estimate is what a job is expected to take.
type Estimate struct {
	Duration time.Duration
	// Concurrency is how many invocations there will be at once.
	Concurrency int
	Usage       Usage
	Dollars     Dollars
}

// Of estimates w on f.
func Of(w Work, f Function) Estimate {
	f = f.withDefaults()
	rate := f.BytesPerSecond()
	took := func(units, bytes, gets int64) float64 {
		return float64(units)*UnitSeconds + float64(bytes)/rate + float64(gets)*GetSeconds/GetsInFlight
	}
	busy := took(w.Units, w.Bytes, w.Gets)
	at := min(int64(f.Concurrency), w.Units)
	e := Estimate{Concurrency: int(at), Usage: usage(w, busy*float64(f.MemoryMB)/mbPerGB, busy)}
	longest := 0.0
	if w.Units > 0 {
		longest = took(1, w.longest.bytes, w.longest.gets)
	}
	d := max(ramped(busy, float64(at)), longest, float64(pages(w.Listed))*PageSeconds)
	e.Duration = time.Duration(math.Ceil(d)) * time.Second
	e.Dollars = Cost(e.Usage)
	return e
}

// usage is what w takes when its units together are worked on for busy seconds.
func usage(w Work, gbSeconds, busy float64) Usage {
	u := Usage{
		GBSeconds:     gbSeconds,
		Invocations:   w.Units,
		QueueRequests: int64(math.Ceil(float64(w.Units) * QueueRequestsPerUnit)),
		WriteUnits:    w.Units * WriteUnitsPerUnit,
		ReadUnits:     w.Units * ReadUnitsPerUnit,
		Gets:          w.Gets,
		Lists:         max(pages(w.Listed), 1),
	}
	if w.Units > 0 { // as if all took equally long; started minutes are not counted
		minutes := int64(busy / float64(w.Units) / 60)
		u.QueueRequests += w.Units * minutes * QueueRequestsPerMinute
	}
	return u
}

func pages(keys int64) int64 { return (keys + KeysPerPage - 1) / KeysPerPage }

// BytesPerSecond is how fast one invocation reads: the lesser of its network
// and its share of a CPU.
func (f Function) BytesPerSecond() float64 {
	f = f.withDefaults()
	return min(NetworkBytesPerSecond, CPUBytesPerSecond*float64(f.MemoryMB)/MemoryPerCPU)
}

func (f Function) withDefaults() Function {
	if f.MemoryMB == 0 {
		f.MemoryMB = DefaultMemoryMB
	}
	if f.Concurrency == 0 {
		f.Concurrency = DefaultConcurrency
	}
	f.Concurrency = min(f.Concurrency, MaxConcurrency)
	return f
}

// ramped is how long busy seconds of work take when concurrency starts at
// FirstConcurrency and grows by RampPerMinute up to at.
//
// While it grows, t seconds have done first·t + slope·t²/2 of it.
func ramped(busy, at float64) float64 {
	const slope = RampPerMinute / 60.0
	if at == 0 {
		return 0
	}
	first := min(FirstConcurrency, at)
	full := (at - first) / slope // when it no longer grows
	done := first*full + slope*full*full/2
	if busy < done {
		return (math.Sqrt(first*first+2*slope*busy) - first) / slope
	}
	return full + (busy-done)/at
}

// Gets is how many GETs it takes to read that many bytes of one object.
func Gets(bytes int64) int64 { return (bytes + WindowBytes - 1) / WindowBytes }
