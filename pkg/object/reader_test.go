package object_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/unit"
)

// INV-2: the bytes are those of the part, whatever windows, cuts, refusals and
// slices there were.
func TestAnyWindowsCutsAndSlicesGiveTheSameBytes(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { walk(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func walk(t *testing.T, rnd *rand.Rand) {
	b := &memobject.Bucket{}
	parts, data := put(b, rnd.IntN(300), rnd.IntN(300), rnd.IntN(3), rnd.IntN(300))
	for i := range parts {
		p, size := &parts[i], len(data[i])
		p.Start = int64(rnd.IntN(size + 1))
		p.End = p.Start + int64(rnd.IntN(size-int(p.Start)+1))
		p.Limit = int64(rnd.IntN(size + 1)) // less than End means none
		data[i] = data[i][p.Start:max(p.End, p.Limit)]
	}
	var draws = make(chan uint64, 10000) // the hooks run concurrently; rnd does not
	for range cap(draws) {
		draws <- rnd.Uint64()
	}
	b.Hook = func(_ memobject.Op, key string, _ int64) error {
		if <-draws%5 == 0 {
			return transient(key)
		}
		return nil
	}
	b.Wrap = func(_ context.Context, r memobject.Request, body memobject.Body) memobject.Body {
		switch n := <-draws; n % 4 {
		case 0:
			return memobject.Cut(body, int64(n>>8)%(r.N+1))
		case 1:
			return io.LimitReader(body, int64(n>>8)%(r.N+1))
		case 2:
			data, _ := io.ReadAll(body)
			return bytes.NewReader(append(data, "more than was asked for"...))
		default:
			return iotest.DataErrReader(body)
		}
	}
	read, retries := new(metric.Value), new(metric.Value)
	r := object.NewReader(t.Context(), b, parts, object.Options{
		Window: 1 + rnd.Int64N(100), Ahead: rnd.IntN(5) - 1, AheadBytes: 1 + rnd.Int64N(200), Retries: 200, BytesRead: read, GetRetries: retries,
	})
	total := int64(0)
	for i, want := range data {
		if err := r.Next(); err != nil {
			t.Fatal(err)
		}
		upTo := len(want)
		if rnd.IntN(3) == 0 {
			upTo = rnd.IntN(upTo + 1) // and leave the rest
		}
		got := make([]byte, 0, upTo)
		for len(got) < upTo {
			n, err := r.Read(got[len(got):min(upTo, len(got)+1+rnd.IntN(50))])
			got = got[:len(got)+n]
			if err != nil {
				t.Fatalf("part %d at %d of %d: %v", i, len(got), len(want), err)
			}
		}
		if !bytes.Equal(got, want[:upTo]) {
			t.Fatalf("part %d %+v: other bytes", i, parts[i])
		}
		if n, err := r.Read(make([]byte, 1)); upTo == len(want) && (n != 0 || err != io.EOF) {
			t.Fatalf("part %d at its end: %d, %v", i, n, err)
		} else if upTo < len(want) {
			total += int64(n)
		}
		total += int64(upTo)
	}
	if err := r.Next(); err != io.EOF {
		t.Errorf("after the last: %v", err)
	}
	if err := r.Close(); err != nil || b.OpenBodies() != 0 || read.Load() != total {
		t.Errorf("close: %v; %d bodies open; %d bytes counted of %d", err, b.OpenBodies(), read.Load(), total)
	}
	wanted := retries.Load()
	if got := int64(len(b.Requests())); got < wanted {
		t.Errorf("%d retries counted in %d requests", wanted, got)
	}
}

func TestABodyCutAtAnyByteResumesAtThatByte(t *testing.T) {
	const size = 40
	for window := int64(1); window <= size; window += 13 {
		for cut := range int64(size) {
			synctest.Test(t, func(t *testing.T) {
				b, once := &memobject.Bucket{}, false
				parts, data := put(b, size)
				b.Wrap = func(_ context.Context, r memobject.Request, body memobject.Body) memobject.Body {
					if cut < r.Off || cut >= r.Off+r.N || once {
						return body
					}
					once = true
					return memobject.Cut(body, cut-r.Off)
				}
				retries := new(metric.Value)
				r := object.NewReader(t.Context(), b, parts, object.Options{Window: window, Ahead: -1, GetRetries: retries})
				good(t, r, data)
				resumed := 0
				for _, q := range b.Requests() {
					if q.Off == cut && q.Off+q.N == min(size, (cut/window+1)*window) {
						resumed++
					}
				}
				if resumed == 0 || retries.Load() != 1 {
					t.Errorf("window %d, cut at %d: requests %v, %d retries", window, cut, b.Requests(), retries.Load())
				}
			})
		}
	}
}

func TestABodyLongerThanAskedForIsNotTrusted(t *testing.T) {
	s := &script{read: func(_ context.Context, _, n int64) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(strings.Repeat("g", int(n)) + "bad")), nil
	}}
	r := object.NewReader(t.Context(), s, []object.Part{{Object: unit.Object{Key: "k", Size: 10}, End: 10}}, object.Options{Window: 4})
	good(t, r, [][]byte{[]byte(strings.Repeat("g", 10))})
}

func TestWhatDoesNotFitTheObjectIsRefusedWithoutARequest(t *testing.T) {
	b := &memobject.Bucket{}
	parts, _ := put(b, 10)
	for name, p := range map[string][3]int64{
		"past the end": {0, 11, 0}, "a tail past the end": {0, 5, 11}, "backwards": {5, 4, 0}, "before the start": {-1, 4, 0}, "backwards with a tail": {5, 4, 10},
	} {
		t.Run(name, func(t *testing.T) {
			bad := object.Part{Object: parts[0].Object, Start: p[0], End: p[1], Limit: p[2]}
			r := object.NewReader(t.Context(), b, []object.Part{bad}, object.Options{})
			_, err := next(t, r)
			expect(t, err, failure.Unit, failure.UnsupportedDescriptor)
			_ = r.Close()
		})
	}
	if n := len(b.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestReadWithoutAPartIsAnErrorAndNotAnEnd(t *testing.T) {
	b := &memobject.Bucket{}
	parts, _ := put(b, 1)
	r := object.NewReader(t.Context(), b, parts, object.Options{})
	if n, err := r.Read(make([]byte, 1)); n != 0 || err == nil || err == io.EOF {
		t.Errorf("before the first: %d, %v", n, err)
	}
	_, _ = next(t, r)
	if err := r.Next(); err != io.EOF {
		t.Errorf("after the last: %v", err)
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || err == nil || err == io.EOF {
		t.Errorf("after the last: %d, %v", n, err)
	}
	_ = r.Close()
	_ = r.Close()
	if err := r.Next(); err != context.Canceled {
		t.Errorf("after Close: %v", err)
	}
}

func TestThePinsLastCheckTurnsTheEndIntoDrift(t *testing.T) {
	drift := failure.Errorf(failure.Member, failure.ETagDrift, `read "k": changed`)
	newReader := func() *object.Reader {
		s := &script{close: func() error { return drift }, read: func(_ context.Context, _, n int64) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(make([]byte, n))), nil
		}}
		return object.NewReader(t.Context(), s, []object.Part{{Object: unit.Object{Key: "k", Size: 10}, End: 5, Limit: 10}}, object.Options{})
	}
	t.Run("at the part's end", func(t *testing.T) {
		r := newReader()
		got, err := next(t, r)
		expect(t, err, failure.Member, failure.ETagDrift)
		if len(got) != 10 {
			t.Errorf("%d bytes before it", len(got))
		}
		if _, again := r.Read(make([]byte, 1)); again != err {
			t.Errorf("read again: %v", again)
		}
		if err := r.Close(); err != nil {
			t.Errorf("said a second time: %v", err)
		}
	})
	t.Run("and at Close where the consumer stopped before", func(t *testing.T) {
		r := newReader()
		_ = r.Next()
		if _, err := io.ReadFull(r, make([]byte, 7)); err != nil {
			t.Fatal(err)
		}
		expect(t, r.Close(), failure.Member, failure.ETagDrift)
	})
}

func TestCloseDoesNotRepeatWhatReadSaid(t *testing.T) {
	s := &script{
		close: func() error { return failure.Errorf(failure.Member, failure.ETagDrift, `read "k": changed`) },
		read: func(context.Context, int64, int64) (io.ReadCloser, error) {
			return nil, failure.Errorf(failure.Member, failure.ETagDrift, `read "k": changed`)
		},
	}
	r := object.NewReader(t.Context(), s, []object.Part{{Object: unit.Object{Key: "k", Size: 10}, End: 10}}, object.Options{})
	_, err := next(t, r)
	expect(t, err, failure.Member, failure.ETagDrift)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// INV-6.
func TestMemoryDoesNotGrowWithTheObject(t *testing.T) {
	const size = 1 << 30
	s := &script{read: func(_ context.Context, _, n int64) (io.ReadCloser, error) {
		return io.NopCloser(io.LimitReader(zeros{}, n)), nil
	}}
	r := object.NewReader(t.Context(), s, []object.Part{{Object: unit.Object{Key: "k", Size: size}, End: size}}, object.Options{})
	defer r.Close()
	if err := r.Next(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 256<<10)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	total := 0
	for {
		n, err := r.Read(buf)
		total += n
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; total != size || grown > 4<<20 {
		t.Errorf("%d bytes read, %d allocated", total, grown)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }
