package clickhousesink_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/clickhousesink"
)

// cluster is shards of one replica each, by their weights.
func cluster(t *testing.T, o *clickhousesink.Options, weights ...int) []*server {
	hosts := map[string]http.Handler{}
	servers := make([]*server, len(weights))
	o.Shards = nil
	for i, w := range weights {
		servers[i] = newServer(t, wide()...)
		servers[i].events().window = 10_000
		host := fmt.Sprintf("shard%d:8123", i)
		hosts[host] = servers[i]
		o.Shards = append(o.Shards, clickhousesink.Shard{Replicas: []string{"http://" + host}, Weight: w})
	}
	o.Transport = trip{hosts}
	return servers
}

// Ids 0 to 99 by their remainder: the intervals are half open, in the order of
// the shards.
func TestRowsGoToTheShardOfTheirKeyInTheirOrder(t *testing.T) {
	for _, format := range []clickhousesink.Format{clickhousesink.RowBinary, clickhousesink.Native} {
		o := clickhousesink.Options{Table: "db.events", Format: format, Sharding: clickhousesink.Sharding{Key: "id"}}
		servers := cluster(t, &o, 2, 0, 3) // 0 means 1
		opened := open(t, o)
		b := block(0, 0, 100)
		write(t, opened, b)
		write(t, opened, b)
		for i, of := range [][]int{{0, 1}, {2}, {3, 4, 5}} {
			var want []string
			for id := range 100 {
				if slices.Contains(of, id%6) {
					want = append(want, texts(id, id+1)...)
				}
			}
			if got := servers[i].contents("db.events"); !slices.Equal(got, want) {
				t.Errorf("%s: shard %d has %d rows, want %d", format, i, len(got), len(want))
			}
			got := servers[i].tokens()
			if len(got) != 2 || got[0] != got[1] || !strings.HasPrefix(got[0], b.Token+fmt.Sprintf("-s%d.all-", i)) {
				t.Errorf("shard %d: tokens %v", i, got)
			}
		}
	}
}

// What a record lacks is the type's default to the server, and to its shard.
func TestARowWithoutItsKeyGoesToTheShardOfTheDefault(t *testing.T) {
	for _, key := range []string{"xxHash64(name)", "cityHash64(name)", "sipHash64(id)", "xxHash64(id)", "id", "cityHash64(id, name)"} {
		o := clickhousesink.Options{Table: "db.events", Defaults: true, Sharding: clickhousesink.Sharding{Key: key}}
		servers := cluster(t, &o, 1, 1, 1, 1, 1, 1, 1)
		opened := open(t, o)
		given := &sink.Block{Unit: unitID, Token: "given", Rows: 1, Data: []byte("\x00\x00\x00\x00\x00\x00\x00"), Ends: []int{7}}
		absent := &sink.Block{Unit: unitID, Token: "absent", Rows: 1, Data: []byte("\x01\x01"), Ends: []int{2}}
		write(t, opened, given)
		write(t, opened, absent)
		var found []int
		for _, s := range servers {
			if n := len(s.contents("db.events")); n > 0 {
				found = append(found, n)
			}
		}
		if !slices.Equal(found, []int{2}) {
			t.Errorf("%s: %v rows of one key are in as many shards", key, found)
		}
	}
}

func TestPartsOfOtherWeightsHaveOtherTokens(t *testing.T) {
	tokens := map[string]bool{}
	for _, weights := range [][]int{{1, 1}, {1, 2}, {2, 1}} {
		o := clickhousesink.Options{Table: "db.events", Sharding: clickhousesink.Sharding{Key: "id"}}
		servers := cluster(t, &o, weights...)
		write(t, open(t, o), block(0, 0, 100))
		for _, s := range servers {
			tokens[s.tokens()[0]] = true
		}
	}
	if len(tokens) != 6 {
		t.Errorf("%d tokens of 6 parts: %v", len(tokens), slices.Sorted(maps.Keys(tokens)))
	}
}

func TestWithoutAKeyABlockGoesToOneShardAlways(t *testing.T) {
	for _, key := range []string{"", "rand()"} {
		o := clickhousesink.Options{Table: "db.events", Sharding: clickhousesink.Sharding{Key: key}}
		servers := cluster(t, &o, 1, 3)
		opened := open(t, o)
		const blocks = 200
		for segment := range blocks {
			for range 2 {
				write(t, opened, block(segment, segment, segment+1))
			}
		}
		first, second := len(servers[0].contents("db.events")), len(servers[1].contents("db.events"))
		if first+second != blocks || first < blocks/8 || first > blocks*3/8 {
			t.Errorf("%d and %d rows of %d", first, second, blocks)
		}
	}
}

