package clickhouse

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"time"
)

// typeText is the type that values of a Go type have where no tag says another.
func typeText(g reflect.Type, depth int) (string, error) {
	if depth > maxTypeDepth {
		return "", errTypeDepth
	}
	switch g {
	case reflect.TypeFor[time.Time]():
		return "DateTime64(9)", nil
	case reflect.TypeFor[time.Duration]():
		return "Time64(9)", nil
	case reflect.TypeFor[netip.Addr]():
		return "IPv6", nil
	case reflect.TypeFor[big.Int](), reflect.TypeFor[*big.Int]():
		return "Int256", nil
	case reflect.TypeFor[json.RawMessage]():
		return "JSON", nil
	}
	switch g.Kind() {
	case reflect.Bool, reflect.String,
		reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64:
		name := g.Kind().String()
		return strings.ToUpper(name[:1]) + name[1:], nil
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "UI" + g.Kind().String()[2:], nil
	case reflect.Int:
		return "Int64", nil
	case reflect.Uint:
		return "UInt64", nil
	case reflect.Pointer:
		return around("Nullable", g.Elem(), depth)
	case reflect.Slice:
		if g.Elem().Kind() == reflect.Uint8 {
			return "String", nil
		}
		return around("Array", g.Elem(), depth)
	case reflect.Array:
		if g.Elem().Kind() != reflect.Uint8 {
			return around("Array", g.Elem(), depth)
		}
		if g.Len() == 16 {
			return "UUID", nil
		}
		return fmt.Sprintf("FixedString(%d)", g.Len()), nil
	case reflect.Map:
		key, err := typeText(g.Key(), depth+1)
		if err != nil {
			return "", err
		}
		value, err := typeText(g.Elem(), depth+1)
		return "Map(" + key + ", " + value + ")", err
	case reflect.Struct:
		return tupleText(g, depth)
	}
	return "", fmt.Errorf("no type holds a %v: leave the field out with ch:\"-\"", g)
}

func around(name string, of reflect.Type, depth int) (string, error) {
	inner, err := typeText(of, depth+1)
	return name + "(" + inner + ")", err
}

func tupleText(g reflect.Type, depth int) (string, error) {
	fields, err := fieldsOf(g, 0)
	if err != nil {
		return "", fmt.Errorf("%v: %w", g, err)
	}
	parts := make([]string, len(fields))
	for i, f := range fields {
		of := f.tag
		if of == "" {
			if of, err = typeText(f.goType, depth+1); err != nil {
				return "", err
			}
		}
		parts[i] = identifier(f.name) + " " + of
	}
	return "Tuple(" + strings.Join(parts, ", ") + ")", nil
}
