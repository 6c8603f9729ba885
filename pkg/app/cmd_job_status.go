package app

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// jobStatus is what spate job status prints of a job, and spate job list of each.
type jobStatus struct {
	Job   string       `json:"job"`
	Run   int          `json:"run"`
	State ledger.State `json:"state"`
	// Source is what the run reads, if that is not what the pipeline file says.
	Source  *control.Selection `json:"source,omitempty"`
	Halt    *jobHalt           `json:"halt,omitempty"`
	Started time.Time          `json:"started_at"`
	Ended   time.Time          `json:"ended_at,omitzero"`
	Listed  bool               `json:"listed"` // the listing is complete: what is planned is final
	Units   statusUnits        `json:"units"`
	Objects statusObjects      `json:"objects"`
	Bytes   statusBytes        `json:"bytes"`
	Records int64              `json:"records"`
	Resends int                `json:"resends"`
	// SendDue: the schedule is about to send every open unit.
	SendDue bool `json:"send_due"`
	// Live is about a continuous job, which lists nothing.
	Live *statusLive `json:"live,omitempty"`
	// Feed is about all jobs of the stack; nil if it is not known.
	Feed *statusFeed `json:"feed,omitempty"`
}

type jobHalt struct {
	Reason failure.Reason `json:"reason"`
	Detail string         `json:"detail"`
	At     time.Time      `json:"at"`
}

type statusUnits struct {
	Planned int `json:"planned"`
	Done    int `json:"done"`
	Dead    int `json:"dead"`
}

type statusObjects struct {
	Listed int64 `json:"listed"` // without those that were skipped
	Done   int64 `json:"done"`
}

type statusBytes struct {
	Listed int64 `json:"listed"`
	Done   int64 `json:"done"`
}

// statusFeed counts messages, approximately.
type statusFeed struct {
	Ready    int `json:"ready"`
	Delayed  int `json:"delayed"`
	InFlight int `json:"in_flight"`
	Dead     int `json:"dead"`
}

func statusOf(s control.Snapshot) jobStatus {
	m, p := s.Meta, s.Progress
	j := jobStatus{
		Job: m.Job, Run: m.Run, State: m.State, Started: m.Started, Ended: m.Ended, Listed: m.Listed,
		Units:   statusUnits{Planned: m.Planned, Done: p.Done, Dead: p.Dead},
		Objects: statusObjects{Listed: m.Inventory.Objects, Done: s.Objects()},
		Bytes:   statusBytes{Listed: m.Inventory.Bytes, Done: s.Bytes()},
		Records: p.Records, Resends: m.Resends, SendDue: m.Ask != m.Swept && !m.State.Ended(),
	}
	if m.Halt != nil {
		j.Halt = haltOf(*m.Halt)
	}
	if m.Continuous {
		j.live(s, time.Now())
	}
	var source control.Selection
	if json.Unmarshal([]byte(m.Source), &source) == nil && selects(source) {
		j.Source = &source
	}
	return j
}

// selects reports whether s says anything.
func selects(s control.Selection) bool {
	return s.URL != "" || s.StartAfter != "" || len(s.Include)+len(s.Exclude) > 0 || !s.Before.IsZero()
}

// inWords describes s on one line.
func inWords(s *control.Selection) string {
	parts := []string{cmp.Or(s.URL, "of the pipeline file")}
	if len(s.Include) > 0 {
		parts = append(parts, "include "+strings.Join(s.Include, " "))
	}
	if len(s.Exclude) > 0 {
		parts = append(parts, "exclude "+strings.Join(s.Exclude, " "))
	}
	if s.StartAfter != "" {
		parts = append(parts, fmt.Sprintf("after %q", s.StartAfter))
	}
	if !s.Before.IsZero() {
		parts = append(parts, "modified before "+s.Before.UTC().Format(time.RFC3339))
	}
	return strings.Join(parts, ", ")
}

func haltOf(h ledger.Halt) *jobHalt { return &jobHalt{h.Reason, oneLine(h.Detail), h.At} }

