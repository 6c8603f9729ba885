package finalizer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

func TestKeysThatAreToBeLookedAtAgain(t *testing.T) {
	again := func(w *world, keys ...string) {
		w.Helper()
		for _, k := range keys {
			w.must(nil, w.l.Again(w.Context(), "j", unit.Object{Key: k, ETag: "e", Again: 1}))
		}
	}
	left := func(w *world) (keys []string) {
		w.Helper()
		w.must(nil, w.l.Keys(w.Context(), "j", func(k ledger.KeyTodo) error { keys = append(keys, k.Object.Key); return nil }))
		return keys
	}
	taking := func(t *testing.T, why func(key string) error) (*world, *[]string) {
		w, taken := newWorld(t), &[]string{}
		w.opened("j")
		w.opt.Take = func(_ context.Context, m ledger.Meta, objects []unit.Object) ([]error, error) {
			return call(w, "Take", m.Job, func() (errs []error, err error) {
				for _, o := range objects {
					if o.Again != 1 || len(objects) > ledger.MaxClaims {
						t.Errorf("took %+v of %d", o, len(objects))
					}
					errs = append(errs, why(o.Key))
					*taken = append(*taken, o.Key)
				}
				return errs, nil
			})
		}
		return w, taken
	}
	fine := func(string) error { return nil }
	bubble(t, "are taken, once", func(t *testing.T) {
		w, taken := taking(t, fine)
		again(w, "a", "b")
		w.ticks(3)
		if !slices.Equal(*taken, []string{"a", "b"}) || len(left(w)) > 0 {
			t.Errorf("took %v, left %v", *taken, left(w))
		}
	})
	bubble(t, "in batches", func(t *testing.T) {
		w, taken := taking(t, fine)
		for i := range 2*ledger.MaxClaims + 1 {
			again(w, fmt.Sprint(i))
		}
		w.ticks(1)
		if len(*taken) != 2*ledger.MaxClaims+1 || w.called("Take") != 3 || len(left(w)) > 0 {
			t.Errorf("took %d in %d", len(*taken), w.called("Take"))
		}
	})
	bubble(t, "stay if they were put again meanwhile", func(t *testing.T) {
		w, taken := taking(t, nil)
		w.opt.Take = func(context.Context, ledger.Meta, []unit.Object) ([]error, error) {
			if *taken = append(*taken, "a"); len(*taken) == 1 {
				again(w, "a")
			}
			return []error{nil}, nil
		}
		again(w, "a")
		w.ticks(3)
		if len(*taken) != 2 || len(left(w)) > 0 {
			t.Errorf("took %v, left %v", *taken, left(w))
		}
	})
	bubble(t, "stay if they could not be taken, and keep no other", func(t *testing.T) {
		w, _ := taking(t, func(key string) error {
			switch key {
			case "b":
				return errFault
			case "c":
				return failure.Errorf(failure.Member, failure.NotFound, "gone")
			}
			return nil
		})
		again(w, "a", "b", "c", "d")
		if err := w.tick(); !errors.Is(err, errFault) {
			t.Errorf("tick: %v", err)
		}
		if got := left(w); !slices.Equal(got, []string{"b"}) {
			t.Errorf("left %v", got)
		}
	})
	bubble(t, "stay while the job is halted, and where nobody takes them", func(t *testing.T) {
		w, taken := taking(t, fine)
		again(w, "a")
		w.must(w.l.Halt(t.Context(), "j", ledger.Halt{Reason: failure.Denied}))
		w.ticks(3)
		w.must(w.l.Resume(t.Context(), "j", failure.Denied))
		w.opt.Take = nil
		w.ticks(3)
		if len(*taken) > 0 || len(left(w)) != 1 {
			t.Errorf("took %v, left %v", *taken, left(w))
		}
	})
	bubble(t, "are removed only after they were taken", func(t *testing.T) {
		w, taken := taking(t, fine)
		again(w, "a")
		w.fail = func(c, _ string) error {
			if c == "Take" {
				return errFault
			}
			return nil
		}
		if err := w.tick(); !errors.Is(err, errFault) || w.called("KeySent") > 0 || len(*taken) > 0 {
			t.Errorf("tick: %v", err)
		}
	})
}
