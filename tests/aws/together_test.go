package aws_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/report"
)

func TestTwoJobsAtOnceBothComplete(t *testing.T) {
	s := onStack(t)
	t.Parallel()
	jobs := []string{"left", "right"}
	sources := map[string][]object{}
	for _, job := range jobs {
		source := []object{ranges(t, job+"/0.ndjson", 6)}
		for n := range 200 {
			source = append(source, ndjson(t, fmt.Sprintf("%s/small/%03d.ndjson.zst", job, n), 10))
		}
		s.put(t, source...)
		sources[job] = source
	}
	var commands [][]string
	for _, job := range jobs {
		commands = append(commands, []string{"start", job, "--url", "s3://" + s.source + "/" + job + "/"})
	}
	for _, r := range s.atOnce(t, commands...) {
		if r.code != 0 {
			t.Fatalf("%+v", r)
		}
	}
	var begin, end [2]time.Time
	for i, job := range jobs {
		r := s.watch(t, 0, job)
		if r.State != report.Completed || r.Objects.Done != 201 || r.Units.Done != r.Units.Planned ||
			r.Records != records(sources[job]) {
			t.Errorf("report %+v", r)
		}
		exactly(t, s.delivered(t, job), sources[job]...)
		lines := s.lines(t, job, 1)
		begin[i], end[i] = lines[0].at, lines[len(lines)-1].at
	}
	t.Logf("%s was read for %v, %s for %v, the second from %v after the first",
		jobs[0], end[0].Sub(begin[0]), jobs[1], end[1].Sub(begin[1]), begin[1].Sub(begin[0]))
}
