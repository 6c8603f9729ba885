package reader_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

func TestEveryDeliveryHasOneLineOfAKilobyteAtMost(t *testing.T) {
	fail := func(s failure.Scope, r failure.Reason) func(k *kit) {
		return func(k *kit) {
			k.pipe.rest = func(context.Context, []unit.Fault, func(context.Context, unit.Fault) error) error {
				return failure.Errorf(s, r, "%s", strings.Repeat("\x01 long ", 9999))
			}
		}
	}
	for outcome, c := range map[string]struct {
		level, reason string
		setup         func(k *kit)
	}{
		"done":       {"DEBUG", "", func(*kit) {}},
		"paused":     {"DEBUG", "", func(k *kit) { k.pipe.pause = []unit.Cursor{{Segment: 1}} }},
		"skipped":    {"DEBUG", "", func(k *kit) { _ = k.deliver(k.t.Context()) }},
		"halted":     {"DEBUG", "denied", func(k *kit) { k.halt(failure.Denied) }},
		"halted_job": {"ERROR", "denied", fail(failure.Job, failure.Denied)},
		"retry":      {"WARN", "sink_rejected", fail(failure.Unit, failure.SinkRejected)},
		"dead":       {"ERROR", "sink_rejected", func(k *kit) { fail(failure.Unit, failure.SinkRejected)(k); k.n = attempts - 1 }},
		"refused":    {"WARN", "unsupported_descriptor", func(k *kit) { k.body = []byte(`{"v":99}`) }},
		"stopped": {"DEBUG", "", func(k *kit) {
			k.pipe.rest = func(context.Context, []unit.Fault, func(context.Context, unit.Fault) error) error {
				k.stop()
				return context.Canceled
			}
		}},
	} {
		t.Run(outcome, func(t *testing.T) {
			k := newKit(t)
			k.unit.Objects[0].Key = strings.Repeat("\x02", 500) + strings.Repeat("é", 260)
			unit.Sort(k.unit.Objects)
			k.again()
			var lines bytes.Buffer
			o := quiet()
			c.setup(k)
			o.Level = slog.LevelDebug
			o.Log = slog.New(slog.NewJSONHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
			k.use(o)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			k.stop = cancel
			_ = k.deliver(ctx)
			if n := lines.Len(); bytes.Count(lines.Bytes(), []byte("\n")) != 1 || n > 1024+256 {
				t.Errorf("%d bytes:\n%s", n, &lines)
			}
			var line struct {
				Level, Outcome, Reason, Job, Unit, Key string
				In, Blocks, Receives, Objects          *int
			}
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				t.Fatal(err)
			}
			if line.Outcome != outcome || line.Level != c.level || line.Reason != c.reason || line.Job != "j" || line.Unit == "" || line.In == nil || line.Receives == nil {
				t.Errorf("%s", &lines)
			}
		})
	}
}

