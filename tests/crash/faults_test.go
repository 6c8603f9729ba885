package crash_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
	"github.com/spate-go/spate/tests/lambdakit"
)

// TestPanics has code of a user's own panic. Its units are given up, for that
// reason, and the process and the units beside them go on.
func TestPanics(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lambdakit.StackOptions{MaxReceives: 2}, pipeline("1MiB", ""))
	schedule := w.serve(t, finalizer, 1)[0]
	who := []string{"framer", "chain", "operator"}
	for _, name := range who {
		w.write(t, anchor(name), []byte(`{"say":"panic, `+name+`"}`+"\n"))
		w.put(t, anchor(name+"-after"), 3, 0)
	}
	w.start(t, custom, lambdakit.Options{Env: map[string]string{"FUNCTION": "lister"}}).MustInvoke(t, `{"job":"j"}`)
	f := w.start(t, custom, lambdakit.Options{})
	w.poll(t, hooks{hasten: true, after: func(_ *function, d delivery, o lambdakit.Outcome) {
		if !o.OK() {
			t.Errorf("delivery %d of %s: %+v", d.nth, d.unit, o)
		}
	}}, f)
	w.until(t, schedule, 5*time.Second)

	if n := f.Starts(); n != 1 {
		t.Errorf("the process was started %d times", n)
	}
	w.checkRows(t)
	r := w.report(t, "j", report.Failed)
	if r.Units != (report.Units{Planned: 6, Done: 3, Dead: 3}) {
		t.Errorf("%+v", r.Units)
	}
	for _, name := range who {
		id := w.unitOf(t, "in/"+anchor(name))
		found := false
		for _, d := range r.Dead {
			found = found || d.Unit == id && d.Reason == "operator" && strings.Contains(d.Detail, name+" was told to")
		}
		if !found {
			t.Errorf("no word of the panic of %s: %+v", name, r.Dead)
		}
	}
}

// TestTimeout freezes a reader in the middle of its unit, so that the platform
// kills it at the end of its time.
func TestTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lambdakit.StackOptions{}, pipeline("1MiB", ""))
	schedule := w.serve(t, finalizer, 1)[0]
	w.put(t, "a", 3, 0)
	w.start(t, lister, lambdakit.Options{}).MustInvoke(t, `{"job":"j"}`)
	f := w.start(t, racy, lambdakit.Options{Timeout: 10 * time.Second})
	outcomes := make(chan lambdakit.Outcome, 9)
	w.poll(t, hooks{
		before: func(f *function, d delivery) {
			f.Proxy.Inject(func(c lambdakit.Call) (r lambdakit.Fault) {
				if d.nth == 1 && c.Service == "s3" {
					f.Freeze()
				}
				return r
			})
		},
		after: func(_ *function, _ delivery, o lambdakit.Outcome) { outcomes <- o },
	}, f)
	w.until(t, schedule, 2*time.Second)
	if o := <-outcomes; !o.TimedOut || !o.Killed {
		t.Errorf("the first delivery did not run out of time: %+v", o)
	}
	if r := w.report(t, "j", report.Completed); r.Units.Done != 1 {
		t.Errorf("%+v", r.Units)
	}
	w.checkRows(t)
}

// TestReaderThatFrozeAndWakes freezes a reader for so long that another one reads
// its unit. Then it goes on, and nothing that it does may change what was found.
func TestReaderThatFrozeAndWakes(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]string{"while its rows are written": "s3", "while its unit is marked done": "dynamodb"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, lambdakit.StackOptions{}, pipeline("1MiB", ""))
			schedule := w.serve(t, finalizer, 1)[0]
			w.put(t, "a", 3, 0)
			w.start(t, lister, lambdakit.Options{}).MustInvoke(t, `{"job":"j"}`)
			frozen := make(chan *function, 1)
			var mu sync.Mutex
			froze, written := false, false
			ended := map[*function]int{}
			w.poll(t, hooks{
				before: func(f *function, d delivery) {
					f.Proxy.Inject(func(c lambdakit.Call) (r lambdakit.Fault) {
						mu.Lock()
						defer mu.Unlock()
						written = written || c.Op == "PUT"
						if d.nth == 1 && c.Service == at && written && !froze {
							froze = f.Freeze()
							frozen <- f
						}
						return r
					})
				},
				after: func(f *function, _ delivery, _ lambdakit.Outcome) {
					mu.Lock()
					defer mu.Unlock()
					ended[f]++
				},
			}, w.start(t, racy, lambdakit.Options{}), w.start(t, racy, lambdakit.Options{}))
			w.until(t, schedule, 3*time.Second)
			before := w.report(t, "j", report.Completed)

			f := <-frozen
			mu.Lock()
			if ended[f] > 0 || len(ended) != 1 {
				t.Errorf("the job did not end by the reader that was not frozen: %v", ended)
			}
			mu.Unlock()
			f.Thaw()
			for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
				mu.Lock()
				n := ended[f]
				mu.Unlock()
				if n > 0 {
					break
				}
				if time.Now().After(end) {
					t.Fatal("the reader that woke does not end")
				}
			}
			w.checkRows(t)
			if items := w.items(t)["j"]; len(items) != 1 || items[w.unitOf(t, "in/a")] != "done" {
				t.Errorf("items: %v", items)
			}
			if m := w.meta(t, "j"); string(m.State) != "completed" || m.Generation != before.Generation {
				t.Errorf("%+v", m)
			}
		})
	}
}