func TestPoisonIsFoundInEachShard(t *testing.T) {
	o := clickhousesink.Options{Table: "db.events", Sharding: clickhousesink.Sharding{Key: "cityHash64(name)"}}
	servers := cluster(t, &o, 1, 1, 1)
	bad := []int{0, 17, 18, 63, 99}
	var rows []string
	for _, s := range servers {
		s.events().refuses = badIDs(bad...)
	}
	opened := open(t, o)
	for range 2 {
		checkRejected(t, opened.Write(t.Context(), block(0, 0, 100)), bad)
	}
	for _, s := range servers {
		rows = append(rows, s.contents("db.events")...)
	}
	if !slices.Equal(sorted(rows), sorted(texts(0, 100, bad...))) {
		t.Errorf("%d rows of 95", len(rows))
	}
}

// What one shard has is not sent again because another failed, and it is the
// worst that is told.
func TestAShardThatFailsLeavesTheOthersAlone(t *testing.T) {
	o := clickhousesink.Options{Table: "db.events", Sharding: clickhousesink.Sharding{Key: "id"}}
	servers := cluster(t, &o, 1, 1)
	servers[0].events().window = 0
	opened := open(t, o)
	servers[1].script = func(n int, _ *http.Request) step {
		if n == 1 {
			return step{before: lost}
		}
		return step{}
	}
	expect(t, opened.Write(t.Context(), block(0, 0, 10)), failure.Transient, failure.RetriesExhausted, "shard1")
	write(t, opened, block(0, 0, 10))
	if n := len(servers[0].all()); n != 1 {
		t.Errorf("%d inserts", n)
	}
	servers[0].script = func(int, *http.Request) step { return step{before: lost} }
	servers[1].script = func(int, *http.Request) step { return step{before: refusing(497, "Not enough privileges")} }
	expect(t, opened.Write(t.Context(), block(1, 0, 10)), failure.Job, failure.Denied, "shard1")
}

func TestReplicasTakeTurnsAndStandInForEachOther(t *testing.T) {
	a, b := newServer(t, wide()...), newServer(t, wide()...)
	o := options(a)
	replicas(&o, a, b)
	opened := open(t, o)
	for segment := range 10 {
		write(t, opened, block(segment, 0, 1))
	}
	if x, y := len(a.all()), len(b.all()); x != 5 || y != 5 {
		t.Errorf("%d and %d inserts", x, y)
	}
	var sent []string
	a.script = func(_ int, r *http.Request) step {
		sent = append(sent, r.URL.Query().Get("insert_deduplication_token"))
		return step{before: lost}
	}
	one := block(10, 0, 1)
	expect(t, opened.Write(t.Context(), one), failure.Transient, failure.RetriesExhausted, "a:8123")
	write(t, opened, one)
	if last := b.all()[5]; last.token != one.Token || sent[0] != one.Token || last.body != a.all()[0].body {
		t.Errorf("the other replica got token %s and %q", last.token, last.body)
	}
}

func TestAReplicaThatIsDownIsPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newServer(t, wide()...), newServer(t, wide()...)
		o := options(a)
		replicas(&o, a, b)
		opened := open(t, o)
		a.script = func(int, *http.Request) step { return step{before: lost} }
		start, failed := time.Now(), 0
		for segment := range 20 {
			if opened.Write(t.Context(), block(segment, 0, 1)) != nil {
				failed++
			}
		}
		if d := time.Since(start); failed != 3 || d != 0 {
			t.Errorf("%d writes failed, it took %v", failed, d)
		}
	})
}

