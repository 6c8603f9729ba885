//go:build !race

package clickhouse_test

import (
	"testing"

	"github.com/spate-go/spate/pkg/clickhouse"
)

func TestARowOfAStructTakesNoAllocation(t *testing.T) {
	e, err := clickhouse.NewEncoder[everything]()
	if err != nil {
		t.Fatal(err)
	}
	v, row := full(), make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(1000, func() { row, err = e.Append(row[:0], v) }); n != 0 || err != nil {
		t.Errorf("%v allocations, %v", n, err)
	}
}

func TestARowOfJSONTakesNoAllocation(t *testing.T) {
	var cols clickhouse.Columns
	var values [][]byte
	for _, v := range load[[]value](t, "values.json") {
		cols = append(cols, clickhouse.Column{Name: v.Type, Type: column(t, v.Type)[0].Type})
		values = append(values, v.raw(t))
	}
	e := encoder(t, cols, clickhouse.RowOptions{})
	row, err := make([]byte, 0, 1<<20), error(nil)
	if n := testing.AllocsPerRun(100, func() { row, err = e.Append(row[:0], values) }); n != 0 || err != nil {
		t.Errorf("%v allocations, %v", n, err)
	}
}
