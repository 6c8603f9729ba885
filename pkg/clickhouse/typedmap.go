package clickhouse

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"unsafe"
)

// pairs is what the encoding of a map needs besides the row.
type pairs struct {
	iter       reflect.MapIter
	key, value reflect.Value
	buf        []byte
	ends       []pair
}

// pair is where a key and its value lie in buf.
type pair struct{ start, value, end int }

// bindMap is of a map as Map, its pairs in the order of the keys' bytes: equal
// maps give equal rows, whatever the order of Go's iteration.
func bindMap(g reflect.Type, t *Type) (appender, error) {
	if t.name != "Map" {
		return nil, nil
	}
	key, err := bind(g.Key(), t.args[0])
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	value, err := bind(g.Elem(), t.args[1])
	if err != nil {
		return nil, fmt.Errorf("values: %w", err)
	}
	pool := &sync.Pool{New: func() any {
		return &pairs{key: reflect.New(g.Key()).Elem(), value: reflect.New(g.Elem()).Elem()}
	}}
	return func(dst []byte, p unsafe.Pointer) ([]byte, error) {
		m := reflect.NewAt(g, p).Elem()
		if m.Len() == 0 {
			return append(dst, 0), nil
		}
		s := pool.Get().(*pairs)
		defer s.free(pool)
		if err := s.collect(m, key, value); err != nil {
			return dst, err
		}
		dst = binary.AppendUvarint(dst, uint64(len(s.ends)))
		for _, e := range s.ends {
			dst = append(dst, s.buf[e.start:e.end]...)
		}
		return dst, nil
	}, nil
}

// free gives s back without what it holds of the record.
func (s *pairs) free(pool *sync.Pool) {
	s.key.SetZero()
	s.value.SetZero()
	s.iter.Reset(reflect.Value{})
	pool.Put(s)
}

func (s *pairs) collect(m reflect.Value, key, value appender) (err error) {
	s.buf, s.ends = s.buf[:0], s.ends[:0]
	s.iter.Reset(m)
	for s.iter.Next() {
		s.key.SetIterKey(&s.iter)
		s.value.SetIterValue(&s.iter)
		e := pair{start: len(s.buf)}
		if s.buf, err = key(s.buf, s.key.Addr().UnsafePointer()); err != nil {
			return fmt.Errorf("key %v: %w", s.key, err)
		}
		e.value = len(s.buf)
		if s.buf, err = value(s.buf, s.value.Addr().UnsafePointer()); err != nil {
			return fmt.Errorf("value of %v: %w", s.key, err)
		}
		e.end = len(s.buf)
		s.ends = append(s.ends, e)
	}
	slices.SortFunc(s.ends, func(a, b pair) int {
		return cmp.Or(
			bytes.Compare(s.buf[a.start:a.value], s.buf[b.start:b.value]),
			bytes.Compare(s.buf[a.value:a.end], s.buf[b.value:b.end]), // two keys may be of the same bytes
		)
	})
	return nil
}
