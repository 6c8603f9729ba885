package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/cut"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/boltledger"
	"github.com/spate-go/spate/pkg/lister"
	"github.com/spate-go/spate/pkg/object/dirobject"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
)

// kept is a job with a state that is run again and again.
type kept struct {
	*testing.T
	src, out, state string
	args            []string
	objects         map[string][]byte
}

func newKept(t *testing.T, objects map[string][]byte) *kept {
	t.Helper()
	dir := t.TempDir()
	k := &kept{T: t, src: filepath.Join(dir, "src"), out: filepath.Join(dir, "out.ndjson"), state: filepath.Join(dir, "state"), objects: objects}
	for key, data := range objects {
		write(t, filepath.Join(k.src, key), data)
	}
	k.args = []string{"run", pipeline(t, k.src, k.out, ""), "--state", k.state, "--set", "source.s3.target=1MiB"}
	return k
}

func (k *kept) run(r run) result {
	k.Helper()
	r.Binary = plainBinary
	return r.spate(k.T, k.args...)
}

// again forgets the state and the output.
func (k *kept) again() {
	k.Helper()
	for _, path := range []string{k.out, k.state} {
		if err := os.RemoveAll(path); err != nil {
			k.Fatal(err)
		}
	}
}

// strike kills the process once its output has that many blocks, and reports
// whether that was before the job's end.
func (k *kept) strike(blocks int) bool {
	k.Helper()
	journal := filepath.Join(k.state, "e2e.default.journal")
	res := k.run(run{Begun: func(cmd *exec.Cmd) {
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Microsecond) {
			data, _ := os.ReadFile(journal)
			if bytes.Count(data, []byte("\n+ ")) >= blocks {
				break
			}
		}
		_ = cmd.Process.Kill()
	}})
	if res.Code != -1 { // of a process that ended by itself
		return false
	}
	_, meta, _ := k.look()
	return !meta.State.Ended()
}

// look opens the ledger while no process does, and returns the units that a
// listing makes of the objects, those that are done, and the job as it stands.
func (k *kept) look() (done map[unit.ID]bool, meta ledger.Meta, units map[unit.ID]*unit.Unit) {
	k.Helper()
	l, err := boltledger.Open(filepath.Join(k.state, "ledger.db"))
	if err != nil {
		k.Fatal(err)
	}
	defer l.Close()
	if meta, err = l.Meta(k.Context(), "e2e"); err != nil {
		k.Fatal(err)
	}
	units, done = planned(k.T, k.src), map[unit.ID]bool{}
	for id := range units {
		for run := 1; run <= meta.Run; run++ {
			it, err := l.Begin(k.Context(), ledger.Ref{Job: "e2e", Run: run, ID: id}, 1, 1)
			done[id] = done[id] || err == nil && it.State == ledger.Done
		}
	}
	return done, meta, units
}

// planned are the units of a directory.
func planned(t *testing.T, dir string) map[unit.ID]*unit.Unit {
	t.Helper()
	b, err := dirobject.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := boltledger.Open(filepath.Join(t.TempDir(), "plan.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	m, err := l.Start(t.Context(), "e2e", ledger.Start{})
	if err != nil {
		t.Fatal(err)
	}
	units := collector{}
	if err := lister.New(b, l, units, lister.Options{Options: cut.Options{Target: plan.MinTarget, Cut: &plan.Cut{Delimiter: '\n'}}}).Run(t.Context(), "e2e", m); err != nil {
		t.Fatal(err)
	}
	return units
}

// collector is a feed that keeps what it is sent.
type collector map[unit.ID]*unit.Unit

func (c collector) Send(_ context.Context, ms ...feed.Message) (err error) {
	for _, m := range ms {
		u, derr := unit.Decode(m.Body)
		c[m.ID], err = u, errors.Join(err, derr)
	}
	return err
}

// poison replaces the content of objects that belong to none but spared units,
// in a way that no listing shows. It returns how many it replaced, and what
// undoes it.
func (k *kept) poison(units map[unit.ID]*unit.Unit, spared func(unit.ID) bool) (n int, undo func()) {
	k.Helper()
	wanted := map[string]bool{}
	for id, u := range units {
		for _, o := range u.Objects {
			wanted[o.Key] = wanted[o.Key] || !spared(id)
		}
	}
	var keys []string
	for key, is := range wanted {
		if !is {
			keys = append(keys, key)
			k.replace(key, bytes.Repeat([]byte("poison\n"), len(k.objects[key])/7+1)[:len(k.objects[key])])
		}
	}
	return len(keys), func() {
		for _, key := range keys {
			k.replace(key, k.objects[key])
		}
	}
}

// replace writes other bytes of the same number into the same file, at the same
// time.
func (k *kept) replace(key string, data []byte) {
	k.Helper()
	path := filepath.Join(k.src, key)
	info, err := os.Stat(path)
	if err != nil {
		k.Fatal(err)
	}
	write(k.T, path, data)
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		k.Fatal(err)
	}
}

func (k *kept) all() (data [][]byte) {
	for _, d := range k.objects {
		data = append(data, d)
	}
	return data
}

func (k *kept) completes() *report.Report {
	k.Helper()
	res := k.run(run{})
	if res.Code != 0 || res.Report == nil || res.Report.State != report.Completed {
		k.Fatalf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
	}
	if strings.Contains(res.Stderr, "progress is lost") {
		k.Errorf("standard error:\n%s", res.Stderr)
	}
	return res.Report
}

// wide are n records of about 300 bytes.
func wide(name string, n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, `{"name":%q,"n":%d,"pad":"%0270d"}`+"\n", name, i, i)
	}
	return b.Bytes()
}

