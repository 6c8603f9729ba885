// Package decodetest is the suite that defines a decoder: every decoder runs
// it, and what it does not check is not promised.
//
// It does not know what a record means: whether a value is the right one is for
// the decoder's own tests. Here a value only has to depend on its record alone.
package decodetest

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/spate-go/spate/pkg/decode"
	"github.com/spate-go/spate/pkg/failure"
)

// MaxError bounds the text of a decoder's error, in bytes, however long the
// record is.
const MaxError = 512

// Harness is a decoder as the suite sees it.
type Harness[T any] struct {
	New func() decode.Decoder[T]
	// Good are records that decode, to values that differ in every field.
	Good []string
	// Bad are records that do not.
	Bad []string
	// Show writes everything of a value that its user can access.
	Show func(*T) string
}

// Run holds a decoder to the contract of decode.Decoder.
func Run[T any](t *testing.T, h Harness[T]) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, l := range []struct {
		law  string
		test func(*run[T])
	}{
		{"nothing of an earlier value shows", (*run[T]).independent},
		{"nothing of a failed record shows", (*run[T]).recovers},
		{"a value lasts until the next call", (*run[T]).lasts},
		{"decoders share nothing", (*run[T]).strangers},
		{"a record is not written to", (*run[T]).readsOnly},
		{"an error is of the record, and short", (*run[T]).errors},
		{"any bytes are a value or an error", (*run[T]).anything},
	} {
		t.Run(l.law, func(t *testing.T) {
			l.test(&run[T]{T: t, Harness: h, rnd: rand.New(rand.NewPCG(seed, 0))})
		})
	}
}

type run[T any] struct {
	*testing.T
	Harness[T]
	rnd *rand.Rand
}

// fresh is what a decoder that has seen nothing makes of record.
func (r *run[T]) fresh(record string) string {
	r.Helper()
	return r.next(r.New(), new(T), record)
}

// next decodes record, which is good, into v.
func (r *run[T]) next(d decode.Decoder[T], v *T, record string) string {
	r.Helper()
	if err := d.Decode([]byte(record), v); err != nil {
		r.Fatalf("%.100q: %v", record, err)
	}
	return r.Show(v)
}

func (r *run[T]) independent() {
	d, v := r.New(), new(T)
	for _, first := range r.Good {
		for _, second := range r.Good {
			r.next(d, v, first)
			if got, want := r.next(d, v, second), r.fresh(second); got != want {
				r.Errorf("%.100q after %.100q:\n got %.300s\nwant %.300s", second, first, got, want)
			}
		}
	}
}

func (r *run[T]) recovers() {
	d, v := r.New(), new(T)
	for _, bad := range r.Bad {
		for _, good := range r.Good {
			if d.Decode([]byte(bad), v) == nil {
				r.Fatalf("%.100q: no error", bad)
			}
			if got, want := r.next(d, v, good), r.fresh(good); got != want {
				r.Errorf("%.100q after %.100q:\n got %.300s\nwant %.300s", good, bad, got, want)
			}
		}
	}
}

func (r *run[T]) lasts() {
	for _, record := range r.Good {
		d, v := r.New(), new(T)
		want := r.next(d, v, record)
		for _, other := range r.Good { // by another decoder
			r.next(r.New(), new(T), other)
		}
		if got := r.Show(v); got != want {
			r.Errorf("%.100q:\n got %.300s\nwant %.300s", record, got, want)
		}
	}
}

// strangers is for the race detector most of all.
func (r *run[T]) strangers() {
	want := map[string]string{}
	for _, record := range r.Good {
		want[record] = r.fresh(record)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			d, v := r.New(), new(T)
			for i := range 200 {
				record := r.Good[i%len(r.Good)]
				if err := d.Decode([]byte(record), v); err != nil || r.Show(v) != want[record] {
					r.Errorf("%.100q: got %.300s, %v", record, r.Show(v), err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func (r *run[T]) readsOnly() {
	d, v := r.New(), new(T)
	for _, record := range append(r.Good[:len(r.Good):len(r.Good)], r.Bad...) {
		const around = "around"
		b := []byte(around + record + around)
		if d.Decode(b[len(around):len(around)+len(record)], v) == nil {
			_ = r.Show(v)
		}
		if !bytes.Equal(b, []byte(around+record+around)) {
			r.Errorf("%.100q became %.100q", record, b)
		}
	}
}

func (r *run[T]) errors() {
	d, v := r.New(), new(T)
	for _, bad := range r.Bad {
		if r.judge(bad, d.Decode([]byte(bad), v)) == nil {
			r.Errorf("%.100q: no error", bad)
		}
		// However long: more bytes after its end, and all of it many times.
		for _, long := range []string{bad + strings.Repeat("x", 1<<16), strings.Repeat(bad, 1<<16/(1+len(bad)))} {
			_ = r.judge(long, d.Decode([]byte(long), v))
		}
	}
}

// judge checks the shape of the error of a record and returns it.
func (r *run[T]) judge(record string, err error) error {
	r.Helper()
	if err == nil {
		return nil
	}
	if scope, reason := failure.Of(err); scope != failure.Record || reason != failure.Undecodable {
		r.Errorf("%.100q: scope %d, %s: %v", record, scope, reason, err)
	}
	if n := len(err.Error()); n > MaxError {
		r.Errorf("%.100q of %d bytes: an error of %d: %.300s", record, len(record), n, err)
	}
	return err
}

// anything cuts and changes good records. A panic fails the test by itself.
func (r *run[T]) anything() {
	d, v := r.New(), new(T)
	try := func(b []byte) {
		if r.judge(string(b), d.Decode(b, v)) == nil {
			if got, want := r.Show(v), r.fresh(string(b)); got != want {
				r.Errorf("%.100q:\n got %.300s\nwant %.300s", b, got, want)
			}
		}
	}
	try(nil)
	for _, record := range r.Good {
		for n := range min(len(record), 300) {
			try([]byte(record[:n]))
		}
		for range min(len(record), 1) * 300 {
			b := []byte(record)
			b[r.rnd.IntN(len(b))] = byte(r.rnd.Uint32())
			try(b)
		}
	}
}
