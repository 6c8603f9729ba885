package exprchain_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/chain/exprchain"
)

// Columns and selects of an edited record are what the standard library finds, in
// whatever order and number members come, and whatever the records before were.
func TestMembersOfEditedRecordsAreFoundWhereverTheyAre(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, n := range []int{1, 3, 6, 40} {
		var paths []string
		for i := range n {
			paths = append(paths, fmt.Sprintf("c%d", i), fmt.Sprintf("c%d.in", i), fmt.Sprintf("c%d.on.x", i))
		}
		var named []string
		for i, path := range paths {
			named = append(named, fmt.Sprintf("n%d: %s", i, path))
		}
		lines := partial(r, n)
		encoded, _ := rows(t, []exprchain.Step{drop("gone")}, exprchain.Options{OnError: chain.Fail, Encoders: []exprchain.Encoder{pipes(paths)}}, lines...)
		selected, _ := rows(t, []exprchain.Step{drop("gone"), selects(named...)}, exprchain.Options{OnError: chain.Fail}, lines...)
		for i, line := range lines {
			var values, members []string
			for k, v := range lookup(t, line, n) {
				members = append(members, fmt.Sprintf(`"n%d":%s`, k, strings.Replace(v, "-", "null", 1)))
				values = append(values, v)
			}
			if want := strings.Join(values, "|"); encoded[0][i] != want {
				t.Fatalf("columns of %s:\n got %s\nwant %s", line, encoded[0][i], want)
			}
			if want := "{" + strings.Join(members, ",") + "}\n"; selected[0][i] != want {
				t.Fatalf("members of %s:\n got %s\nwant %s", line, selected[0][i], want)
			}
		}
	}
}

func TestTheWholeOfAnEditedRecordIsAColumnAndAMember(t *testing.T) {
	line, want := `{"a":1,"gone":2,"b":{"c":3}}`, `{"a":1,"b":{"c":3}}`
	encoded, _ := rows(t, []exprchain.Step{drop("gone")}, exprchain.Options{OnError: chain.Fail, Encoders: []exprchain.Encoder{pipes{"this", "b.c"}}}, line)
	if got := encoded[0][0]; got != want+"|3" {
		t.Errorf("columns: got %s", got)
	}
	selected, _ := rows(t, []exprchain.Step{drop("gone"), selects("all: this", "b.c")}, exprchain.Options{OnError: chain.Fail}, line)
	if got := selected[0][0]; got != `{"all":`+want+`,"c":3}`+"\n" {
		t.Errorf("members: got %s", got)
	}
}

// partial makes 40 records that have some of n members, in order or not.
func partial(r *rand.Rand, n int) (lines []string) {
	for range 40 {
		order, share := r.Perm(n), r.IntN(4)
		if r.IntN(2) == 0 {
			for i := range order {
				order[i] = i
			}
		}
		members := []string{`"gone":1`}
		for _, i := range order {
			if r.IntN(4) > share {
				continue
			}
			name := fmt.Sprintf([]string{"c%d", "c%d", `\u0063%d`, "d%d"}[r.IntN(4)], i)
			members = append(members, fmt.Sprintf([]string{`"%s":%d`, `"%s":{"in":%d}`, `"%s":{"in":1,"on":{"x":%[2]d},"in":2}`}[r.IntN(3)], name, r.IntN(100)))
		}
		lines = append(lines, "{"+strings.Join(members, ",")+"}")
	}
	return lines
}

// lookup is what the standard library finds at c0, c0.in, c1 and so on.
func lookup(t *testing.T, line string, n int) (values []string) {
	t.Helper()
	var top map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &top); err != nil {
		t.Fatal(err)
	}
	found := func(v json.RawMessage) string {
		if v == nil {
			return "-"
		}
		return string(v)
	}
	for i := range n {
		v := top[fmt.Sprintf("c%d", i)]
		var in map[string]json.RawMessage
		_ = json.Unmarshal(v, &in) // what is no object has no members
		var on map[string]json.RawMessage
		_ = json.Unmarshal(in["on"], &on)
		values = append(values, found(v), found(in["in"]), found(on["x"]))
	}
	return values
}

// To compare a name with a key that has escapes takes an allocation, so these
// count the comparisons: they are to grow with the columns, and not with those
// times the members.
func TestColumnsThatAreNotThereCostNoWalkEach(t *testing.T) {
	const n = 200
	var line strings.Builder
	var paths, inner []string
	for i := range n {
		fmt.Fprintf(&line, `,"\u0064%d":1`, i)
		paths = append(paths, fmt.Sprintf("c%d", i))
		inner = append(inner, fmt.Sprintf("in.c%d", i))
	}
	in := batch(`{"in":{` + line.String()[1:] + "}" + line.String() + "}")
	for name, c := range map[string]struct {
		steps []exprchain.Step
		o     exprchain.Options
	}{
		"columns":  {[]exprchain.Step{drop("gone")}, exprchain.Options{Encoders: []exprchain.Encoder{pipes(paths)}}},
		"below":    {[]exprchain.Step{drop("gone")}, exprchain.Options{Encoders: []exprchain.Encoder{pipes(inner)}}},
		"a select": {[]exprchain.Step{drop("gone"), selects(paths...)}, exprchain.Options{}},
	} {
		worker, err := exprchain.Compile(c.steps, c.o)
		if err != nil {
			t.Fatal(err)
		}
		w, out := worker(), &chain.Output{Sinks: make([]chain.Rows, 1)}
		compared := testing.AllocsPerRun(10, func() {
			out.Sinks[0].Reset()
			if err := w.Process(in, out); err != nil || len(out.Sinks[0].Ends) != 1 {
				t.Fatal(err)
			}
		})
		if compared > 4*n {
			t.Errorf("%s: %v comparisons for %d columns", name, compared, n)
		}
	}
}
