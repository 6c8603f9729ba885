package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/control/awscontrol"
	"github.com/spate-go/spate/pkg/ledger"
)

// notice is how long notifications take to begin, at most, after a bucket was
// connected.
const notice = 5 * time.Minute

func bucketCommand(std stdio) *cobra.Command {
	var f stackFlags
	c := &cobra.Command{
		Use:   "bucket",
		Short: "Wire a bucket's notifications to a stack",
		Long: `Bucket commands make the stack's source bucket notify the stack's intake of each new
object, or stop it. The configuration of the bucket's notifications is read, merged
and written: entries of others stay as they are, and what changes is shown first.`,
	}
	f.flags(c, std)
	c.AddCommand(bucketConnectCommand(&f, std), bucketDisconnectCommand(&f, std))
	return c
}

// bucketFlags are the flags of both commands.
type bucketFlags struct {
	via    string
	notice time.Duration
	dryRun bool
	as     form
}

func bucketConnectCommand(s *stackFlags, std stdio) *cobra.Command {
	var f bucketFlags
	c := &cobra.Command{
		Use:   "connect",
		Short: "Make the bucket notify the stack of new objects",
		Long: `Connect opens the stack's continuous job, with a cutoff in five minutes (--notice): S3
takes a while to begin notifying. Then it adds an entry to the bucket's notifications,
for what the stack's pipeline file reads. spate job start JOB --cutoff live reads what
was there before; if the job is open already, but the bucket did not notify it, the
command names another cutoff.

S3 allows no two entries for the same objects. If there is one already, connect
--via eventbridge, or have that entry notify an SNS topic that the stack knows
(NotificationTopicArn). An existing way stays: what comes by both is read once, and
spate bucket disconnect --via removes one, once the other has begun.

Exit codes: 0 it is connected; 1 it is not; 2 the command line is wrong; 130
interrupted. It may be given again.`,
		Example: "  spate bucket connect --stack logs\n  spate bucket connect --stack logs --via eventbridge",
		Args:    noArgument,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return s.ask(c.Context(), std, "connect", func(stack *control.Control) error {
				return connectBucket(c.Context(), stack, f, std)
			})
		},
	}
	c.Flags().DurationVar(&f.notice, "notice", notice, "`TIME` until the cutoff, by which notifications must have begun")
	f.flags(c, awscontrol.ViaQueue, "`WAY` of the notifications: s3 (to the queue), eventbridge (by the stack's rule)")
	return c
}

func bucketDisconnectCommand(s *stackFlags, std stdio) *cobra.Command {
	var f bucketFlags
	c := &cobra.Command{
		Use:   "disconnect",
		Short: "Stop the bucket notifying the stack",
		Long: `Disconnect removes the stack's own entry from the bucket's notifications, and turns its
rule off; with --via only one of the two. The job stays open: what was announced is
read. The bucket still notifies EventBridge, since others may listen there; and an
entry that connect did not add stays, such as that of a bucket which the stack's
template made: then it is not disconnected, and the entry is named.

Exit codes: 0 it is disconnected; 1 it is not; 2 the command line is wrong; 130
interrupted. It may be given again.`,
		Example: "  spate bucket disconnect --stack logs",
		Args:    noArgument,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.via != "" {
				if err := f.check(); err != nil {
					return err
				}
			}
			return s.ask(c.Context(), std, "disconnect", func(stack *control.Control) error {
				return disconnectBucket(c.Context(), stack, f, std)
			})
		},
	}
	f.flags(c, "", "remove this `WAY` only: s3, eventbridge")
	return c
}

func (f *bucketFlags) flags(c *cobra.Command, via awscontrol.Via, usage string) {
	c.Flags().StringVar(&f.via, "via", string(via), usage)
	completeFlag(c, "via", string(awscontrol.ViaQueue), string(awscontrol.ViaEventBridge))
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would change, and change nothing")
	formFlag(c, &f.as)
}

// check refuses a --via that is no way of notifying.
func (f *bucketFlags) check() error {
	if via := awscontrol.Via(f.via); via != awscontrol.ViaQueue && via != awscontrol.ViaEventBridge {
		return fmt.Errorf("--via %s: want %s or %s", f.via, awscontrol.ViaQueue, awscontrol.ViaEventBridge)
	}
	return nil
}

// connectedBucket is what the bucket commands print.
type connectedBucket struct {
	Bucket  string    `json:"bucket"`
	Prefix  string    `json:"prefix"`
	Job     string    `json:"job"`
	Cutoff  time.Time `json:"cutoff,omitzero"` // what was modified before is for a listed job
	Changes []string  `json:"changes"`         // lines of the configuration: + new, - gone
	Written bool      `json:"written"`
}