// A shard whose every replica fails rests with them: inserts wait, which is no
// attempt, and are let through one at a time.
func TestAShardThatIsDownIsProbedAndThenSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newServer(t, wide()...), newServer(t, wide()...)
		o := options(a)
		replicas(&o, a, b)
		opened := open(t, o)
		var asked []time.Duration
		start := time.Now()
		down := func(int, *http.Request) step {
			asked = append(asked, time.Since(start))
			return step{before: lost}
		}
		a.script, b.script = down, down
		err := sink.Retry(opened, sink.RetryOptions{Name: "ch"}).Write(t.Context(), block(0, 0, 1))
		expect(t, err, failure.Job, failure.SinkDown, "unexpected EOF")
		if d := time.Since(start); d < 55*time.Second || d > 75*time.Second {
			t.Errorf("it was given up after %v", d)
		}
		if n := len(asked); n < 10 || n > 6+2*16 {
			t.Errorf("%d requests in a minute", n)
		}
		a.script = nil
		write(t, sink.Retry(opened, sink.RetryOptions{}), block(0, 0, 1))
	})
}

func TestManyWaitForOneProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, wide()...)
		opened := open(t, options(s))
		var up bool
		probes := 0
		s.script = func(int, *http.Request) step {
			if probes++; up {
				return step{}
			}
			return step{before: lost}
		}
		for range 3 {
			expect(t, opened.Write(t.Context(), block(0, 0, 1)), failure.Transient, failure.RetriesExhausted)
		}
		start := time.Now()
		up, probes = true, 0
		done := make(chan error, 20)
		for segment := range 20 {
			go func() { done <- opened.Write(t.Context(), block(segment, 0, 1)) }()
		}
		for range 20 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if d := time.Since(start); d < 5*time.Second || d > 6*time.Second || probes != 20 {
			t.Errorf("%d requests, it took %v", probes, d)
		}
	})
}

func TestAStopSaysNothingOfAReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, wide()...)
		opened := open(t, options(s))
		s.script = func(n int, _ *http.Request) step {
			if n == 4 {
				return step{before: hangs} // the probe, whose caller goes away
			}
			return step{before: lost}
		}
		for range 3 {
			_ = opened.Write(t.Context(), block(0, 0, 1))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		_ = opened.Write(ctx, block(0, 0, 1))
		start := time.Now()
		for range 2 { // of which the first is the next probe
			expect(t, opened.Write(t.Context(), block(0, 0, 1)), failure.Transient, failure.RetriesExhausted)
		}
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("it took %v", d)
		}
	})
}

func TestAWaitForAReplicaEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, wide()...)
		opened := open(t, options(s))
		s.script = func(n int, _ *http.Request) step {
			if n > 3 {
				return step{before: hangs} // the probe
			}
			return step{before: lost}
		}
		for range 3 {
			_ = opened.Write(t.Context(), block(0, 0, 1))
		}
		go func() { _ = opened.Write(t.Context(), block(0, 0, 1)) }()
		time.Sleep(6 * time.Second)
		start := time.Now()
		expect(t, opened.Write(t.Context(), block(1, 0, 1)), failure.Transient, failure.RetriesExhausted, "every replica fails", "unexpected EOF")
		if d := time.Since(start); d < 5*time.Second || d > 11*time.Second {
			t.Errorf("it took %v", d)
		}
	})
}