// mixed are objects that are cut, that stand alone and that share a unit.
func mixed() map[string][]byte {
	objects := map[string][]byte{}
	for i := range 5 {
		name := fmt.Sprintf("cut-%d", i)
		objects[name] = wide(name, 4500)
	}
	for i := range 80 {
		name := fmt.Sprintf("small-%02d", i)
		objects[name] = wide(name, 40+i)
	}
	return objects
}

// TestAKilledRunLosesNothing kills the process at its first block, its second and
// so on, a hundred times in all, and runs the same command again until the job is
// complete: each row is there once, and no unit that was done is read again,
// since its objects are something else by then (INV-1, INV-7).
func TestAKilledRunLosesNothing(t *testing.T) {
	k := newKept(t, mixed())
	blocks := int(k.completes().Sinks["default"].Blocks)
	if blocks < 10 {
		t.Fatalf("%d blocks: too few to be killed between", blocks)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var missed, poisoned, listing int
	for strikes, at := 0, 0; strikes < 100; {
		k.again()
		at = at%blocks + 1
		if !k.strike(at) {
			if missed++; missed > 200 {
				t.Fatalf("%d strikes, and %d came too late", strikes, missed)
			}
			at-- // the same again
			continue
		}
		strikes++
		for more := r.IntN(3); more > 0 && k.strike(at+1); more-- { // and while it continues
			strikes++
		}
		done, meta, units := k.look()
		if !meta.Listed {
			listing++
		}
		n, undo := k.poison(units, func(id unit.ID) bool { return done[id] })
		poisoned += n
		rep := k.completes()
		if undo(); rep.Units.Done != len(units) || rep.Objects.Done != int64(len(k.objects)) {
			t.Fatalf("report %+v", rep)
		}
		if exactly(t, k.out, k.all()...); t.Failed() {
			t.Fatalf("killed at block %d of %d, %d units done, listed %t", at, blocks, len(done), meta.Listed)
		}
	}
	t.Logf("%d blocks, %d strikes too late, %d while listing, %d objects poisoned", blocks, missed, listing, poisoned)
	if poisoned == 0 {
		t.Error("no unit was done at any strike")
	}
}

func TestAnInterruptedRunIsContinued(t *testing.T) {
	k := newKept(t, mixed())
	for tries := 0; ; tries++ {
		res := k.run(run{Begun: func(cmd *exec.Cmd) {
			for range 10_000 {
				if s, err := os.Stat(k.out); err == nil && s.Size() > 0 {
					break
				}
				time.Sleep(100 * time.Microsecond)
			}
			_ = cmd.Process.Signal(syscall.SIGINT)
		}})
		if res.Code == 130 {
			if !strings.Contains(res.Stderr, "same command") {
				t.Errorf("standard error:\n%s", res.Stderr)
			}
			break
		}
		if k.again(); tries == 20 {
			t.Fatalf("code %d\n%s", res.Code, res.Stderr)
		}
	}
	done, _, units := k.look()
	_, undo := k.poison(units, func(id unit.ID) bool { return done[id] })
	k.completes()
	undo()
	exactly(t, k.out, k.all()...)
}

func TestTheNextRunReadsWhatChanged(t *testing.T) {
	k := newKept(t, mixed())
	first := k.completes()
	before := planned(t, k.src)
	changed := wide("other", 50)
	write(t, filepath.Join(k.src, "small-40"), changed)
	write(t, filepath.Join(k.src, "small-40-new"), wide("new", 50))
	after := planned(t, k.src)
	old := k.objects
	k.objects = map[string][]byte{"small-40": changed, "small-40-new": wide("new", 50)}
	for key, data := range old {
		if _, ok := k.objects[key]; !ok {
			k.objects[key] = data
		}
	}
	n, undo := k.poison(after, func(id unit.ID) bool { return before[id] != nil })
	if n == 0 || n >= len(after) {
		t.Fatalf("%d of %d objects belong to units that are as before", n, len(k.objects))
	}
	rep := k.completes()
	undo()
	if rep.Run != first.Run+1 || rep.Units.Done != len(after) || rep.Objects.Done != int64(len(k.objects)) {
		t.Errorf("report %+v", rep)
	}
	left := 0
	for id := range before {
		if after[id] == nil {
			left++
		}
	}
	if first.Units.Unlisted != 0 || left == 0 || rep.Units.Unlisted != left {
		t.Errorf("%d units of the first run are said to be left, want %d", rep.Units.Unlisted, left)
	}
	want := map[string]int{}
	for _, data := range old {
		count(want, data)
	}
	for id, u := range after {
		if before[id] == nil {
			for _, o := range u.Objects {
				count(want, k.objects[o.Key])
			}
		}
	}
	got := rows(t, k.out)
	for line, n := range want {
		if got[line] != n {
			t.Fatalf("row %.60q is there %d times, want %d", line, got[line], n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
}

func count(lines map[string]int, data []byte) {
	for line := range strings.Lines(string(data)) {
		lines[line]++
	}
}

func TestAStateHoldsJobsByTheirName(t *testing.T) {
	k := newKept(t, map[string][]byte{"a": wide("a", 100)})
	k.completes()
	other := k.out + ".other"
	args := k.args
	k.args = slices.Concat(args, []string{"--set", "job={name: another.one}", "--set", "sink.file.path=" + other})
	if rep := k.completes(); rep.Run != 1 || rep.Job != "another.one" {
		t.Errorf("report %+v", rep)
	}
	k.args = args
	if rep := k.completes(); rep.Run != 2 {
		t.Errorf("report %+v", rep)
	}
	for _, out := range []string{k.out, other} {
		exactly(t, out, k.all()...)
	}
}

func TestAStateRefusesWhatWouldLoseRows(t *testing.T) {
	k := newKept(t, mixed())
	refused := func(why string, args []string, want ...string) {
		t.Helper()
		start := time.Now()
		res := run{Binary: plainBinary}.spate(t, slices.Concat(k.args, args)...)
		if res.Code != 2 || time.Since(start) > 10*time.Second {
			t.Errorf("%s: code %d after %v\n%s", why, res.Code, time.Since(start), res.Stderr)
		}
		for _, w := range want {
			if !strings.Contains(res.Stderr, w) {
				t.Errorf("%s: standard error lacks %q:\n%s", why, w, res.Stderr)
			}
		}
	}
	refused("a limit", []string{"--limit", "5"}, "--limit with --state")
	refused("inside the source", []string{"--state", filepath.Join(k.src, "state")}, "--state", "inside the source")
	for tries := 0; ; tries++ { // an unfinished run that is listed
		if k.again(); k.strike(3) {
			if _, meta, _ := k.look(); meta.Listed {
				break
			}
		}
		if tries == 50 {
			t.Fatal("no strike fell between the listing and the end")
		}
	}
	refused("another source", []string{"--set", "source.s3.target=2MiB"}, "run 1 of job e2e", "fingerprint of its source", "--state")
	refused("another framing", []string{"--set", "framing.ndjson.max_record=1MiB"}, "fingerprint of its compression and framing")
	l, err := boltledger.Open(filepath.Join(k.state, "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	refused("in use", nil, k.state, "another process")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(t.TempDir(), "foreign")
	write(t, foreign, []byte("precious\n"))
	refused("a foreign output", []string{"--overwrite", "--set", "sink.file.path=" + foreign}, foreign, "--overwrite")
	if data, err := os.ReadFile(foreign); err != nil || string(data) != "precious\n" {
		t.Errorf("the foreign file now holds %q, %v", data, err)
	}
	k.args = append(k.args, "--overwrite") // of the output that it wrote: goes on
	k.completes()
	exactly(t, k.out, k.all()...)
	write(t, filepath.Join(k.state, "ledger.db"), []byte("not a ledger at all\n"))
	refused("a foreign ledger", nil, k.state, "ledger.db")
}
