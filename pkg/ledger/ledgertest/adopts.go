package ledgertest

import (
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

var adopts = []sharedTest{
	{"a run has the digest that it was opened with, and readers get it", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		b.adopts(s, "read-2", digests.Read)
		b.equal("digests", b.meta().Digests, digests)
	}},
	{"of readers that give a digest to a run without one, the first is heard", func(b bench, s ledger.Shared) {
		_, err := s.Open(b.ctx, b.job, ledger.Start{Digests: ledger.Digests{Plan: "plan-1"}})
		b.ok(err)
		first := make([]string, 6)
		b.race(6, func(n int) (bool, error) {
			var err error
			first[n], err = s.Adopt(b.ctx, b.job, 1, "read-"+string(rune('a'+n)))
			return true, err
		})
		read := b.meta().Digests.Read
		if !strings.HasPrefix(read, "read-") {
			b.Errorf("read digest %q", read)
		}
		for _, got := range first {
			b.equal("digest", got, read)
		}
		b.adopts(s, "other", read)
		b.equal("digests", b.meta().Digests, ledger.Digests{Plan: "plan-1", Read: read})
	}},
	{"a fingerprint halt that is resumed takes the read digest off, and the next reader gives it its own", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		b.halts(mismatch, true, &mismatch)
		b.adopts(s, "read-2", digests.Read) // it stands until then
		ask := b.meta().Ask
		b.resumes(failure.Fingerprint, true, nil)
		m := b.meta()
		b.equal("digests", m.Digests, ledger.Digests{Plan: digests.Plan})
		b.equal("ask", m.Ask, ask+1)
		b.adopts(s, "read-2", "read-2")
		b.adopts(s, "read-1", "read-2")
	}},
	{"no other resume takes it off, nor one that clears nothing", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		b.resumes(failure.Fingerprint, false, nil)
		for _, h := range []ledger.Halt{denied, down} {
			b.halts(h, true, &h)
			b.resumes(failure.Fingerprint, false, &h)
			b.resumes(h.Reason, true, nil)
		}
		b.equal("digests", b.meta().Digests, digests)
	}},
	{"a listed job keeps its read digest", func(b bench, s ledger.Shared) {
		b.running("t1", 1)
		b.halts(mismatch, true, &mismatch)
		b.resumes(failure.Fingerprint, true, nil)
		b.equal("digests", b.meta().Digests, digests)
	}},
	{"a reader of another run gives nothing", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		b.over()
		_, err := s.Open(b.ctx, b.job, ledger.Start{Token: "t2"})
		b.ok(err)
		_, err = s.Adopt(b.ctx, b.job, 1, "read-2")
		b.is(err, ledger.ErrState)
		b.equal("read digest", b.meta().Digests.Read, "")
	}},
}

var mismatch = ledger.Halt{Reason: failure.Fingerprint, Detail: "read-1 is not read-2", At: time.Unix(1_800_000_300, 0).UTC()}

func (b bench) adopts(s ledger.Shared, read, want string) {
	b.Helper()
	got, err := s.Adopt(b.ctx, b.job, 1, read)
	b.ok(err)
	b.equal("read digest", got, want)
}