func TestDistributedTablesAreCompared(t *testing.T) {
	set := func(s *server, full string, shards ...string) {
		s.tables["db.all"] = &table{columns: wide(), engine: "Distributed", full: full}
		s.clusters = shards
	}
	row := func(shard, weight int) string {
		return fmt.Sprintf(`{"shard":%d,"weight":%d,"host":"shard%d"}`, shard, weight, shard-1)
	}
	for name, c := range map[string]struct {
		full   string
		shards []string
		says   string // "": it is right
	}{
		"alike":            {"Distributed('main', 'db', 'events', cityHash64(`id`))", []string{row(1, 1), row(1, 1), row(2, 3)}, ""},
		"in other spaces":  {"Distributed(main, db, events, cityHash64( id ), 'policy')", []string{row(1, 1), row(2, 3)}, ""},
		"no cluster":       {"Distributed('main', 'db', 'events', cityHash64(id))", nil, "no cluster main"},
		"no table":         {"", []string{row(1, 1), row(2, 3)}, "not of engine Distributed"},
		"another cluster":  {"Distributed('other', 'db', 'events', cityHash64(id))", []string{row(1, 1), row(2, 3)}, "of cluster other"},
		"another table":    {"Distributed('main', 'db', 'event', cityHash64(id))", []string{row(1, 1), row(2, 3)}, "of table db.event"},
		"another database": {"Distributed('main', 'bd', 'events', cityHash64(id))", []string{row(1, 1), row(2, 3)}, "of table bd.events"},
		"another key":      {"Distributed('main', 'db', 'events', cityHash64(name, ')'))", []string{row(1, 1), row(2, 3)}, "sharding key is cityHash64(name, ')')"},
		"no key":           {"Distributed('main', 'db', 'events')", []string{row(1, 1), row(2, 3)}, "sharding key is rand()"},
		"other weights":    {"Distributed('main', 'db', 'events', cityHash64(id))", []string{row(1, 1), row(2, 2)}, "weights"},
		"more shards":      {"Distributed('main', 'db', 'events', cityHash64(id))", []string{row(1, 1), row(2, 3), row(3, 1)}, "number of shards"},
	} {
		t.Run(name, func(t *testing.T) {
			o := clickhousesink.Options{Table: "db.events", Sharding: clickhousesink.Sharding{Key: "cityHash64(id)", Cluster: "main", Table: "all"}}
			servers := cluster(t, &o, 1, 3)
			set(servers[0], c.full, c.shards...)
			opened, err := clickhousesink.New(t.Context(), o)
			if c.says != "" {
				expect(t, err, failure.Job, failure.Config, c.says, "db.all")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range opened.Description().Findings {
				if f.Warning {
					t.Errorf("it warns: %s", f.Text)
				}
			}
		})
	}
	o := clickhousesink.Options{Table: "db.events", Sharding: clickhousesink.Sharding{Cluster: "main", Table: "db.all"}}
	servers := cluster(t, &o, 1, 3)
	set(servers[0], "Distributed('main', 'db', 'events', rand())", `{"shard":1,"weight":1,"host":"elsewhere"}`, row(2, 3))
	finds(t, open(t, o), true, "shard0:8123 is not called so in shard 1")
}

// What the server writes of a key is the sink's in other words, or another.
func TestKeysAreComparedAsTheServerReadsThem(t *testing.T) {
	for _, c := range []struct{ own, table, says string }{ // says "": they are alike
		{"cityHash64(id, name)", "cityHash64(id, name)", ""},
		{"cityHash64(id,name)", "cityHash64(id, name)", ""},
		{" cityHash64 (\n\tid ,`name` ) ", "cityHash64(id, name)", ""},
		{"xxHash64(a.b, `c, d`)", "xxHash64(`a.b`, `c, d`)", ""},
		{"`it's`", "`it's`", ""},
		{"`a)b`", "`a)b`", ""},
		{"", "rand()", ""},
		{"rand( )", "rand()", ""},
		{"cityHash64(id, name)", "cityHash64(name, id)", "is cityHash64(name, id), not cityHash64(id, name)"},
		{"cityHash64(id, name)", "cityHash64(id)", "is cityHash64(id), not"},
		{"cityHash64(id, name)", "sipHash64(id, name)", "is sipHash64(id, name), not"},
		{"cityHash64(id, name)", "cityHash64(toString(id), name)", "is cityHash64(toString(id), name), not"},
		{"id", `cityHash64(name, '\')')`, `is cityHash64(name, '\')'), not id`},
		{"id", "`i d`", "is `i d`, not id"},
		{"id", "intHash32(id)", "is intHash32(id), not id"},
		{"", "intHash32(id)", "is intHash32(id), not rand()"},
		{"cityHash64(toString(id),name)", "cityHash64(toString(id), name)", "want a column"},
	} {
		o := clickhousesink.Options{Table: "db.events", Sharding: clickhousesink.Sharding{Key: c.own, Cluster: "main", Table: "all"}}
		for _, s := range cluster(t, &o, 1, 1) {
			for _, name := range []string{"a.b", "c, d", "it's", "a)b", "i d"} {
				s.events().columns = append(s.events().columns, column{name, "Int32", ""})
			}
			s.tables["db.all"] = &table{columns: wide(), engine: "Distributed", full: "Distributed('main', 'db', 'events', " + c.table + ")"}
			s.clusters = []string{`{"shard":1,"weight":1,"host":"shard0"}`, `{"shard":2,"weight":1,"host":"shard1"}`}
		}
		_, err := clickhousesink.New(t.Context(), o)
		switch {
		case c.says != "":
			expect(t, err, failure.Job, failure.Config, c.says)
		case err != nil:
			t.Errorf("%q and %q: %v", c.own, c.table, err)
		}
	}
}