// connectBucket opens the job before it connects the bucket, so that the job's
// cutoff stands before the first notification.
//
// A job that is running keeps its cutoff, but what was put since then was
// announced only if the bucket was connected all the time. If it may not have
// been, the cutoff to hand over at is a new one. Of a rule it is not known
// whether it was on.
func connectBucket(ctx context.Context, stack *control.Control, f bucketFlags, std stdio) error {
	a, bucket, change, err := f.change(ctx, stack, std, (*awscontrol.Notifications).Connect)
	if err != nil {
		return err
	}
	if a.Refused != "" {
		return fmt.Errorf("connect bucket %s to job %s: %s", a.Bucket, a.Job, a.Refused)
	}
	done := connectedBucket{a.Bucket, a.Prefix, a.Job, a.Cutoff, change.Lines(), !f.dryRun}
	handOver := liveCutoff
	if !f.dryRun {
		begins := time.Now().Add(f.notice).Truncate(time.Second).UTC()
		if a.State != ledger.Running {
			open := control.IntakeRequest{Open: true, Token: rand.Text(), Cutoff: begins}
			if a, err = stack.Intake(ctx, open); err != nil {
				return err
			}
			done.Cutoff = a.Cutoff
		} else if !change.None() || change.Via == awscontrol.ViaEventBridge {
			done.Cutoff, handOver = begins, begins.Format(time.RFC3339)
		}
		if err := bucket.Apply(ctx, change); err != nil {
			return err
		}
	}
	return done.print(f.as, std, "connected: job "+a.Job+" reads "+done.reads(handOver))
}

// reads says what the job reads, and how the rest is read.
func (b *connectedBucket) reads(handOver string) string {
	if b.Cutoff.IsZero() {
		return "what is put from now on"
	}
	return fmt.Sprintf("what is put from %[1]s on; spate job start JOB --cutoff %[2]s reads what was modified before",
		b.Cutoff.UTC().Format(time.RFC3339), handOver)
}

func disconnectBucket(ctx context.Context, stack *control.Control, f bucketFlags, std stdio) error {
	a, bucket, change, err := f.change(ctx, stack, std, (*awscontrol.Notifications).Disconnect)
	if err != nil {
		return err
	}
	if !f.dryRun {
		if err := bucket.Apply(ctx, change); err != nil {
			return err
		}
	}
	done := connectedBucket{a.Bucket, a.Prefix, a.Job, time.Time{}, change.Lines(), !f.dryRun}
	if change.Via == awscontrol.ViaEventBridge {
		return done.print(f.as, std, "disconnected from EventBridge")
	}
	if left := change.Left(); len(left) > 0 {
		return errors.Join(done.print(f.as, std, "not disconnected"), fmt.Errorf("bucket %s still notifies the stack, by an entry that spate bucket connect did not add (%s): "+
			"remove it where it was made, which for the stack's own bucket is its template", a.Bucket, left[0]))
	}
	return done.print(f.as, std, "disconnected: spate job cancel "+a.Job+" ends the job as well")
}

// change asks what the intake takes notifications of, and what plan would
// change about them.
func (f *bucketFlags) change(ctx context.Context, stack *control.Control, std stdio,
	plan func(*awscontrol.Notifications, context.Context, awscontrol.Wiring) (*awscontrol.Change, error),
) (a control.IntakeAnswer, bucket *awscontrol.Notifications, c *awscontrol.Change, err error) {
	if a, err = stack.Intake(ctx, control.IntakeRequest{}); err != nil {
		return a, nil, nil, err
	}
	w, err := wiring(stack, a, awscontrol.Via(f.via))
	if err != nil {
		return a, nil, nil, err
	}
	if bucket, err = std.notifications(ctx); err != nil {
		return a, nil, nil, err
	}
	c, err = plan(bucket, ctx, w)
	return a, bucket, c, err
}

// wiring is how the intake's bucket is to notify the stack.
func wiring(stack *control.Control, a control.IntakeAnswer, via awscontrol.Via) (awscontrol.Wiring, error) {
	queue, rule, err := stack.Notified()
	if err != nil {
		return awscontrol.Wiring{}, err
	}
	if via == awscontrol.ViaEventBridge && rule == "" {
		return awscontrol.Wiring{}, errors.New("the stack names no rule for notifications: deploy it with this version's template, or give --rule")
	}
	return awscontrol.Wiring{Bucket: a.Bucket, Prefix: a.Prefix, Queue: queue, Rule: rule, Via: via}, nil
}

func (b *connectedBucket) print(as form, std stdio, end string) error {
	if as == asJSON {
		return writeJSON(std.stdout, b)
	}
	fmt.Fprintf(std.stdout, "notifications of s3://%s/%s\n", b.Bucket, b.Prefix)
	for _, line := range b.Changes {
		fmt.Fprintf(std.stdout, "  %s\n", line)
	}
	if !b.Written {
		end = "nothing was changed"
	}
	_, err := fmt.Fprintln(std.stdout, end)
	return err
}
