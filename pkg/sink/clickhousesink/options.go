package clickhousesink

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/clickhouse"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
)

// Shard is the replicas that hold one part of the rows, each all of it.
type Shard struct {
	Replicas []string // URLs of their HTTP interfaces, as http://host:8123
	Weight   int      // the shard's share of rows to that of others; 0 means 1
}

// Format is how rows travel.
type Format string

// The formats. Rows come as RowBinary for the first two, and as JSON objects, one
// a line, for the last.
const (
	RowBinary   Format = "rowbinary"
	Native      Format = "native"
	JSONEachRow Format = "json_each_row"
)

// Compression is how bodies are compressed.
type Compression string

// The compressions. LZ4 is in the server's own framing; it costs least.
const (
	None Compression = "none"
	Gzip Compression = "gzip"
	Zstd Compression = "zstd"
	LZ4  Compression = "lz4"
)

// AsyncInsert says whether the server may batch inserts.
type AsyncInsert string

// The modes. With AsyncWait the server batches the rows of many small inserts
// into one part, and acks each once that is stored. Repeats are recognised by
// token there too, but separately from those of plain inserts, and not in
// materialized views.
const (
	AsyncOff  AsyncInsert = "off"
	AsyncWait AsyncInsert = "wait"
)

// Dedup says what to do about a table that does not recognise repeats.
type Dedup string

// Refuse it, warn about it, or ignore it.
const (
	DedupRequired Dedup = "required"
	DedupWarn     Dedup = "warn"
	DedupOff      Dedup = "off"
)

// Rejected says what becomes of rows that the server refuses for their values.
type Rejected string

// Find them and insert the others, or fail the unit.
const (
	RejectSkip Rejected = "skip"
	RejectFail Rejected = "fail"
)

// Sharding says which shard a row goes to.
type Sharding struct {
	// Key is the sharding key of the distributed table: an integer column, intHash32
	// or intHash64 of one, or cityHash64, sipHash64 or xxHash64 of one or several
	// columns, none of them Nullable; "" or "rand()" give each block to one shard, by
	// its token.
	Key string
	// Cluster and Table name the cluster and the table of engine Distributed that
	// the shards are checked against; "" checks nothing. Table may be db.table.
	Cluster, Table string
}

// Options of a sink. Shards and Table are needed; the rest may be zero.
type Options struct {
	Shards         []Shard
	Database       string // "" means the user's default
	Table          string // or db.table, where Database is ""
	User, Password string // "": the server's default user, no password

	Format Format // "" means RowBinary
	// Defaults says that rows are of RowBinaryWithDefaults, where an absent value
	// is its column's DEFAULT. For RowBinary alone.
	Defaults    bool
	Compression Compression // "" means None
	Level       int         // of gzip 1 to 9, of zstd 1 to 22; 0 favours speed

	// Columns are the names of a row's columns, in its order; nil: those of the
	// table that can be written to.
	Columns []string
	// Choose names the columns of a row once it is known which the table has, and
	// says whether rows are made with Defaults. New calls it once and returns its
	// error as it is. Types of columns that it leaves out do not matter. Excludes
	// Columns.
	Choose func(table []Column) (names []string, defaults bool, err error)
	// Types are the columns of rows that were made elsewhere, such as from
	// structs: the table must have them with these types. Excludes Columns and
	// Choose.
	Types clickhouse.Columns

	Settings    map[string]string // of every insert, but for those that this package sets
	Quorum      string            // insert_quorum: a number or "auto"; "" means none
	AsyncInsert AsyncInsert       // "" means AsyncOff
	Dedup       Dedup             // "" means DedupWarn
	Rejected    Rejected          // "" means RejectSkip
	MaxRejected int               // rows of one block, more fail its unit; 0 means 100

	Sharding Sharding
	Breaker  sink.BreakerOptions // of each replica

	MaxRows  int   // of an insert; 0 means 1,000,000
	MaxBytes int64 // of an insert's rows, uncompressed; 0 means 128 MiB
	Segments int   // that a block joins; 0 means 8

	Timeout     time.Duration // of an insert, its materialized views included; 0 means 3 min
	DialTimeout time.Duration // of a connection; 0 means 10 s
	CAFile      string        // certificates, PEM, that https is trusted by; "" means the system's
	// Transport makes the requests; nil: one of the sink's own. Excludes CAFile.
	Transport http.RoundTripper
}

const maxWeight = 10_000 // of a shard

func wrong(format string, args ...any) error {
	return failure.Errorf(failure.Job, failure.Config, "open clickhouse sink: "+format, args...)
}

