package aws_test

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/report"
)

// archive is a source of 2,000 objects. The one at bad is a gzip that broke off,
// which mended makes good.
func archive(t *testing.T, job string) (source []object, bad int, mended object) {
	t.Helper()
	bad = 777
	for i := range 2000 {
		key := fmt.Sprintf("%s/%04d.ndjson", job, i)
		switch {
		case i == bad:
			mended = ndjson(t, key+".gz", 400)
			broken := mended
			broken.body = mended.body[:len(mended.body)*2/3]
			source = append(source, broken)
		case i%500 == 250:
			source = append(source, ranges(t, key, 3+i/500))
		case i%500 == 10:
			source = append(source, ndjson(t, key+".zst", 20_000))
		case i%3 == 1:
			source = append(source, ndjson(t, key+".gz", 1+i%40))
		case i%3 == 2:
			source = append(source, ndjson(t, key+".zst", 1+i%40))
		default:
			source = append(source, ndjson(t, key, 1+i%40))
		}
	}
	return source, bad, mended
}

// whole is how many records of a gzip that broke off can be read; other packages
// get a few bytes further.
func whole(body []byte) int {
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return 0
	}
	text, _ := io.ReadAll(r) // up to where it broke off
	return bytes.Count(text, []byte("\n"))
}

func TestAJobOfManyObjectsFailsByTheBadOneAndReadsOnlyThatAgain(t *testing.T) {
	s := onStack(t)
	t.Parallel()
	const job = "large"
	source, bad, mended := archive(t, job)
	s.put(t, source...)

	s.start(t, job)
	r := s.watch(t, 1, job)
	if r.State != report.Failed || r.Objects.Listed != 2000 || r.Objects.Done != 1999 || r.Objects.Failed != 1 ||
		r.Units.Dead != 1 || r.Units.Done != r.Units.Planned-1 || len(r.Dead) != 1 || len(r.Missing) > 0 {
		t.Fatalf("report %+v", r)
	}
	// What is before the place where it broke off is delivered.
	source[bad].rows = mended.rows[:whole(source[bad].body)]
	dead := r.Dead[0]
	if dead.Reason != failure.Undecodable || dead.Record == nil || *dead.Record != int64(len(source[bad].rows)) ||
		len(dead.Objects) != 1 || dead.Objects[0].Key != mended.key {
		t.Fatalf("dead %+v, %d records are whole", dead, len(source[bad].rows))
	}
	exactly(t, s.delivered(t, job), source...)
	if kept := into[report.Report](t, s.want(t, 0, "report", job, "-o", "json")); !reflect.DeepEqual(kept, *r) {
		t.Errorf("report of the bucket %+v, watched %+v", kept, r)
	}

	s.put(t, mended)
	source[bad] = mended
	s.start(t, job)
	again := s.watch(t, 0, job)
	if again.State != report.Completed || again.Run != 2 || again.Units.Planned != r.Units.Planned || again.Units.Done != r.Units.Planned ||
		again.Objects.Done != 2000 || again.Records != records(source) {
		t.Errorf("report of run 2 %+v", again)
	}
	// Of the plan's units, that is: what run 1 delivered of the unit that failed
	// lies there, too.
	units := s.delivered(t, job)
	for unit, i := range s.items(t, job) {
		if i.run != 2 {
			delete(units, unit)
		}
	}
	exactly(t, units, source...)
	// The bad object is small beside a unit, so its neighbours are the unit's own.
	lines := s.lines(t, job, 2)
	if len(lines) != 1 || lines[0].field("outcome") != "done" || lines[0].number(t, "objects") > 64 {
		t.Errorf("run 2 read %d units, want the one that changed: %+v", len(lines), lines)
	}
	t.Logf("%d units of 2000 objects; run 1 took %d invocations, run 2 %d", r.Units.Planned, len(s.lines(t, job, 1)), len(lines))
}
