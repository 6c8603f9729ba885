package intake

import (
	"context"
	"strings"

	"github.com/spate-go/spate/pkg/event"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/unit"
)

// batch is the messages that came in together.
type batch struct {
	messages []message
	wants    []*want // one for each object that is announced
}

// message is a message and what becomes of its records: each is in one of the
// three lists.
type message struct {
	Message
	told    []told
	ignored []failure.Reason
	bad     []refusal
	objects int   // of told, that went into units that were sent; set by settle
	err     error // why the message must come again
}

// told is a record that announces an object.
type told struct {
	*want
	record event.Record
}

// refusal is a body that cannot be understood.
type refusal struct {
	body []byte
	err  error
}

// decode decodes messages, and settles the records for which a look at the
// event is enough.
func (in *Intake) decode(ms []Message) *batch {
	b := &batch{messages: make([]message, len(ms))}
	for i := range ms {
		m := &b.messages[i]
		m.Message = ms[i]
		records, err := event.Decode(m.Body)
		if err != nil {
			m.bad = append(m.bad, refusal{m.Body, err})
		}
		for _, r := range records {
			switch {
			case r.Err != nil:
				m.bad = append(m.bad, refusal{r.Body(), r.Err})
			case r.Ignored != "":
				m.ignored = append(m.ignored, r.Ignored)
			default:
				w := in.announced(&r, m.Receives)
				m.told = append(m.told, told{w, r})
				b.wants = append(b.wants, w)
			}
		}
	}
	return b
}

// announced is what an event asks for. The event's time stands for when the
// object was last modified: it is a moment later and, for an object uploaded in
// parts, after the whole upload.
func (in *Intake) announced(r *event.Record, receives int) *want {
	w := &want{
		Object:    unit.Object{Key: r.Key, Size: r.Size, ETag: r.ETag, Version: r.Version, LastModified: r.Time},
		sequencer: r.Sequencer,
		again:     receives > 1,
	}
	switch {
	case r.Bucket != in.opts.Bucket:
		w.ignore(failure.OtherBucket)
	case !strings.HasPrefix(r.Key, in.opts.Filter.Prefix):
		w.ignore(failure.OutsidePrefix)
	default:
		in.selects(w)
	}
	return w
}

// settle decides for each message what became of its records, once all wants
// are settled. An object that several records announce counts for the first one
// whose message is through; for the others it is a repetition.
func (b *batch) settle() {
	for i := range b.messages {
		m := &b.messages[i]
		for _, t := range m.told {
			w := t.stands()
			switch {
			case w.err == nil:
			case failure.Is(w.err, failure.Member): // no later try would fare better
				m.bad = append(m.bad, refusal{t.record.Body(), w.err})
			case m.err == nil:
				m.err = w.err
			}
		}
	}
	counted := map[*want]bool{}
	for i := range b.messages {
		m := &b.messages[i]
		for _, t := range m.told {
			w := t.stands()
			switch {
			case m.err != nil || w.err != nil:
			case w.reason != "":
				m.ignored = append(m.ignored, w.reason)
			case t.replaced:
				m.ignored = append(m.ignored, failure.Overwritten)
			case counted[w]:
				m.ignored = append(m.ignored, failure.Repeated)
			default:
				counted[w] = true
				m.objects++
			}
		}
	}
}

// failed lists the messages that must come again.
func (b *batch) failed() []Failed {
	failed := []Failed{}
	for i := range b.messages {
		if m := &b.messages[i]; m.err != nil {
			failed = append(failed, Failed{m.ID, m.err})
		}
	}
	return failed
}

// count counts the records of the messages that are through. A message that
// failed comes again, and counts then.
func (in *Intake) count(b *batch, units int) {
	in.metrics.units.Add(int64(units))
	for i := range b.messages {
		m := &b.messages[i]
		if m.err != nil {
			continue
		}
		in.metrics.events.Add(int64(m.objects + len(m.ignored) + len(m.bad)))
		in.metrics.objects.Add(int64(m.objects))
		in.metrics.ignored[failure.UnparsableEvent].Add(int64(len(m.bad)))
		for _, r := range m.ignored {
			in.metrics.ignored[r].Add(1)
		}
	}
}

// log writes one line for the batch, and another one if some of it failed.
func (in *Intake) log(ctx context.Context, b *batch, units int, err error) {
	var objects, refused, failed int
	ignored := map[failure.Reason]int{}
	for i := range b.messages {
		m := &b.messages[i]
		if m.err != nil {
			failed++
			if err == nil {
				err = m.err
			}
			continue
		}
		objects += m.objects
		for _, r := range m.ignored {
			ignored[r]++
		}
		refused += len(m.bad)
	}
	log := in.opts.Log.With("job", in.opts.Job)
	log.InfoContext(ctx, "events taken in", "messages", len(b.messages), "objects", objects, "units", units,
		"ignored", ignored, "refused", refused, "failed", failed)
	if failed > 0 {
		log.ErrorContext(ctx, "messages failed and come again", "failed", failed, "error", err)
	}
}