// complete checks options and fills in the defaults.
func (o Options) complete() (Options, error) {
	if o.Database == "" {
		if db, table, ok := strings.Cut(o.Table, "."); ok {
			o.Database, o.Table = db, table
		}
	}
	o.Format = cmp.Or(o.Format, RowBinary)
	o.Compression = cmp.Or(o.Compression, None)
	o.AsyncInsert = cmp.Or(o.AsyncInsert, AsyncOff)
	o.Dedup = cmp.Or(o.Dedup, DedupWarn)
	o.Rejected = cmp.Or(o.Rejected, RejectSkip)
	o.MaxRejected = cmp.Or(o.MaxRejected, 100)
	o.MaxRows = cmp.Or(o.MaxRows, 1_000_000)
	o.MaxBytes = cmp.Or(o.MaxBytes, 128<<20)
	o.Segments = cmp.Or(o.Segments, 8)
	o.Timeout = cmp.Or(o.Timeout, 3*time.Minute)
	o.DialTimeout = cmp.Or(o.DialTimeout, 10*time.Second)
	for _, check := range []func(*Options) error{(*Options).checkPlace, (*Options).checkChoices, (*Options).checkNumbers, (*Options).checkSettings} {
		if err := check(&o); err != nil {
			return o, err
		}
	}
	return o, nil
}

func (o *Options) checkPlace() error {
	if o.Table == "" {
		return wrong("no table is named")
	}
	if len(o.Shards) == 0 {
		return wrong("no server is named: give the URL of one, as http://host:8123")
	}
	shards := slices.Clone(o.Shards)
	seen := map[string]bool{}
	for i := range shards {
		s := &shards[i]
		if len(s.Replicas) == 0 {
			return wrong("shard %d has no replica", i+1)
		}
		if s.Weight < 0 || s.Weight > maxWeight {
			return wrong("shard %d has weight %d: want 1 to %d", i+1, s.Weight, maxWeight)
		}
		s.Weight = cmp.Or(s.Weight, 1)
		s.Replicas = slices.Clone(s.Replicas)
		for j, text := range s.Replicas {
			u, err := endpoint(text)
			if err != nil {
				return wrong("replica %d of shard %d: %w", j+1, i+1, err)
			}
			if seen[u] {
				return wrong("replica %s is named twice", u)
			}
			seen[u] = true
			s.Replicas[j] = u
		}
	}
	o.Shards = shards
	return nil
}

// endpoint is a replica's URL in one form. Its error does not repeat the text,
// which may hold a password where none belongs.
func endpoint(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("it is not a URL of the form http://host:8123 or https://host:8443")
	case u.User != nil:
		return "", fmt.Errorf("the URL of %s holds a user: set user and password beside it", u.Host)
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("the URL of %s holds a query: use settings", u.Host)
	}
	return u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/"), nil
}

func (o *Options) checkChoices() error {
	switch {
	case !slices.Contains([]Format{RowBinary, Native, JSONEachRow}, o.Format):
		return wrong("format %q is not one of %s, %s and %s", o.Format, RowBinary, Native, JSONEachRow)
	case !slices.Contains([]AsyncInsert{AsyncOff, AsyncWait}, o.AsyncInsert):
		return wrong("async_insert %q is not one of %s and %s", o.AsyncInsert, AsyncOff, AsyncWait)
	case !slices.Contains([]Dedup{DedupRequired, DedupWarn, DedupOff}, o.Dedup):
		return wrong("dedup %q is not one of %s, %s and %s", o.Dedup, DedupRequired, DedupWarn, DedupOff)
	case !slices.Contains([]Rejected{RejectSkip, RejectFail}, o.Rejected):
		return wrong("rejected %q is not one of %s and %s", o.Rejected, RejectSkip, RejectFail)
	case o.Columns != nil && o.Types != nil:
		return wrong("columns are given with their types and without: give one")
	case o.Choose != nil && (o.Columns != nil || o.Types != nil):
		return wrong("columns are given and are to be chosen: give one")
	case o.CAFile != "" && o.Transport != nil:
		return wrong("a transport of one's own has its own certificates")
	case strings.ContainsAny(o.User+o.Password, "\r\n\x00"):
		return wrong("user or password has a line break, which no request can carry: look for one at the end of the secret that it comes from")
	case (o.Sharding.Cluster == "") != (o.Sharding.Table == ""):
		return wrong("a distributed table is found by cluster and table: give both or neither")
	}
	names := o.Columns
	if o.Types != nil {
		names = o.Types.Names()
	}
	if err := o.checkRows(names); err != nil {
		return err
	}
	return checkLevel(o.Compression, o.Level)
}

// checkRows checks how rows are made, columns of these names.
func (o *Options) checkRows(names []string) error {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return wrong("column %q is named twice", name)
		}
	}
	if o.Defaults && o.Format != RowBinary {
		return wrong("rows with defaults have no form in %s: use %s", o.Format, RowBinary)
	}
	return nil
}

func (o *Options) checkNumbers() error {
	if o.MaxRows < 0 || o.MaxBytes < 0 || o.Segments < 0 || o.MaxRejected < 0 || o.Timeout < 0 || o.DialTimeout < 0 {
		return wrong("no limit or timeout is less than 0")
	}
	if o.Quorum != "" && o.Quorum != "auto" {
		if n, err := strconv.Atoi(o.Quorum); err != nil || n < 0 {
			return wrong("quorum %q is neither a number nor auto", o.Quorum)
		}
	}
	return nil
}

// roots are the certificates of a file, nil where none is named.
func roots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, wrong("read certificates: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, wrong("read certificates: %s holds none: want PEM", file)
	}
	return pool, nil
}