func jobListCommand(s *stackFlags, std stdio) *cobra.Command {
	var as form
	c := &cobra.Command{
		Use:   "list",
		Short: "List the jobs that have not ended",
		Long: `List shows every live job of the stack: those that list or run, and those whose
report is being written. One that has ended is shown by spate job status JOB.

Exit codes: 0 they are listed; 1 they cannot be read; 2 the command line is wrong;
130 interrupted.`,
		Example: "  spate job list --stack logs\n  spate job list --stack logs -o json",
		Args:    noArgument,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.ask(c.Context(), std, "job list", func(stack *control.Control) error {
				jobs, err := stack.List(c.Context())
				if err != nil {
					return err
				}
				all := make([]jobStatus, 0, len(jobs))
				for _, j := range jobs {
					all = append(all, statusOf(j))
				}
				if as == asJSON {
					return writeJSON(std.stdout, all)
				}
				return table(std.stdout, all)
			})
		},
	}
	formFlag(c, &as)
	return c
}

func jobStatusCommand(s *stackFlags, std stdio) *cobra.Command {
	var (
		key, etag string
		as        form
	)
	c := &cobra.Command{
		Use:   "status JOB",
		Short: "Show where a job stands, and what to do next",
		Long: `Status shows the present run of a job, or its last one. Counts are for display: they
may be a little behind. What proves that a job is complete is its report.

Of a continuous job it shows the lag, which is the age of the unit that has waited
longest, what went through in the last minute, and what was given up, by reason.
--key KEY tells whether an object was ingested, when, and in which unit.

Exit codes: 0 it is shown, whatever it is; 1 it cannot be read, or there is no such
job; 2 the command line is wrong; 130 interrupted.`,
		Example:           "  spate job status access-logs --stack logs\n  spate job status access-logs --stack logs -o json\n  spate job status access-logs-live --stack logs --key 2026/11/30/00.json.gz",
		Args:              oneJob,
		ValidArgsFunction: s.completeJob(std),
		RunE: func(c *cobra.Command, args []string) error {
			if key == "" && etag != "" {
				return errors.New("--etag names a version of --key: give --key too")
			}
			return s.ask(c.Context(), std, "status of job "+args[0], func(stack *control.Control) error {
				if key != "" {
					return objectStatus(c.Context(), stack, args[0], key, etag, as, std)
				}
				found, err := stack.Status(c.Context(), args[0])
				if err != nil {
					return err
				}
				j := statusOf(found)
				depth, err := stack.Depth(c.Context())
				if err != nil { // what is known of the job is shown all the same
					fmt.Fprintf(std.stderr, "spate: note: %s\n", oneLine(err.Error()))
				}
				if depth != nil {
					j.Feed = &statusFeed{depth.Ready, depth.Delayed, depth.InFlight, depth.Dead}
				}
				if as == asJSON {
					return writeJSON(std.stdout, j)
				}
				return j.text(std.stdout, time.Now())
			})
		},
	}
	c.Flags().StringVar(&key, "key", "", "show what became of the object at `KEY`, of a continuous job")
	c.Flags().StringVar(&etag, "etag", "", "of its version with that `ETAG`, in place of the present one")
	formFlag(c, &as)
	return c
}

// table writes jobs in columns.
func table(w io.Writer, jobs []jobStatus) error {
	if len(jobs) == 0 {
		_, err := fmt.Fprintln(w, "no job is live")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "JOB\tRUN\tSTATE\tOBJECTS\tUNITS\tDEAD\tBYTES\tSTARTED")
	for _, j := range jobs {
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", j.Job, j.Run, j.state(),
			j.of(j.Objects.Done, j.Objects.Listed), j.of(int64(j.Units.Done), int64(j.Units.Planned)), humanize.Comma(int64(j.Units.Dead)),
			humanize.IBytes(uint64(j.Bytes.Done))+"/"+humanize.IBytes(uint64(j.Bytes.Listed))+j.growing(), j.Started.UTC().Format(time.DateTime))
	}
	return t.Flush()
}

