package report

import "fmt"

// Key is the key of a run's report, below the prefix that reports go to. It
// includes the generation, so that a late report of a superseded verdict never
// replaces a newer one; the highest generation is current.
func Key(job string, run, generation int) string {
	return fmt.Sprintf("%s/run-%d/report-%d.json", job, run, generation)
}

// SuccessKey is the key of a completed run's marker, which exists only if its
// report does. A run has only one: completed is final.
func SuccessKey(job string, run int) string { return fmt.Sprintf("%s/run-%d/_SUCCESS", job, run) }
