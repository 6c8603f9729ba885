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
)

// shown is how many dead or missing units the text names; the JSON has all.
const shown = 20

// Text writes the report for people.
func (r *Report) Text(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "job %s, run %d: %s in %s\n", r.Job, r.Run, r.State, r.Ended.Sub(r.Started).Round(time.Millisecond))
	if r.Reason != "" {
		fmt.Fprintf(b, "  reason    %s\n", r.Reason)
	}
	o, s := r.Objects, r.Objects.Skipped
	fmt.Fprintf(b, "  objects   %s listed, %s done, %s failed", humanize.Comma(o.Listed), humanize.Comma(o.Done), humanize.Comma(o.Failed))
	for _, k := range []struct {
		n    int64
		what string
	}{{s.Empty, "empty"}, {s.Directory, "directory markers"}, {s.Archived, "archived, skipped"}, {s.Excluded, "excluded"}} {
		if k.n > 0 {
			fmt.Fprintf(b, ", %s %s", humanize.Comma(k.n), k.what)
		}
	}
	fmt.Fprintf(b, "\n  units     %d planned, %d done, %d dead, %d missing\n", r.Units.Planned, r.Units.Done, r.Units.Dead, r.Units.Missing)
	c := r.Records
	fmt.Fprintf(b, "  records   %s in, %s out, %s filtered, %s rejected", humanize.Comma(c.In), humanize.Comma(c.Out), humanize.Comma(c.Filtered), humanize.Comma(c.Rejected))
	if c.Expanded > 0 {
		fmt.Fprintf(b, ", %s expanded", humanize.Comma(c.Expanded))
	}
	fmt.Fprintf(b, "\n  bytes     %s read, %s decoded\n", humanize.IBytes(uint64(r.Bytes.Read)), humanize.IBytes(uint64(r.Bytes.Decoded)))
	for _, name := range slices.Sorted(maps.Keys(r.Sinks)) {
		n := r.Sinks[name]
		fmt.Fprintf(b, "  sink      %s: %s records in %s blocks, %s\n", name, humanize.Comma(n.Records), humanize.Comma(n.Blocks), humanize.IBytes(uint64(n.Bytes)))
	}
	for i, d := range r.Dead {
		if i == shown {
			fmt.Fprintf(b, "  dead      … and %d more, in the JSON report\n", len(r.Dead)-shown)
			break
		}
		writeDead(b, d)
	}
	for i, m := range r.Missing {
		if i == shown {
			fmt.Fprintf(b, "  missing   … and %d more, in the JSON report\n", len(r.Missing)-shown)
			break
		}
		fmt.Fprintf(b, "  missing   the unit that begins at %q (%s)\n", m.Key, m.Reason)
	}
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

// count is a number and its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return humanize.Comma(int64(n)) + " " + noun + "s"
}
