package clickhouse

// Type is a column's type, as ParseType makes it.
type Type struct {
	name  string // without arguments
	text  string // as the server writes it
	args  []*Type
	names []string // of a Tuple's elements, where they have some
	zones bool     // it is a DateTime or DateTime64 without a zone, or holds one
	coder coder
	shape *shape
}

// String is the type as the server writes it.
func (t *Type) String() string { return t.text }

// Name is the type's name without its arguments, as DateTime64.
func (t *Type) Name() string { return t.name }

// Width is the number of bytes that every value takes in RowBinary; 0 where
// they differ.
func (t *Type) Width() int { return t.shape.width }

// AppendZero appends the type's default as a row has it.
func (t *Type) AppendZero(dst []byte) []byte { return t.coder.zero(dst) }

// Nullable reports whether NULL is one of the values.
func (t *Type) Nullable() bool {
	for t.wraps() {
		if t.name == "Nullable" {
			return true
		}
		t = t.args[0]
	}
	return false
}

// Zoneless reports whether it is a time that names no zone, or holds one.
func (t *Type) Zoneless() bool { return t.zones }

// Scalar is the type without LowCardinality, Nullable and
// SimpleAggregateFunction around it.
func (t *Type) Scalar() *Type {
	for t.wraps() {
		t = t.args[0]
	}
	return t
}

func (t *Type) wraps() bool {
	return t.name == "LowCardinality" || t.name == "Nullable" || t.name == "SimpleAggregateFunction"
}
