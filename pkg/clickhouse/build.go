package clickhouse

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// unsupported are the types that no row can be made for, and why.
var unsupported = map[string]string{
	"AggregateFunction": "it holds states of an aggregation, not values: insert into a table of ENGINE = Null and fill this one by a materialized view with the -State functions",
	"Dynamic":           "rows do not carry a type for each value: use JSON, or a column of one type",
	"Variant":           "rows do not carry a type for each value: use JSON, or a column of one type",
	"Geometry":          "it is a Variant: use the one of the geometric types that it holds",
	"QBit":              "use Array(Float32) and cast it in a materialized view",
	"Object":            "ClickHouse has removed it: use JSON",
	"BFloat16":          "use Float32",
	"Nothing":           "it has no values",
	"Interval":          "it is not a column type",
}

// builder makes types of nodes. Times without a zone are in zone.
type builder struct{ zone *time.Location }

var (
	errOneType = errors.New("want one type between the parentheses")
	errNoArgs  = errors.New("it takes no arguments")
)

// build makes the type of n.
func (b builder) build(n *node) (*Type, error) {
	if why := unsupported[n.name]; why != "" {
		return nil, fmt.Errorf("%s is not supported: %s", n.name, why)
	}
	if s, ok := simple(n.name); ok {
		if n.list {
			return nil, fmt.Errorf("%s: %w", n.name, errNoArgs)
		}
		return s, nil
	}
	if text := geometric[n.name]; text != "" && !n.list {
		t, err := parseType(text, b.zone)
		if err != nil {
			return nil, err
		}
		return &Type{name: n.name, text: n.name, coder: t.coder, shape: t.shape}, nil
	}
	var t *Type
	var err error
	switch n.name {
	case "FixedString":
		t, err = fixedString(n)
	case "DateTime", "DateTime32":
		t, err = b.dateTime(n)
	case "DateTime64":
		t, err = b.dateTime64(n)
	case "Time64":
		t, err = time64(n)
	case "Enum", "Enum8", "Enum16":
		t, err = enumeration(n)
	case "JSON":
		t = &Type{text: "JSON", coder: document{}, shape: variable()}
		if n.raw != "" {
			t.text = "JSON(" + n.raw + ")"
		}
	case "Nullable", "LowCardinality", "SimpleAggregateFunction":
		t, err = b.wrapper(n)
	case "Array", "Map", "Tuple", "Nested":
		t, err = b.container(n)
	default:
		if strings.HasPrefix(n.name, "Decimal") {
			t, err = decimalType(n)
			break
		}
		return nil, fmt.Errorf("%s is not known", cut(n.name))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.name, err)
	}
	if t.name == "" {
		t.name = n.name
	}
	return t, nil
}

// geometric are the types of geometry, which are names for others.
var geometric = map[string]string{
	"Point":           "Tuple(Float64, Float64)",
	"Ring":            "Array(Point)",
	"LineString":      "Array(Point)",
	"MultiPoint":      "Array(Point)",
	"MultiLineString": "Array(LineString)",
	"Polygon":         "Array(Ring)",
	"MultiPolygon":    "Array(Polygon)",
}

// simple is a type without arguments.
func simple(name string) (*Type, bool) {
	t := &Type{name: name, text: name}
	switch name {
	case "Bool":
		t.coder, t.shape = boolean{}, fixed(1)
	case "Float32":
		t.coder, t.shape = float{width: 4}, fixed(4)
	case "Float64":
		t.coder, t.shape = float{width: 8}, fixed(8)
	case "String":
		t.coder, t.shape = text{}, variable()
	case "Date":
		t.coder, t.shape = date{width: 2}, fixed(2)
	case "Date32":
		t.coder, t.shape = date{width: 4}, fixed(4)
	case "Time":
		t.coder, t.shape = clock{width: 4}, fixed(4)
	case "UUID":
		t.coder, t.shape = uuid{}, fixed(16)
	case "IPv4":
		t.coder, t.shape = ipv4{}, fixed(4)
	case "IPv6":
		t.coder, t.shape = ipv6{}, fixed(16)
	default:
		bits, ok := strings.CutPrefix(name, "Int")
		signed := ok
		if !ok {
			bits, ok = strings.CutPrefix(name, "UInt")
		}
		n, err := strconv.Atoi(bits)
		if !ok || err != nil || bits != strconv.Itoa(n) || n < 8 || n > 256 || n&(n-1) != 0 {
			return nil, false
		}
		t.shape = fixed(n / 8)
		if t.coder = (integer{width: n / 8, signed: signed}); n > 64 {
			t.coder = bigInteger{width: n / 8, signed: signed}
		}
	}
	return t, true
}

