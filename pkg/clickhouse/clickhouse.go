// Package clickhouse makes rows as ClickHouse reads them.
package clickhouse

// Column is a column of a table.
type Column struct {
	Name string
	Type *Type
	// Default is the kind of the column's default: "", DEFAULT or EPHEMERAL.
	Default string
}

// Columns are those of a row, in its order.
type Columns []Column

// Names are the columns' names.
func (c Columns) Names() []string {
	names := make([]string, len(c))
	for i := range c {
		names[i] = c[i].Name
	}
	return names
}
