package report

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/spate-go/spate/pkg/failure"
)

// shown is how many dead and how many missing units the text names.
const shown = 20

// Text writes the report for people.
func (r *Report) Text(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "job %s, run %d: %s in %s\n", r.Job, r.Run, r.State, r.Ended.Sub(r.Started).Round(time.Millisecond))
	if r.Reason != "" {
		fmt.Fprintf(b, "  reason    %s\n", r.Reason)
	}
	o, s := r.Objects, r.Objects.Skipped
	fmt.Fprint(b, "  objects   ")
	if !r.Continuous {
		fmt.Fprintf(b, "%s listed, ", humanize.Comma(o.Listed))
	}
	fmt.Fprintf(b, "%s done, %s failed", humanize.Comma(o.Done), humanize.Comma(o.Failed))
	for _, k := range []struct {
		n    int64
		what string
	}{{o.Overwritten, "overwritten"}, {s.Empty, "empty"}, {s.Directory, "directory markers"}, {s.Archived, "archived, skipped"}, {s.Excluded, "excluded"}} {
		if k.n > 0 {
			fmt.Fprintf(b, ", %s %s", humanize.Comma(k.n), k.what)
		}
	}
	fmt.Fprint(b, "\n  units     ")
	if !r.Continuous {
		fmt.Fprintf(b, "%d planned, ", r.Units.Planned)
	}
	fmt.Fprintf(b, "%d done, %d dead, %d missing\n", r.Units.Done, r.Units.Dead, r.Units.Missing)
	if n := r.Units.Unlisted; n > 0 {
		fmt.Fprintf(b, "  unlisted  %s of earlier runs that this listing no longer contains: rows of their objects still listed are in the sink twice\n", count(n, "unit"))
	}
	c := r.Records
	fmt.Fprintf(b, "  records   %s in, %s out, %s filtered, %s rejected", humanize.Comma(c.In), humanize.Comma(c.Out), humanize.Comma(c.Filtered), humanize.Comma(c.Rejected))
	if c.Expanded > 0 {
		fmt.Fprintf(b, ", %s expanded", humanize.Comma(c.Expanded))
	}
	fmt.Fprintf(b, "\n  bytes     %s read, %s decoded\n", humanize.IBytes(uint64(r.Bytes.Read)), humanize.IBytes(uint64(r.Bytes.Decoded)))
	for _, name := range slices.Sorted(maps.Keys(r.Sinks)) {
		n := r.Sinks[name]
		fmt.Fprintf(b, "  sink      %s: %s in %s, %s\n", name, count(n.Records, "record"), count(n.Blocks, "block"), humanize.IBytes(uint64(n.Bytes)))
	}
	if r.Cost != nil {
		fmt.Fprintf(b, "  cost      %s GB-s, %s requests, about $%.2f\n", humanize.CommafWithDigits(r.Cost.GBSeconds, 1), humanize.Comma(r.Cost.Requests), r.Cost.Dollars)
	}
	for _, d := range r.Dead[:min(shown, len(r.Dead))] {
		writeDead(b, d)
	}
	more(b, "dead", r.Units.Dead, len(r.Dead))
	for _, m := range r.Missing[:min(shown, len(r.Missing))] {
		fmt.Fprintf(b, "  missing   the unit that begins at %q", m.Key)
		if m.Reason != failure.Missing {
			fmt.Fprintf(b, " (%s)", m.Reason)
		}
		fmt.Fprintln(b)
	}
	more(b, "missing", r.Units.Missing, len(r.Missing))
	return b.Flush()
}

// writeDead names a dead unit's objects, each with what is bad about it; where
// the unit's own failure kept all of them, that once.
func writeDead(w *bufio.Writer, d Dead) {
	if len(d.Objects) == 0 || d.Objects[0].Reason == "" {
		fmt.Fprintf(w, "  dead      %s after %s: %s\n", d.Reason, count(d.Attempts, "attempt"), strings.TrimSpace(d.Detail))
	}
	for _, o := range d.Objects {
		if o.Reason == "" {
			fmt.Fprintf(w, "              %q\n", o.Key)
			continue
		}
		fmt.Fprintf(w, "  dead      %q: %s from record %d on, after %s: %s\n",
			o.Key, o.Reason, *o.Record, count(d.Attempts, "attempt"), strings.TrimSpace(o.Detail))
	}
}

// more says how many units were not shown, and how many of them the JSON names.
func more(w *bufio.Writer, what string, all, named int) {
	switch rest := all - min(shown, named); {
	case rest <= 0:
	case named == all:
		fmt.Fprintf(w, "  %-9s … and %s more, in the JSON report\n", what, humanize.Comma(int64(rest)))
	default:
		fmt.Fprintf(w, "  %-9s … and %s more, %s of them in the JSON report\n", what, humanize.Comma(int64(rest)), humanize.Comma(int64(named-min(shown, named))))
	}
}

// count is a number and its noun.
func count[T int | int64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return humanize.Comma(int64(n)) + " " + noun + "s"
}