// one is the argument of a type that holds one other.
func (b builder) one(n *node) (*Type, error) {
	if len(n.args) != 1 || n.args[0].node == nil || n.args[0].label != "" {
		return nil, errOneType
	}
	return b.build(n.args[0].node)
}

// wrapper is a type whose values are those of another.
func (b builder) wrapper(n *node) (*Type, error) {
	if n.name == "SimpleAggregateFunction" {
		if len(n.args) != 2 || n.args[0].node == nil || n.args[1].node == nil {
			return nil, errors.New("want a function and a type")
		}
		t, err := b.build(n.args[1].node)
		if err != nil {
			return nil, err
		}
		function := n.args[0].node.name
		if n.args[0].node.list {
			function += "(" + n.args[0].node.raw + ")"
		}
		return &Type{text: "SimpleAggregateFunction(" + function + ", " + t.text + ")", args: []*Type{t}, zones: t.zones, coder: t.coder, shape: t.shape}, nil
	}
	of, err := b.one(n)
	if err != nil {
		return nil, err
	}
	t := &Type{text: n.name + "(" + of.text + ")", args: []*Type{of}, zones: of.zones, coder: of.coder, shape: of.shape}
	switch scalar := of.Scalar(); {
	case n.name == "LowCardinality" && of.name != "Nullable" && of.wraps(),
		scalar.shape.op > opBytes && (n.name != "Nullable" || scalar.name != "Tuple" && scalar.name != "Point"):
		return nil, fmt.Errorf("it cannot hold %s", of.text)
	case n.name == "Nullable":
		if of.wraps() {
			return nil, fmt.Errorf("it cannot hold %s", of.text)
		}
		t.coder, t.shape = nullable{of.coder}, optional(of.shape, of.coder.zero(nil))
	}
	return t, nil
}

// container is a type whose values hold several.
func (b builder) container(n *node) (*Type, error) {
	t := &Type{}
	var parts []string
	for _, a := range n.args {
		if a.node == nil {
			return nil, errors.New("want types between the parentheses")
		}
		of, err := b.build(a.node)
		if err != nil {
			return nil, err
		}
		t.args, t.zones = append(t.args, of), t.zones || of.zones
		part := of.text
		if a.label != "" {
			t.names = append(t.names, a.label)
			part = identifier(a.label) + " " + part
		}
		parts = append(parts, part)
	}
	t.text = n.name + "(" + strings.Join(parts, ", ") + ")"
	labels := n.name == "Nested" || n.name == "Tuple" && len(t.names) > 0
	if labels && len(t.names) != len(t.args) || !labels && len(t.names) > 0 {
		return nil, errors.New("want a name for each element, or for none")
	}
	return t, t.contain(n.name)
}

// contain says how a container's values are made.
func (t *Type) contain(name string) error {
	switch {
	case name == "Array" && len(t.args) == 1:
		t.coder, t.shape = array{of: t.args[0].coder}, list(t.args[0].shape)
	case name == "Map" && len(t.args) == 2:
		t.coder, t.shape = dictionary{key: t.args[0].coder, value: t.args[1].coder}, list(record(t.args[0].shape, t.args[1].shape))
	case name == "Array":
		return errOneType
	case name == "Map":
		return errors.New("want a type of keys and one of values")
	case len(t.args) == 0:
		return errors.New("it has no elements")
	default:
		var parts []*shape
		for _, a := range t.args {
			parts = append(parts, a.shape)
		}
		c := newTuple(t)
		t.coder, t.shape = c, record(parts...)
		if name == "Nested" {
			t.coder, t.shape = array{of: c}, list(t.shape)
		}
	}
	return nil
}

// identifier is a name as a type has it.
func identifier(name string) string {
	for i := range len(name) {
		if !isWord(name[i]) || i == 0 && name[0]-'0' <= 9 {
			return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(name) + "`"
		}
	}
	if name == "" {
		return "``"
	}
	return name
}

// numbers reads a type's arguments where they are only numbers.
func (n *node) numbers(want int) ([]int, error) {
	out := make([]int, 0, want)
	for _, a := range n.args {
		v, err := strconv.Atoi(a.number)
		if err != nil || a.quoted {
			return nil, errors.New("want a number")
		}
		out = append(out, v)
	}
	if len(out) != want {
		return nil, fmt.Errorf("want %d numbers between the parentheses", want)
	}
	return out, nil
}
