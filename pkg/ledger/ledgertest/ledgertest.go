// Package ledgertest is the contract of package ledger as a test suite: each
// sentence of the contract has a subtest, random histories are compared with a
// naive model, and every driver runs all of it.
//
// Because a ledger may be far away, a subtest makes a few hundred calls at most, and
// the Harness says how many histories are tried.
package ledgertest

import (
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
)

// Harness is what the suite has to know of a driver. The zero value suits a
// driver in this process whose Done and Dead return the tally of the whole run.
type Harness struct {
	// Lapse lets d pass on the clock of a store that open returned. nil sleeps for
	// as long, which for RunShared is hours.
	Lapse func(s ledger.Store, d time.Duration)
	// Histories is how many random histories are tried, and Steps how many
	// operations each of them has; 0 means 300 and 80.
	Histories, Steps int
	// Parts: the tally that Done and Dead return is of the part of the run that one
	// counter covers.
	Parts bool
}

// Run runs the suite. open returns a store for one subtest, and cleans up with
// t.Cleanup. Stores may share their place, because no two subtests share a job.
func Run(t *testing.T, open func(*testing.T) ledger.Store, h Harness) {
	for _, topic := range []struct {
		name  string
		tests []subtest
	}{
		{"start", start},
		{"lease", lease},
		{"publish", publish},
		{"advance", advance},
		{"runs", runs},
		{"begin", begin},
		{"fences", fences},
		{"pause", pause},
		{"ends", ends},
		{"halt", halt},
		{"redrive", redrive},
		{"progress", progress},
		{"proof", proof},
		{"together", together},
		{"traps", traps},
	} {
		t.Run(topic.name, func(t *testing.T) {
			for _, s := range topic.tests {
				t.Run(s.name, func(t *testing.T) { s.test(newBench(t, open(t), h)) })
			}
		})
	}
	t.Run("random histories agree with the model", func(t *testing.T) { histories(t, open(t), nil, h) })
}

// Resumable is a store that remembers what was sent.
type Resumable interface {
	ledger.Store
	ledger.Resumer
}

// RunResumer runs what a Resumer has to keep beyond Run.
func RunResumer(t *testing.T, open func(*testing.T) Resumable, h Harness) {
	for _, s := range resume {
		t.Run(s.name, func(t *testing.T) {
			store := open(t)
			s.test(newBench(t, store, h), store)
		})
	}
}

// RunShared runs what a Shared ledger has to keep beyond Run and RunResumer.
func RunShared(t *testing.T, open func(*testing.T) ledger.Shared, h Harness) {
	for _, topic := range []struct {
		name  string
		tests []sharedTest
	}{
		{"todo", todo},
		{"sweep", sweep},
		{"live", live},
		{"open", opens},
		{"enter", enters},
		{"cut", cuts},
		{"joint", joint},
		{"look", looks},
		{"overwritten", overwrites},
		{"keys", keyTodo},
		{"adopt", adopts},
		{"backlog", backlogs},
		{"stale", stales},
		{"repeat", repeats},
		{"stream", streams},
		{"traps", sharedTraps},
	} {
		t.Run(topic.name, func(t *testing.T) {
			for _, s := range topic.tests {
				t.Run(s.name, func(t *testing.T) {
					store := open(t)
					s.test(newBench(t, store, h), store)
				})
			}
		})
	}
	t.Run("random histories agree with the model", func(t *testing.T) {
		store := open(t)
		histories(t, store, store, h)
	})
	t.Run("random histories of continuous jobs agree with the model", func(t *testing.T) { flows(t, open(t), h) })
}

type subtest struct {
	name string
	test func(bench)
}

type sharedTest struct {
	name string
	test func(bench, ledger.Shared)
}
