package report

import "fmt"

// Key is where the report of a run is written, below the place that reports go
// to. It holds the generation, so that a report of a verdict that was overtaken
// never takes the place of a later one; of several, the highest is how it stands.
func Key(job string, run, generation int) string {
	return fmt.Sprintf("%s/run-%d/report-%d.json", job, run, generation)
}

// SuccessKey is where a completed run has its marker, which stands only where
// the report does. There is one for a run: completed is final.
func SuccessKey(job string, run int) string { return fmt.Sprintf("%s/run-%d/_SUCCESS", job, run) }
