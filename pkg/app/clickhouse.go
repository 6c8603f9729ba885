package app

import (
	"cmp"
	"fmt"
	"net/url"
	"time"

	"github.com/spate-go/spate/pkg/chain/exprchain"
	"github.com/spate-go/spate/pkg/config"
	"github.com/spate-go/spate/pkg/sink/clickhousesink"
)

// defaultSegments is how many segments a block joins if the file does not say.
const defaultSegments = 8

// ClickHouseSinkConfig is a table, on one server or on the shards of a cluster.
type ClickHouseSinkConfig struct {
	URL    string                  `yaml:"url" example:"https://clickhouse.example.com:8443"`
	Shards []ClickHouseShardConfig `yaml:"shards"` // in place of url

	Database string `yaml:"database"`
	Table    string `yaml:"table,required" example:"access_log"`
	User     string `yaml:"user"`
	Password Secret `yaml:"password"`
	CAFile   string `yaml:"ca_file"` // certificates, PEM; "": the system's

	Format      string       `yaml:"format" oneof:"rowbinary|native|json_each_row"`
	Compression string       `yaml:"compression" oneof:"lz4|zstd|gzip|none"`
	Level       int          `yaml:"level"`   // of gzip and zstd; 0: one that favours speed
	Columns     config.Pairs `yaml:"columns"` // column: path; nil: by their names

	Settings    map[string]string `yaml:"settings"`
	Quorum      string            `yaml:"quorum"` // a number, or auto; "": none
	AsyncInsert string            `yaml:"async_insert" oneof:"off|wait"`
	Dedup       string            `yaml:"dedup" oneof:"warn|required|off"`
	Rejected    string            `yaml:"rejected" oneof:"skip|fail"`
	MaxRejected int               `yaml:"max_rejected"` // rows of a block; 0: 100

	Segments int                      `yaml:"segments"`  // that a block joins; 0: 8
	MaxRows  int                      `yaml:"max_rows"`  // of an insert; 0: 1,000,000
	MaxBytes config.Size              `yaml:"max_bytes"` // of an insert, uncompressed; 0: 128 MiB
	Timeouts ClickHouseTimeoutsConfig `yaml:"timeouts"`

	Distributed *ClickHouseDistributedConfig `yaml:"distributed"`
}

// ClickHouseShardConfig is the servers that hold one part of the rows.
type ClickHouseShardConfig struct {
	Replicas []string `yaml:"replicas,required"`
	Weight   int      `yaml:"weight"` // 0: 1
}

// ClickHouseTimeoutsConfig bounds the waits.
type ClickHouseTimeoutsConfig struct {
	Connect time.Duration `yaml:"connect"` // 0: 10 s
	Insert  time.Duration `yaml:"insert"`  // views included; 0: 3 min
}

// ClickHouseDistributedConfig says which shard a row goes to.
type ClickHouseDistributedConfig struct {
	Key     string `yaml:"key"`     // as the table's sharding key; "": each block as a whole to one
	Cluster string `yaml:"cluster"` // that shards are checked against
	Table   string `yaml:"table"`   // of engine Distributed, likewise
}

// options are those of the sink, except for the columns of its rows.
func (s *ClickHouseSinkConfig) options() clickhousesink.Options {
	o := clickhousesink.Options{
		Database: s.Database, Table: s.Table, User: s.User, Password: string(s.Password), CAFile: s.CAFile,
		Format: clickhousesink.Format(s.Format), Compression: clickhousesink.Compression(s.Compression), Level: s.Level,
		Settings: s.Settings, Quorum: s.Quorum, AsyncInsert: clickhousesink.AsyncInsert(s.AsyncInsert),
		Dedup: clickhousesink.Dedup(s.Dedup), Rejected: clickhousesink.Rejected(s.Rejected), MaxRejected: s.MaxRejected,
		Segments: s.segments(), MaxRows: s.MaxRows, MaxBytes: int64(s.MaxBytes),
		Timeout: s.Timeouts.Insert, DialTimeout: s.Timeouts.Connect,
	}
	if s.Compression == "" {
		o.Compression = clickhousesink.LZ4
	}
	if s.URL != "" {
		o.Shards = []clickhousesink.Shard{{Replicas: []string{s.URL}}}
	}
	for _, shard := range s.Shards {
		o.Shards = append(o.Shards, clickhousesink.Shard{Replicas: shard.Replicas, Weight: shard.Weight})
	}
	if d := s.Distributed; d != nil {
		o.Sharding = clickhousesink.Sharding{Key: d.Key, Cluster: d.Cluster, Table: d.Table}
	}
	return o
}

// segments is how many segments a block joins.
func (s *ClickHouseSinkConfig) segments() int { return cmp.Or(s.Segments, defaultSegments) }

// checkClickHouse finds what is wrong with the section at path, as far as that
// takes no server.
func (c *Config) checkClickHouse(p *problems, path string, s *ClickHouseSinkConfig) {
	switch {
	case s.URL == "" && len(s.Shards) == 0:
		p.add(path, "needs one of: shards, url")
	case s.URL != "" && s.Shards != nil:
		p.add(path, "has shards and url: keep one")
	case s.URL != "":
		checkServer(p, path+".url", s.URL)
	}
	for i, shard := range s.Shards {
		for j, replica := range shard.Replicas {
			checkServer(p, fmt.Sprintf("%s.shards[%d].replicas[%d]", path, i, j), replica)
		}
	}
	p.atLeast(path+".segments", int64(s.Segments), 0)
	p.atLeast(path+".max_rows", int64(s.MaxRows), 0)
	p.atLeast(path+".max_bytes", int64(s.MaxBytes), 0)
	p.atLeast(path+".max_rejected", int64(s.MaxRejected), 0)
	c.checkColumns(p, path, s)
}

// checkColumns finds what is wrong with the columns and with the form of rows.
func (c *Config) checkColumns(p *problems, path string, s *ClickHouseSinkConfig) {
	lines := s.lines()
	switch {
	case lines && s.Columns != nil:
		p.add(path+".columns", "needs rows that are made here, and json_each_row sends records as they are: name members by select or rename")
		return
	case s.Columns != nil && len(s.Columns) == 0:
		p.add(path+".columns", "is empty: leave it out to fill columns by their names")
	}
	names, check := map[string]bool{}, exprchain.CheckPaths(c.steps(), c.chainOptions())
	for _, pair := range s.Columns {
		if names[pair.Key] {
			p.add(path+".columns"+keyed(pair.Key), "is given twice")
		}
		names[pair.Key] = true
		if err := check(pair.Value); err != nil {
			p.add(path+".columns"+keyed(pair.Key), "%v", err)
		}
	}
}

// checkServer wants the URL of a server's HTTP interface. Its problems do not
// quote the text, which may hold a password.
func checkServer(p *problems, path, text string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		p.add(path, "is not of the form http://host:8123 or https://host:8443")
	case u.User != nil:
		p.add(path, "holds a user: write user and password as keys of their own")
	case u.RawQuery != "" || u.Fragment != "":
		p.add(path, "holds a query: write settings, or database")
	}
}
