package sim_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/failure"
)

// event is something that happens in the storm.
type event struct {
	at   time.Time
	kind string
	make func() // nil: by its kind
}

// Kinds of faults. Each seed has some of them, so that what needs the absence of
// another one is found too.
var kinds = []string{
	"crash", "fail", "lost", "outage", "freeze", "slow", "cut", "partly", "duplicate", "purge", "expire",
	"lost receive", "lag", "off", "sink down", "denied", "spoil", "reject", "resume", "redrive", "cancel", "again",
	"change", "second lister", "second tick", "short", "forgetful sink", "blind",
}

// themes are kinds that make trouble together.
var themes = [][]string{
	{}, {},
	{"spoil", "duplicate", "freeze", "lost"},
	{"spoil", "freeze", "crash", "redrive"},
	{"sink down", "denied", "resume", "duplicate", "freeze", "slow"},
	{"denied", "resume", "short", "purge", "duplicate"},
	{"redrive", "spoil", "reject", "freeze", "crash", "second tick", "cancel"},
	{"second lister", "change", "again", "crash", "freeze", "fail", "cancel"},
	{"short", "purge", "duplicate", "freeze", "lost receive"},
	{"purge", "expire", "off", "sink down", "denied", "resume"},
	{"again", "cancel", "redrive", "change", "spoil"},
	{"short", "spoil", "duplicate", "freeze", "lost"},
	{"spoil", "duplicate", "freeze", "crash", "outage"},
	{"redrive", "freeze", "spoil", "reject"},
}

// storm draws what happens in that time, besides the faults of effects.
func (w *world) storm(d time.Duration) {
	all := kinds
	if w.inbox != nil {
		all = streamKinds
	}
	for _, k := range all {
		if _, is := happenings[k]; !is || !w.on(k) {
			continue
		}
		most := 4
		if slices.Contains(w.theme, k) || k == "put" {
			most = 12
		}
		for range 1 + w.rng.IntN(most) {
			u := w.rng.Float64() // more of it early, while there is something to disturb
			w.events = append(w.events, event{at: time.Now().Add(time.Duration(u * u * u * float64(d)).Round(time.Second)), kind: k})
		}
	}
	slices.SortStableFunc(w.events, func(a, b event) int { return a.at.Compare(b.at) })
	w.events = append(w.events, event{at: time.Now().Add(d), kind: "end"})
}

func (w *world) on(kind string) bool { return w.kinds[kind] }

// fate implements rules.
func (w *world) fate(k *ask) (f fate, slow time.Duration, frozen bool) {
	was := k.failed[k.channel]
	if w.script != nil {
		return w.script(k)
	}
	if was.burst > 0 {
		return fate{kind: notApplied}, 0, false
	}
	if w.quiet {
		return f, 0, false
	}
	if bytes := verb(k.what); w.pace > 0 && (bytes == "get" || bytes == "write") && w.rng.Float64() < 0.3 {
		return f, time.Duration(w.rng.Int64N(int64(w.pace))).Round(time.Millisecond), false
	}
	if w.on("short") && strings.HasPrefix(k.what, "write") && w.rng.Float64() < 0.5 {
		return f, time.Duration(20+w.rng.IntN(80)) * time.Second, false
	}
	if k.channel == "list" && w.rng.Float64() < 0.5 {
		return f, time.Duration(1+w.rng.IntN(20)) * time.Second, false
	}
	hit := func(kind string, share float64) bool {
		if slices.Contains(w.theme, kind) {
			share *= 3
		}
		return w.on(kind) && w.rng.Float64() < w.p*share
	}
	again := was.streak < 4
	switch {
	case hit("crash", 0.7):
		return fate{kind: []string{crashBefore, crashAfter}[w.rng.IntN(2)]}, 0, false
	case again && hit("fail", 1):
		return fate{kind: notApplied}, 0, false
	case again && hit("lost", 1):
		return fate{kind: answerLost}, 0, false
	case again && hit("outage", 0.5):
		k.failed[k.channel] = failed{streak: was.streak, burst: 4 - was.streak}
		return fate{kind: notApplied}, 0, false
	case rivals[verb(k.what)] != nil && hit("freeze", 3), hit("freeze", 0.3):
		return f, []time.Duration{time.Minute, 4 * time.Minute, 13 * time.Minute, 45 * time.Minute}[w.rng.IntN(4)], true
	case hit("slow", 1):
		return f, []time.Duration{time.Second, 40 * time.Second, 100 * time.Second, 4 * time.Minute}[w.rng.IntN(4)], false
	}
	return f, 0, false
}

