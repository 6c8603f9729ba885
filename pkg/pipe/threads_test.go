package pipe_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/pipe"
	"github.com/spate-go/spate/pkg/sink/capturesink"
)

// slow is a worker that takes its time, and notes whose batches it is given.
type slow struct {
	chain.Worker
	batches *[]string
}

func (s slow) Process(b *chain.Batch, out *chain.Output) error {
	*s.batches = append(*s.batches, b.Object.Key)
	time.Sleep(time.Millisecond)
	return s.Worker.Process(b, out)
}

// slowPipe has one thread of such workers.
func slowPipe(t *testing.T) (k *kit, p *pipe.Pipe, batches *[]string) {
	k, batches = newKit(t), new([]string)
	k.config.Threads = 1
	k.config.Chain = func() chain.Worker { return slow{chain.Raw("\n")(), batches} }
	return k, k.pipe(capturesink.Options{}), batches
}

// A sink of whole blocks is idle until the first unit ends: four that share two
// threads alike all end late.
func TestUnitsThatBeganFirstEndFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, p, batches := slowPipe(t)
		for i := range 4 {
			u := k.unit(k.bucket.Put(fmt.Sprint(i), lines("a", 20_000, 50)))
			go func() {
				if _, err := p.ReadUnit(t.Context(), whole(u), nil, k.found); err != nil {
					t.Errorf("rest: %v", err)
				}
			}()
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		if got := len(k.sink.Rows()); got != 80_000 {
			t.Fatalf("%d rows, want 80000", got)
		}
		// One is being read while the other is processed; no third has a batch.
		for i, key := range []string{"2", "3"} {
			first := slices.Index(*batches, key)
			if before := (*batches)[first:]; slices.Contains(before, fmt.Sprint(i)) {
				t.Errorf("unit %s began with unit %d under way: %v", key, i, *batches)
			}
		}
	})
}

func TestWhoGivesUpWaitingForAThreadTakesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, p, _ := slowPipe(t)
		for i := range 200 {
			u := k.unit(k.bucket.Put(fmt.Sprint(i), lines("a", 2_000, 50)))
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*500*time.Microsecond)
			go func() {
				defer cancel()
				if _, err := p.ReadUnit(ctx, whole(u), nil, k.found); err != nil && (ctx.Err() == nil || failure.Marked(err)) {
					t.Errorf("rest: %v", err)
				}
			}()
		}
		time.Sleep(time.Minute)
		k.rest(p, k.unit(k.bucket.Put("last", lines("a", 2_000, 50)))) // a thread is left for it
	})
}