// What is no message of ours goes to the dead letters, and no way else.
func TestForeignMessagesFailAndChangeNothing(t *testing.T) {
	k := newKit(t)
	body, err := k.unit.Encode()
	if err != nil {
		t.Fatal(err)
	}
	stranger := *k.unit
	stranger.Job = "stranger"
	other, err := stranger.Encode()
	if err != nil {
		t.Fatal(err)
	}
	later := *k.unit
	later.Run = 2
	next, err := later.Encode()
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	k.through(quiet(), func(_ string, apply func() error) error {
		calls++
		return apply()
	})
	for name, m := range map[string]feed.Message{
		"nothing":                     {},
		"a body without a name":       {Job: "j", Body: body},
		"a name without a body":       {ID: "x"},
		"text":                        {ID: "x", Job: "j", Body: []byte("hello")},
		"a unit of an unknown job":    {ID: k.unit.ID(), Job: "j", Body: other},
		"no unit of an unknown job":   {ID: "x", Job: "stranger", Body: []byte("{}")},
		"a unit that was not listed":  {ID: "x", Job: "j", Body: body},
		"a unit of a run to come":     {ID: k.unit.ID(), Job: "j", Body: next},
		"a test event of the storage": {Body: []byte(`{"Event":"s3:TestEvent"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			calls = 0
			for n := range attempts {
				err := k.reader.Handle(t.Context(), feed.Delivery{Message: m, Receives: n + 1, Cap: attempts})
				if err == nil || feed.Delay(err) <= 0 {
					t.Errorf("got %v, again after %v", err, feed.Delay(err))
				}
			}
			if m.ID == "" && calls > 0 {
				t.Errorf("the ledger was asked %d times about a unit without a name", calls)
			}
			if i := k.item(); i.Serial != 0 || len(k.pipe.read) > 0 || k.meta().Halt != nil {
				t.Errorf("item %+v, read %v", i, k.pipe.read)
			}
		})
	}
}

func TestAUnitOfARunToComeIsNotAckedByTheEndOfTheLastOne(t *testing.T) {
	k := newKit(t)
	if err := k.ledger.Conclude(t.Context(), "j", 1, 0, ledger.Cancelled); err != nil {
		t.Fatal(err)
	}
	k.unit.Run = 2
	if err := k.deliver(t.Context()); err == nil {
		t.Error("acked")
	}
}

func TestThePipelineThatWorkedIsNamedOnce(t *testing.T) {
	k := newKit(t)
	o := quiet()
	o.Pipeline = "chain-1"
	joined := 0
	k.use(o)
	k.through(o, func(call string, apply func() error) error {
		if call == "joined" {
			joined++
		}
		return apply()
	})
	k.pipe.rest = failing
	_ = k.deliver(t.Context())
	k.pipe.rest = nil
	if err := k.deliver(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p := k.meta().Pipelines; joined != 1 || len(p) != 1 || p[0] != "chain-1" {
		t.Errorf("joined %d times: %v", joined, p)
	}
}

func TestAPipelineThatCannotBeNamedIsNoAttempt(t *testing.T) {
	k := newKit(t)
	o := quiet()
	o.Pipeline = "chain-1"
	k.through(o, func(call string, apply func() error) error {
		if call == "joined" {
			return failure.Errorf(failure.Job, failure.Denied, "denied")
		}
		return apply()
	})
	if err := k.deliver(t.Context()); err == nil || len(k.pipe.read) > 0 {
		t.Errorf("got %v, read %v", err, k.pipe.read)
	}
	if i := k.item(); i.Attempts != 0 {
		t.Errorf("item %+v", i)
	}
}

// A container serves one unit after the other, whatever became of those before.
func TestFiftyUnitsInOneReaderLeaveNothingBehind(t *testing.T) {
	k := newKit(t)
	var units []*unit.Unit
	for n := range 50 {
		units = append(units, &unit.Unit{Job: "j", Bucket: "b", Origin: unit.FromList, Objects: []unit.Object{
			{Key: strings.Repeat("k", n+1), Size: 1, ETag: `"1"`}, {Key: strings.Repeat("k", n+1) + "z", Size: 1, ETag: `"1"`},
		}})
	}
	k.relist(units...)
	o := quiet()
	o.Cache, o.Pipeline, o.MemoryMB = 1<<40, "chain-1", 128
	k.use(o)
	for n, u := range units {
		k.unit, k.n = u, 0
		failed := true
		switch n % 5 {
		case 0:
			k.pipe.rest = failing
		case 1:
			k.pipe.rest = func(context.Context, []unit.Fault, func(context.Context, unit.Fault) error) error { panic("boom") }
		case 2:
			k.pipe.rest = func(ctx context.Context, _ []unit.Fault, found func(context.Context, unit.Fault) error) error {
				return found(ctx, unit.Fault{Member: 1, Record: 1, Framed: 1, Reason: failure.NotFound})
			}
		case 3:
			k.pipe.pause = []unit.Cursor{{Segment: 1, Record: 1}}
			failed = false
		case 4:
			k.pipe.rest = func(context.Context, []unit.Fault, func(context.Context, unit.Fault) error) error {
				return errors.Join(errors.New("one"), failure.Errorf(failure.Unit, failure.SinkRejected, "two"))
			}
		}
		if err := k.deliver(t.Context()); (err != nil) != failed {
			t.Fatalf("unit %d: %v", n, err)
		}
		k.pipe.rest = nil
		if err := k.deliver(t.Context()); err != nil {
			t.Fatalf("unit %d: %v", n, err)
		}
	}
	if c := k.census(); c.Done != 50 || c.Counts.In != 10*30+11*10+20*10 {
		t.Errorf("census %+v", c)
	}
	if p := k.meta().Pipelines; len(p) != 1 || k.meta().Halt != nil {
		t.Errorf("meta %+v", k.meta())
	}
}
