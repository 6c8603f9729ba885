// Package clickhouse makes rows for tables of ClickHouse, in its formats
// RowBinary and Native: of JSON values, which a chain of a pipeline file has, and
// of Go structs. It knows types and values, and neither servers nor SQL.
//
// The law: a value is stored as it was meant or it is a *ValueError of its
// record. Nothing overflows, is cut, is rounded (except floats) or moves to
// another time zone silently. Equal values make equal bytes.
//
// # JSON values
//
// A row has a value for each column. An absent one is NULL if the column is
// Nullable and the type's default otherwise, as the server does for fields that
// it is not given; with RowOptions.Defaults it is the column's DEFAULT, if
// there is one. JSON null is NULL, and an error if the column is not Nullable.
//
//	type               takes
//	(U)Int8 … 256      whole numbers, however they are written (1e3, 5.0), also in a
//	                   string; true as 1 and false as 0
//	Float32, Float64   numbers, also in a string: the nearest float; "nan", "inf",
//	                   "-inf". Too large, or too small to differ from 0, is an error
//	Decimal            numbers, also in a string, that have no more decimals than the
//	                   type, zeros at the end aside
//	Bool               true, false, 1, 0
//	String             the text of a string; any other value as it is written
//	FixedString        as String, if it is not longer; zeros follow what is shorter
//	Date, Date32       "2006-01-02"; a time of day only if it is midnight, and without
//	                   an offset, for an instant is another day elsewhere. No numbers
//	DateTime           "2006-01-02 15:04:05", T in place of the space, with decimals;
//	DateTime64         with Z or +01:00 behind it is that instant, else what clocks
//	                   show in the column's zone; "2006-01-02" is midnight. A number is
//	                   seconds since 1970. More decimals than the type has are an
//	                   error, zeros at the end aside; so is a local time that clocks
//	                   skip or show twice, and text of digits alone
//	Time, Time64       "15:04:05", with decimals, from -999:59:59 to 999:59:59; seconds
//	Enum8, Enum16      a name in a string, or a number that there is
//	UUID               32 hex digits, with or without hyphens
//	IPv4, IPv6         addresses; an IPv4 one is also the IPv6 one that is mapped to it
//	Nullable           what its type takes, and null
//	LowCardinality,    what their type takes
//	SimpleAggregate…
//	Array              arrays
//	Tuple              arrays with a value for each element; with names also objects,
//	                   where a member that is absent is as a field that is, and one
//	                   that the tuple does not have an error
//	Map                objects: the names are read as strings are. All members stay, in
//	                   their order
//	Nested             arrays of objects, as Array(Tuple); where the server has columns
//	                   n.a and n.b in its place, arrays
//	JSON               objects, as they are written. The server is to be told by
//	                   input_format_binary_read_json_as_string, or in Native by nothing
//	Point, Ring, …     arrays of numbers, as the tuples and arrays that they are
//
// If a JSON object has a member twice the last one counts, except for a Map. In
// text an unpaired surrogate becomes U+FFFD; other bytes stay, UTF-8 or not.
// AggregateFunction, Dynamic, Variant and other types that cannot be written as
// rows are refused by ParseType, which says why.
//
// # Structs
//
// NewEncoder reads the tags of a struct: `ch:"name"`, `ch:"name,type=T"` where
// the column has another type than the field by itself, `ch:"-"` for no column
// and `ch:",inline"` for a struct whose fields are columns. A field without a name
// there has that of its json tag, or its own.
//
//	Go                      by itself        also
//	bool                    Bool             integers
//	int8 … uint64           Int8 … UInt64    other integers and floats, if they fit;
//	                                         Decimal; Enum; DateTime and Time as seconds
//	int, uint               Int64, UInt64    as those
//	float32, float64        Float32, 64      each other
//	string                  String           all that a JSON string is taken for; JSON
//	[]byte                  String           FixedString, JSON
//	[N]byte                 FixedString(N)   String, longer FixedString; [4]byte IPv4
//	[16]byte                UUID             IPv6, FixedString(16)
//	time.Time               DateTime64(9)    DateTime, DateTime64; Date of a midnight
//	time.Duration           Time64(9)        Time, Time64
//	netip.Addr              IPv6             IPv4
//	big.Int, *big.Int       Int256           other integers
//	json.RawMessage         JSON             all, as the JSON value that it is
//	*T                      Nullable(T)
//	[]T, [N]T               Array(T)         Nested, types of geometry
//	map[K]V                 Map(K, V)        in the order of the encoded keys
//	struct                  Tuple(…)         by name, or in order; Point
//
// The zone of a time.Time matters only for a Date; text without one is taken as
// UTC.
package clickhouse

// Column is a column of a table.
type Column struct {
	Name string
	Type *Type
	// Default is the kind of the column's default, as the server says it: "",
	// DEFAULT or EPHEMERAL. It helps to choose columns; rows depend on it only
	// with RowOptions.Defaults.
	Default string
}

// Columns are the columns of a row, in its order.
type Columns []Column

// Names are the columns' names.
func (c Columns) Names() []string {
	names := make([]string, len(c))
	for i := range c {
		names[i] = c[i].Name
	}
	return names
}
