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
		fmt.Fprintf(b, "  dead      %s after %d attempts: %s\n", d.Reason, d.Attempts, strings.TrimSpace(d.Detail))
		for _, o := range d.Objects {
			fmt.Fprintf(b, "              %q %s%s\n", o.Key, o.ETag, recordOf(d))
		}
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

func recordOf(d Dead) string {
	if d.Record == nil {
		return ""
	}
	return fmt.Sprintf(" from record %d on", *d.Record)
}
