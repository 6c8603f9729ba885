package clickhousesink

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/spate-go/spate/pkg/failure"
)

// clusterRow is a replica of a cluster as the server's configuration has it.
type clusterRow struct {
	Shard  int    `json:"shard"`
	Weight int    `json:"weight"`
	Host   string `json:"host"`
}

// checkDistributed compares shards, weights and sharding key with those of a
// table of engine Distributed, if one is named: rows that were sent to another
// shard than the engine would have chosen are not found by who relies on it.
func (s *Sink) checkDistributed(ctx context.Context, to *replica) error {
	d := s.o.Sharding
	if d.Cluster == "" {
		return nil
	}
	p := place{s.place.database, d.Table}
	if db, table, ok := strings.Cut(d.Table, "."); ok {
		p = place{db, table}
	}
	c := call{"compare with distributed table", p.String(), to.name}
	rows, err := ask[clusterRow](ctx, s, to, "SELECT toInt32(shard_num) AS shard, toInt32(shard_weight) AS weight, host_name AS host FROM system.clusters WHERE cluster = "+
		literal(d.Cluster)+" ORDER BY shard_num, replica_num")
	if err != nil {
		return c.classify(ctx, err)
	}
	table, err := s.table(ctx, to, p)
	if err != nil {
		return c.classify(ctx, err)
	}
	if diff := s.distributedDiffers(rows, table); diff != "" {
		return failure.Errorf(failure.Job, failure.Config, "%s: %s: make the sink's shards and the table agree", c, diff)
	}
	s.compareHosts(rows)
	return nil
}

func (s *Sink) distributedDiffers(rows []clusterRow, table tableRow) string {
	d := s.o.Sharding
	weights := map[int]int{}
	for _, r := range rows {
		weights[r.Shard] = r.Weight
	}
	switch args := arguments(table.Full); {
	case len(rows) == 0:
		return "there is no cluster " + d.Cluster
	case table.Engine != "Distributed" || len(args) < 3:
		return "it is not there, or not of engine Distributed"
	case args[0] != d.Cluster:
		return "it is of cluster " + args[0] + ", not " + d.Cluster
	case args[2] != s.place.table || args[1] != s.place.database && args[1] != "" && args[1] != "currentDatabase()":
		return "it is of table " + args[1] + "." + args[2]
	case len(weights) != len(s.o.Shards):
		return "the cluster's number of shards differs from that of the sink"
	default:
		key := "rand()"
		if len(args) > 3 {
			key = args[3]
		}
		if own := s.o.Sharding.Key; len(s.o.Shards) > 1 && otherKey(own, key) {
			return "its sharding key is " + key + ", not " + cmp.Or(own, "rand()")
		}
	}
	for i, sh := range s.o.Shards {
		if weights[i+1] != sh.Weight {
			return "the weights of its shards differ from those of the sink"
		}
	}
	return ""
}

// compareHosts only warns: hosts may have several names.
func (s *Sink) compareHosts(rows []clusterRow) {
	for i, sh := range s.o.Shards {
		for _, text := range sh.Replicas {
			u, err := url.Parse(text)
			if err != nil {
				continue // it was checked
			}
			if !slices.ContainsFunc(rows, func(r clusterRow) bool { return r.Shard == i+1 && r.Host == u.Hostname() }) {
				s.warn("%s is not called so in shard %d of cluster %s: make sure that it belongs there", u.Host, i+1, s.o.Sharding.Cluster)
			}
		}
	}
}

// otherKey reports whether a key is another than the sink's, which is refused by
// its own fault where it has one.
func otherKey(own, key string) bool {
	f, ok := parseFormula(own)
	if !ok {
		return false
	}
	g, _ := parseFormula(key)
	return !f.equal(g)
}

// arguments are those of an engine, without quotes.
func arguments(engine string) []string {
	_, rest, ok := strings.Cut(engine, "(")
	if !ok {
		return nil
	}
	var args []string
	depth, start := 0, 0
	var quote byte // 0: outside of quotes
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '\\' && quote != 0:
			i++
		case c == quote:
			quote = 0
		case quote != 0:
		case c == '\'' || c == '`':
			quote = c
		case c == '(':
			depth++
		case depth == 0 && (c == ',' || c == ')'):
			args = append(args, strings.Trim(strings.TrimSpace(rest[start:i]), "'"))
			start = i + 1
			if c == ')' {
				return args
			}
		case c == ')':
			depth--
		}
	}
	return nil
}