// text writes a job for people.
func (j *jobStatus) text(w io.Writer, now time.Time) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "job %s, run %d: %s, %s\n", j.Job, j.Run, j.state(), j.since(now))
	if j.Source != nil {
		fmt.Fprintf(b, "  source    %s\n", inWords(j.Source))
	}
	if j.Live != nil {
		j.Live.text(b, j)
	} else {
		fmt.Fprintf(b, "  objects   %s done\n", j.of(j.Objects.Done, j.Objects.Listed))
		fmt.Fprintf(b, "  units     %s done, %s dead\n", j.of(int64(j.Units.Done), int64(j.Units.Planned)), humanize.Comma(int64(j.Units.Dead)))
		fmt.Fprintf(b, "  bytes     %s of %s%s read\n", humanize.IBytes(uint64(j.Bytes.Done)), humanize.IBytes(uint64(j.Bytes.Listed)), j.growing())
	}
	fmt.Fprintf(b, "  records   %s\n", humanize.Comma(j.Records))
	if j.Resends > 0 {
		fmt.Fprintf(b, "  re-sent   %s, because no reader was working on the open units\n", many(j.Resends, "time", "times"))
	}
	if q := j.Feed; q != nil {
		fmt.Fprintf(b, "  feed      %s waiting, %s in flight, %s dead letters, of all jobs\n",
			humanize.Comma(int64(q.Ready+q.Delayed)), humanize.Comma(int64(q.InFlight)), humanize.Comma(int64(q.Dead)))
	}
	if j.Halt != nil {
		fmt.Fprintf(b, "  halted    %s ago: %s: %s\n", now.Sub(j.Halt.At).Round(time.Second), j.Halt.Reason, j.Halt.Detail)
	}
	if next := j.next(); next != "" {
		fmt.Fprintf(b, "  next      %s\n", next)
	}
	return b.Flush()
}

func (j *jobStatus) state() string {
	if j.Halt != nil {
		return fmt.Sprintf("%s, halted (%s)", j.State, j.Halt.Reason)
	}
	return string(j.State)
}

func (j *jobStatus) since(now time.Time) string {
	if !j.Ended.IsZero() {
		return fmt.Sprintf("took %s", j.Ended.Sub(j.Started).Round(time.Second))
	}
	return fmt.Sprintf("started %s ago", now.Sub(j.Started).Round(time.Second))
}

func (j *jobStatus) of(done, all int64) string {
	return fmt.Sprintf("%s/%s%s", humanize.Comma(done), humanize.Comma(all), j.growing())
}

// growing marks a total that is not final.
func (j *jobStatus) growing() string {
	if j.Listed || j.Live != nil || j.State.Ended() {
		return ""
	}
	return "+"
}

// next is what to do about the job; "": nothing but wait.
func (j *jobStatus) next() string {
	switch {
	case j.State == ledger.Completed:
		return "spate job report " + j.Job + " shows what it did"
	case j.State == ledger.Failed:
		return fmt.Sprintf("spate job report %s names the dead units, spate job redrive %[1]s retries them, spate job start %[1]s reads new versions", j.Job)
	case j.State == ledger.Cancelled && j.Live != nil:
		return "spate bucket connect opens it again; what was announced meanwhile waits in the intake's queues"
	case j.State == ledger.Cancelled:
		return "spate job start " + j.Job + " reads what is not done"
	case j.Halt != nil && j.Halt.Reason == failure.SinkDown:
		return "nothing: the sink is retried each minute, and the job resumes when it answers"
	case j.Halt != nil:
		return "fix that, then spate job resume " + j.Job
	case j.SendDue:
		return "nothing: the schedule sends the open units within a minute"
	case j.Live != nil && j.Units.Dead > 0:
		return fmt.Sprintf("spate job report %s names the dead units, spate job redrive %[1]s retries them", j.Job)
	case j.Units.Dead > 0:
		return fmt.Sprintf("spate job report %s names the dead units: the job fails unless spate job redrive %[1]s retries them", j.Job)
	}
	return ""
}

// oneLine puts text on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
