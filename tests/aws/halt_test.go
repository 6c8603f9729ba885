package aws_test

import (
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/report"
)

func TestAReaderOfAnotherConfigurationHaltsTheJobOnce(t *testing.T) {
	s := onStack(t)
	const job = "halted"
	source := []object{ranges(t, job+"/0.ndjson", 8)}
	s.put(t, source...)
	back := s.configure(t, "reader", "MAX_RECORD", "128KiB")
	defer func() { back() }()
	told := s.listen(t, job)

	s.start(t, job)
	if r := s.watch(t, 1, job); r.State != report.Halted || r.Units.Done > 0 || !strings.HasPrefix(r.Reason, "fingerprint: ") {
		t.Errorf("report %+v", r)
	}
	// Both configurations are named, by their digests.
	st := s.until(t, job, "acked", func(st status) bool { return st.Listed && st.Feed.Ready+st.Feed.Delayed+st.Feed.InFlight == 0 })
	if st.Halt == nil || st.Halt.Reason != "fingerprint" || strings.Count(st.Halt.Detail, `"`) != 4 {
		t.Errorf("status %+v", st)
	}
	if e := told(t); e.Kind != "Spate Job Halted" || e.Detail.Job != job || e.Detail.Run != 1 {
		t.Errorf("event %+v", e)
	}
	if said := s.want(t, 0, "list").stdout; !strings.Contains(said, "running, halted (fingerprint)") {
		t.Errorf("list says %s", said)
	}
	if said := s.want(t, 0, "status", job).stdout; !strings.Contains(said, "spate job resume "+job) {
		t.Errorf("status says %s", said)
	}
	items := s.items(t, job)
	if len(items) != 8 {
		t.Errorf("%d units", len(items))
	}
	for unit, i := range items {
		if i.state != "open" || i.attempts != 0 {
			t.Errorf("unit %s: %+v", unit, i)
		}
	}
	for _, l := range s.lines(t, job, 1) {
		if l.number(t, "receives") > 2 {
			t.Errorf("%s", l.text)
		}
	}

	back()
	back = func() {}
	if said := s.want(t, 0, "resume", job).stdout; !strings.Contains(said, "fingerprint") {
		t.Errorf("resume says %s", said)
	}
	s.settled(t, job, "ended", ended)
	s.complete(t, job, 1, source)
	if said := s.want(t, 1, "resume", job).stderr; !strings.Contains(said, "not halted") {
		t.Errorf("resume says %s", said)
	}
}
