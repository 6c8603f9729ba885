package clickhouse_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/clickhouse"
)

// The members of an object are the elements of a tuple in whatever order they
// come: each row is that of the array with the same values.
func TestAnObjectIsATupleInAnyOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for n := 1; n <= 200; n = 3*n + 1 {
		var types []string
		for i := range n {
			types = append(types, fmt.Sprintf("e%d UInt16", i))
		}
		e := encoder(t, column(t, "Tuple("+strings.Join(types, ", ")+")"), clickhouse.RowOptions{})
		for range 20 {
			values, members := make([]string, n), []string(nil)
			for _, i := range r.Perm(n) {
				values[i] = "0" // of a member that is not there
				for range r.IntN(3) {
					values[i] = fmt.Sprint(r.IntN(1000))
					members = append(members, fmt.Sprintf([]string{`"e%d":%s`, `"\u0065%d":%s`}[r.IntN(2)], i, values[i]))
				}
			}
			object := "{" + strings.Join(members, ",") + "}"
			got, err := e.Append(nil, [][]byte{[]byte(object)})
			want, wanted := e.Append(nil, [][]byte{[]byte("[" + strings.Join(values, ",") + "]")})
			if err != nil || wanted != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s: got %x, %v\nwant %x, %v", object, got, err, want, wanted)
			}
		}
		if _, err := e.Append(nil, [][]byte{fmt.Appendf(nil, `{"e0":1,"e%d":1}`, n)}); err == nil {
			t.Errorf("of %d elements: one that there is not is taken", n)
		}
	}
}
