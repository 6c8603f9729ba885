package reader

import (
	"context"
	"fmt"
	"log/slog"
	"time"
	"unicode/utf8"
)

// outcome is what a delivery came to.
type outcome string

const (
	done      outcome = "done"
	paused    outcome = "paused"
	skipped   outcome = "skipped"    // nothing was left to do
	stopped   outcome = "stopped"    // from outside; no attempt
	halted    outcome = "halted"     // acked because the job is
	haltedJob outcome = "halted_job" // this delivery set the halt flag
	retried   outcome = "retry"
	fenced    outcome = "fenced"
	refused   outcome = "refused" // failed without an attempt
	dead      outcome = "dead"
)

func (a *attempt) level() slog.Level {
	switch a.outcome {
	case done, paused, skipped, stopped, halted:
		return a.opt.Level
	case haltedJob, dead:
		return slog.LevelError
	case retried, fenced, refused:
	}
	return slog.LevelWarn
}

// Bounds that keep the line to about 1 KB, in bytes.
const (
	keyBytes   = 160
	errorBytes = 320
)

// log writes the delivery's one line.
func (a *attempt) log(ctx context.Context, err error) {
	level := a.level()
	if !a.opt.Log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("job", clip(a.ref.Job, keyBytes)), slog.Int("run", a.ref.Run), slog.String("unit", clip(string(a.ref.ID), keyBytes)),
		slog.String("outcome", string(a.outcome)),
	}
	if a.reason != "" {
		attrs = append(attrs, slog.String("reason", string(a.reason)))
	}
	attrs = append(attrs, slog.Int("attempt", a.item.Attempts), slog.Int("receives", a.delivery.Receives))
	if u := a.unit; u != nil {
		attrs = append(attrs, slog.Int("objects", len(u.Objects)), slog.String("key", clip(u.Objects[0].Key, keyBytes)))
		if u.Range != nil {
			attrs = append(attrs, slog.String("range", fmt.Sprintf("%d-%d", u.Range.Start, u.Range.End)))
		}
	}
	c := a.added
	var blocks int64
	for _, s := range c.Sinks {
		blocks += s.Blocks
	}
	if n := len(a.faulty) - len(a.bad()); n > 0 {
		attrs = append(attrs, slog.Int("overwritten", n))
	}
	attrs = append(attrs,
		slog.Int64("in", c.In), slog.Int64("out", c.Out), slog.Int64("filtered", c.Filtered), slog.Int64("rejected", c.Rejected),
		slog.Int64("bytes_read", c.BytesRead), slog.Int64("bytes_decoded", c.BytesDecoded), slog.Int64("blocks", blocks),
		slog.Duration("duration", time.Since(a.began).Round(time.Millisecond)))
	if err == nil {
		err = a.halted
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", clip(err.Error(), errorBytes)))
	}
	a.opt.Log.LogAttrs(ctx, level, "unit", attrs...)
}

// clip cuts s to what fits into n bytes of a log line, in which everything but
// plain text is escaped.
func clip(s string, n int) string {
	const escape = len(`\u0000`)
	for i, r := range s {
		cost := utf8.RuneLen(r)
		if r < ' ' || r == utf8.RuneError || r == '"' || r == '\\' {
			cost = escape
		}
		if n -= cost; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}