// TestInitFails deploys a pipeline file with a mistake: the log names it, and the
// message is there for the one that comes after.
func TestInitFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lambdakit.StackOptions{Visibility: 4 * time.Second}, pipeline("1MiB", ""))
	schedule := w.serve(t, finalizer, 1)[0]
	w.put(t, "a", 3, 0)
	w.start(t, lister, lambdakit.Options{}).MustInvoke(t, `{"job":"j"}`)

	good := w.pipeline
	w.pipeline = strings.Replace(good, "framing:", "farming:", 1)
	f := w.start(t, reader, lambdakit.Options{})
	w.pipeline = good
	failed := make(chan lambdakit.Outcome, 9)
	stop := w.poll(t, hooks{after: func(_ *function, _ delivery, o lambdakit.Outcome) { failed <- o }}, f)
	o := <-failed
	stop()
	if o.OK() || o.Init == "" {
		t.Errorf("the function started all the same: %+v", o)
	}
	for where, said := range map[string]string{"log": f.Logs(), "answer": o.Init} {
		if !strings.Contains(said, "farming") || !strings.Contains(said, "pipeline.yaml") {
			t.Errorf("the %s does not name the mistake: %s", where, said)
		}
	}
	if calls := f.Proxy.Calls(); len(calls) > 0 {
		t.Errorf("it called %v", calls)
	}
	w.poll(t, hooks{}, w.start(t, reader, lambdakit.Options{}))
	w.until(t, schedule, 2*time.Second)
	if r := w.report(t, "j", report.Completed); r.Units.Done != 1 {
		t.Errorf("%+v", r.Units)
	}
	w.checkRows(t)
}

// TestOneWarmContainer gives fifty units to one process, every fifth of which is
// bad, and every seventh of which has an answer cut off.
func TestOneWarmContainer(t *testing.T) {
	t.Parallel()
	const units = 50
	w := newWorld(t, lambdakit.StackOptions{MaxReceives: 2}, pipeline("1MiB", ""))
	schedule := w.serve(t, finalizer, 1)[0]
	bad := map[unit.ID]bool{}
	for i := range units {
		key := anchor(strings.Repeat("u", 1+i))
		if i%5 == 4 {
			w.write(t, key, []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff, and no more of it"))
			bad[w.unitOf(t, "in/"+key)] = true
			continue
		}
		w.put(t, key, 700, 1<<10)
	}
	w.start(t, lister, lambdakit.Options{}).MustInvoke(t, `{"job":"j"}`)

	f := w.start(t, reader, lambdakit.Options{})
	n := 0
	var peaks []int64
	w.poll(t, hooks{
		hasten: true,
		before: func(f *function, d delivery) {
			n++
			cut := n%7 == 0
			f.Proxy.Inject(func(c lambdakit.Call) (r lambdakit.Fault) {
				if cut && c.Service == "s3" && c.Op == "GET" {
					cut, r.Cut = false, 100_000
				}
				return r
			})
		},
		after: func(f *function, d delivery, o lambdakit.Outcome) {
			if failed := strings.Contains(string(o.Response), "itemIdentifier"); !o.OK() || failed != bad[d.unit] {
				t.Errorf("delivery %d of %s, which is bad: %v: %+v, %s", d.nth, d.unit, bad[d.unit], o, o.Response)
			}
			peak, err := f.Peak()
			if err != nil {
				t.Error(err)
			}
			peaks = append(peaks, peak)
		},
	}, f)
	w.until(t, schedule, 5*time.Second)

	if n := f.Starts(); n != 1 {
		t.Errorf("the process was started %d times", n)
	}
	w.checkRows(t)
	r := w.report(t, "j", report.Failed)
	if r.Units != (report.Units{Planned: units, Done: units - len(bad), Dead: len(bad)}) {
		t.Errorf("%+v", r.Units)
	}
	for _, d := range r.Dead {
		if !bad[d.Unit] || d.Reason != "undecodable" {
			t.Errorf("dead: %+v", d)
		}
	}
	early, late := peaks[len(peaks)/4], peaks[len(peaks)-1]
	t.Logf("peak memory after %d deliveries %d MiB, after %d %d MiB", len(peaks)/4, early>>20, len(peaks), late>>20)
	if late > early+early/8 {
		t.Errorf("peak memory rose from %d to %d bytes over %d deliveries", early, late, len(peaks))
	}
}
