package jsondecode

import (
	"reflect"
	"strconv"
	"time"
	"unsafe"

	"github.com/goccy/go-json"
)

// setter sets the value at p, which is zero and of the setter's type, from a
// JSON value. False leaves the record to the library.
type setter func(t *texts, p unsafe.Pointer, v written) bool

// written is a JSON value as written.
type written struct {
	raw   []byte
	plain bool // a string that means what is written
}

// setterOf is that of a type; the library's where there is no other.
func setterOf(t reflect.Type) setter {
	if t == reflect.TypeFor[time.Time]() {
		return setTime
	}
	if !decodesItself(t) && t != reflect.TypeFor[json.Number]() {
		switch t.Kind() {
		case reflect.String:
			return setString
		case reflect.Bool:
			return setBool
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			return setSigned(t.Size())
		case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			return setUnsigned(t.Size())
		case reflect.Float64:
			return setFloat
		case reflect.Slice:
			if e := t.Elem(); e.Kind() == reflect.String && !decodesItself(e) && e != reflect.TypeFor[json.Number]() {
				return setStrings
			}
		case reflect.Pointer:
			if e := t.Elem(); e.Kind() != reflect.Pointer && (e.Kind() != reflect.Struct || decodesItself(e)) {
				return setPointer(e)
			}
		}
	}
	return func(_ *texts, p unsafe.Pointer, v written) bool {
		return json.Unmarshal(v.raw, reflect.NewAt(t, p).Interface()) == nil
	}
}

func setTime(_ *texts, p unsafe.Pointer, v written) bool {
	if t, ok := instant(v.raw); ok {
		*(*time.Time)(p) = t
		return true
	}
	return (*time.Time)(p).UnmarshalJSON(v.raw) == nil
}

// setObject is of a struct whose fields have setters of their own.
func setObject(_ *texts, _ unsafe.Pointer, v written) bool { return v.raw[0] == '{' || v.raw[0] == 'n' }

func setString(t *texts, p unsafe.Pointer, v written) bool {
	if v.raw[0] != '"' {
		return v.raw[0] == 'n'
	}
	*(*string)(p) = t.text(v)
	return true
}

func setBool(_ *texts, p unsafe.Pointer, v written) bool {
	*(*bool)(p) = v.raw[0] == 't'
	return v.raw[0] == 't' || v.raw[0] == 'f' || v.raw[0] == 'n'
}

func setSigned(size uintptr) setter {
	return func(_ *texts, p unsafe.Pointer, v written) bool {
		n, ok := Int(v.raw)
		if !ok {
			return v.raw[0] == 'n'
		}
		switch size {
		case 1:
			*(*int8)(p) = int8(n)
			return int(int8(n)) == n
		case 2:
			*(*int16)(p) = int16(n)
			return int(int16(n)) == n
		case 4:
			*(*int32)(p) = int32(n)
			return int(int32(n)) == n
		}
		*(*int64)(p) = int64(n)
		return true
	}
}

func setUnsigned(size uintptr) setter {
	return func(_ *texts, p unsafe.Pointer, v written) bool {
		n, ok := Int(v.raw)
		if !ok || v.raw[0] == '-' {
			return v.raw[0] == 'n'
		}
		switch size {
		case 1:
			*(*uint8)(p) = uint8(n)
			return int(uint8(n)) == n
		case 2:
			*(*uint16)(p) = uint16(n)
			return int(uint16(n)) == n
		case 4:
			*(*uint32)(p) = uint32(n)
			return int(uint32(n)) == n
		}
		*(*uint64)(p) = uint64(n)
		return true
	}
}

func setFloat(_ *texts, p unsafe.Pointer, v written) bool {
	if v.raw[0] != '-' && v.raw[0]-'0' > 9 {
		return v.raw[0] == 'n'
	}
	if f, ok := short64(v.raw); ok {
		*(*float64)(p) = f
		return true
	}
	f, err := strconv.ParseFloat(unsafe.String(&v.raw[0], len(v.raw)), 64)
	*(*float64)(p) = f
	return err == nil
}

// short64 reads a number of so few digits that it and the power of ten below it
// are floats: then their quotient is the nearest one to what was written.
func short64(raw []byte) (float64, bool) {
	if raw[0] == '-' || len(raw) > 15 {
		return 0, false
	}
	n, unit, decimals := uint64(0), 1.0, false
	for _, c := range raw {
		switch {
		case c == '.':
			decimals = true
		case c-'0' > 9:
			return 0, false
		default:
			if n = n*10 + uint64(c-'0'); decimals {
				unit *= 10
			}
		}
	}
	return float64(n) / unit, true
}

func setStrings(t *texts, p unsafe.Pointer, v written) bool {
	raw := v.raw
	if raw[0] != '[' {
		return raw[0] == 'n'
	}
	t.list = t.list[:0]
	s := scanner{b: raw}
	for i := s.space(1); raw[i] != ']'; {
		end := s.value(i, nil, 0)
		var text string
		if !setString(t, unsafe.Pointer(&text), written{raw[i:end], s.plain}) {
			return false
		}
		t.list = append(t.list, text)
		if i = s.space(end); raw[i] == ',' {
			i = s.space(i + 1)
		}
	}
	out := t.slice(len(t.list))
	copy(out, t.list)
	*(*[]string)(p) = out
	return true
}

func setPointer(e reflect.Type) setter {
	set := setterOf(e)
	return func(t *texts, p unsafe.Pointer, v written) bool {
		if v.raw[0] == 'n' {
			return true
		}
		to := reflect.New(e)
		*(*unsafe.Pointer)(p) = to.UnsafePointer()
		return set(t, to.UnsafePointer(), v)
	}
}