// rivals are the effects that another's must not come after, as if nothing had
// happened meanwhile: with each, what it waits for when it is frozen.
var rivals = map[string][]string{
	"Publish": {"Lease", "Publish", "Advance"}, "Advance": {"Lease", "Advance", "Finish", "Conclude"}, "Finish": {"Lease", "Finish", "Conclude"},
	"Fault": {"Begin", "Fault", "RestDone", "Recovered"}, "RestDone": {"Begin", "Fault", "RestDone"}, "Recovered": {"Begin", "Recovered"},
	"Pause": {"Begin", "Pause", "RestDone"}, "Done": {"Begin", "Dead", "Conclude", "Prove"}, "Dead": {"Redrive", "Begin", "Done"},
	"GiveBack": {"Begin", "Resume"}, "Halt": {"Resume", "Halt", "Conclude"}, "Begin": {"Halt", "Conclude", "Begin"},
	"Conclude": {"Redrive", "Done", "Dead", "Begin"}, "Retire": {"Redrive", "Start"}, "put": {"Redrive", "Start"}, "announce": {"Redrive", "Start"},
	"Sent": {"Pause"}, "Swept": {"Resume", "Redrive"}, "Resend": {"Begin", "Redrive"}, "Watched": {"Begin", "Redrive"}, "Unfinished": {"Begin"},
	"Overwritten": {"Begin", "Enter", "Overwritten", "RestDone"}, "stat": {"Enter", "put", "Again"}, "Again": {"Keys", "KeySent", "Again", "Enter"},
	"KeySent": {"Again"}, "Keys": {"Again"}, "Enter": {"Overwritten", "Enter"}, "Claimed": {"Overwritten", "Enter"}, "Look": {"Done", "Dead", "Overwritten"},
	"Stale": {"Begin", "Pause", "Done"}, "Repeat": {"Begin", "Pause", "Done", "Repeat"},
	"send": {"Pause", "Done", "Conclude", "Advance"}, "ack": {"Resume", "Begin"}, "write": {"Begin", "Done"},
}

// stir wakes, now and then, who was frozen until something like that happened.
func (w *world) stir(a *actor, what string) {
	if w.quiet {
		return
	}
	v := verb(what)
	for _, k := range w.frozen() {
		if k.actor != a && slices.Contains(rivals[verb(k.what)], v) && w.rng.Float64() < 0.4 {
			w.thaw(k)
		}
	}
}

// eager has an operator come soon after there is something to do for one.
func (w *world) eager(kind string) {
	if !w.quiet && w.script == nil && w.on(kind) && w.eagers < 12 && w.rng.Float64() < 0.7 {
		w.eagers++
		soon := []time.Duration{5 * time.Second, time.Minute, 10 * time.Minute}[w.rng.IntN(3)]
		w.plan(event{at: time.Now().Add(time.Duration(w.rng.Int64N(int64(soon))).Round(time.Second)), kind: kind})
	}
}

// at has something happen that long after the beginning.
func (w *world) at(d time.Duration, do func()) {
	w.plan(event{at: epoch.Add(d), kind: "the story goes on", make: do})
}

func (w *world) plan(e event) {
	w.events = append(w.events, e)
	slices.SortStableFunc(w.events, func(a, b event) int { return a.at.Compare(b.at) })
}

func verb(what string) string {
	v, _, _ := strings.Cut(what, " ")
	return v
}

// happenings are the kinds that happen at times of their own.
var happenings = map[string]func(w *world){
	"purge": func(w *world) { w.queue.lose(slices.Clone(w.queue.messages)...) },
	"expire": func(w *world) {
		if m := w.queue.messages; len(m) > 0 {
			w.queue.lose(m[w.rng.IntN(len(m))])
		}
	},
	"off":       func(w *world) { w.mapped = !w.mapped },
	"sink down": func(w *world) { w.sink.down = !w.sink.down },
	"denied":    func(w *world) { w.store.denied = !w.store.denied },
	"reject":    func(w *world) { w.sink.rejects = !w.sink.rejects },
	"spoil":     spoil,
	"change":    change,
	"resume":    func(w *world) { w.operator("resume") },
	"redrive":   func(w *world) { w.operator("redrive") },
	"cancel":    func(w *world) { w.operator("cancel") },
	"again":     func(w *world) { w.operator("start") },
	"second lister": func(w *world) {
		w.spawn("lister", w.timeout, func(ctx context.Context, a *actor) { w.lists(ctx, a, w.meta().Run) })
	},
	"second tick": func(w *world) { w.ticks() },
	"put":         func(w *world) { w.put() },
	"put back":    func(w *world) { w.putBack() },
	"delete": func(w *world) {
		if v := w.anyVersion(); v != nil {
			delete(w.store.current, v.Key)
		}
	},
	"undecodable": func(w *world) {
		if v := w.anyVersion(); v != nil && w.rng.IntN(3) > 0 {
			w.store.faults[v.ETag] = badness{failure.Undecodable, w.rng.IntN(v.records)}
		} else {
			clear(w.store.faults)
		}
	},
}

func (w *world) happen(e event) {
	switch {
	case e.make != nil:
		e.make()
	case e.kind == "end":
		w.quiet, w.mapped, w.events = true, true, nil
	default:
		happenings[e.kind](w)
	}
}

// spoil makes a version bad, or mends all.
func spoil(w *world) {
	if w.rng.IntN(3) == 0 {
		clear(w.store.faults)
		return
	}
	v := w.anyVersion()
	if v == nil {
		return
	}
	reason := []failure.Reason{failure.NotFound, failure.ETagDrift, failure.Undecodable, failure.Undecodable}[w.rng.IntN(4)]
	w.store.faults[v.ETag] = badness{reason, w.rng.IntN(v.records)}
}

func (w *world) anyVersion() *version {
	keys := slices.Sorted(maps.Keys(w.store.current))
	if len(keys) == 0 {
		return nil
	}
	return w.store.current[keys[w.rng.IntN(len(keys))]]
}

// change puts, overwrites or deletes an object.
func change(w *world) {
	v := w.anyVersion()
	switch n := w.rng.IntN(3); {
	case n == 0 || v == nil:
		w.object(fmt.Sprintf("k%02d", 1+2*w.rng.IntN(9)))
	case n == 1:
		w.object(v.Key)
	default:
		delete(w.store.current, v.Key)
		w.laws.changed[v.Key] = time.Now()
	}
}
