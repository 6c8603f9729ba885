package arch_test

import "slices"

// The layers, lowest first. A package may import what stands below it, never
// what stands beside it unless its row says so.
var (
	values    = []string{"pkg/failure", "pkg/unit", "pkg/record", "pkg/budget", "pkg/backoff", "pkg/metric", "pkg/config", "pkg/jsontext", "pkg/reject"}
	pure      = []string{"pkg/plan", "pkg/event", "pkg/segment", "pkg/report"}
	stores    = []string{"pkg/object", "pkg/feed", "pkg/ledger", "pkg/sink"} // whose drivers know a service
	formats   = []string{"pkg/codec", "pkg/frame", "pkg/decode", "pkg/chain"}
	contracts = slices.Concat(stores, formats)
	protocols = []string{"pkg/lister", "pkg/intake", "pkg/reader", "pkg/finalizer", "pkg/pipe"}
)

const (
	anything = "*"      // every package of the module: for those that join it
	suites   = "suites" // every package that only tests import
)

// allowed is what each package may import of this module, tests aside. Every
// package needs a row: adding one is a decision about its layer.
var allowed = map[string][]string{
	"pkg":         nil,
	"pkg/backoff": nil,
	"pkg/failure": nil,
	"pkg/record":  nil,
	"pkg/metric":  nil,
	"pkg/unit":    {"pkg/failure", "pkg/record"},
	"pkg/budget":  {"pkg/config", "pkg/failure"}, // config.Size, for its errors
	"pkg/config":  {"pkg/failure"},
	"pkg/reject":  {"pkg/failure", "pkg/jsontext"},
	"pkg/sample":  {"pkg/jsontext"},

	"pkg/jsontext": nil,

	"pkg/failure/awsfailure":           {"pkg/failure"}, // for the drivers of AWS alone
	"pkg/failure/awsfailure/s3failure": {"pkg/failure/awsfailure"},

	"pkg/awsconfig": {"pkg/failure", "pkg/failure/awsfailure"},
	"pkg/s3url":     nil,

	"pkg/segment": values,
	"pkg/plan":    values,
	"pkg/event":   values,
	"pkg/report":  values,
	"pkg/price":   nil,

	"pkg/clickhouse":     above(),
	"pkg/clickhouse/ddl": nil,

	"pkg/object": above(),
	"pkg/feed":   above(),
	"pkg/ledger": above(),
	"pkg/codec":  above(),
	"pkg/frame":  above(),
	"pkg/decode": above(),
	"pkg/chain":  above("pkg/decode"),
	"pkg/sink":   above(),

	"pkg/object/dirobject":    above("pkg/object"),
	"pkg/object/memobject":    above("pkg/object"),
	"pkg/object/s3object":     above("pkg/awsconfig", "pkg/object", "pkg/failure/awsfailure", "pkg/failure/awsfailure/s3failure"),
	"pkg/feed/memfeed":        above("pkg/feed"),
	"pkg/feed/sqsfeed":        above("pkg/feed", "pkg/failure/awsfailure"),
	"pkg/ledger/memledger":    above("pkg/ledger"),
	"pkg/ledger/boltledger":   above("pkg/ledger"),
	"pkg/ledger/dynamoledger": above("pkg/ledger", "pkg/failure/awsfailure"),
	"pkg/decode/jsondecode":   above("pkg/decode"),
	"pkg/chain/exprchain":     above("pkg/chain", "pkg/decode", "pkg/decode/jsondecode"),
	"pkg/sink/blackholesink":  above("pkg/sink"),
	"pkg/sink/capturesink":    above("pkg/sink"),
	"pkg/sink/clickhousesink": above("pkg/sink", "pkg/clickhouse"),
	"pkg/sink/filesink":       above("pkg/sink"),
	"pkg/sink/s3sink":         above("pkg/sink", "pkg/failure/awsfailure", "pkg/failure/awsfailure/s3failure", "pkg/s3url"),
	"pkg/sink/stdoutsink":     above("pkg/sink"),

	"pkg/awsconfig/awstest": {"pkg/awsconfig"},
	"pkg/object/objecttest": above("pkg/object"),
	"pkg/feed/feedtest":     above("pkg/feed"),
	"pkg/ledger/ledgertest": above("pkg/ledger"),
	"pkg/frame/frametest":   above("pkg/frame"),
	"pkg/decode/decodetest": above("pkg/decode"),
	"pkg/sink/sinktest":     above("pkg/sink"),

	"pkg/pipe":      above("pkg/object", "pkg/codec", "pkg/frame", "pkg/decode", "pkg/chain", "pkg/sink"),
	"pkg/cut":       above("pkg/object", "pkg/codec"),
	"pkg/lister":    above("pkg/object", "pkg/cut", "pkg/feed", "pkg/ledger"),
	"pkg/intake":    above("pkg/object", "pkg/cut", "pkg/feed", "pkg/ledger"),
	"pkg/reader":    above("pkg/object", "pkg/feed", "pkg/ledger", "pkg/pipe"),
	"pkg/finalizer": above("pkg/price", "pkg/feed", "pkg/ledger"),

	"pkg/control":            above("pkg/feed", "pkg/ledger", "pkg/finalizer"),
	"pkg/control/awscontrol": above("pkg/control", "pkg/finalizer", "pkg/failure/awsfailure", "pkg/s3url"),

	"pkg/inspect":       above("pkg/object", "pkg/codec", "pkg/frame"),
	"pkg/config/schema": {"pkg/config"},

	"pkg/app":   {anything},
	"cmd/spate": {anything},

	"pkg/app/function":    {anything},
	"functions/lister":    {"pkg/app", "pkg/app/function"},
	"functions/intake":    {"pkg/app", "pkg/app/function"},
	"functions/reader":    {"pkg/app", "pkg/app/function"},
	"functions/finalizer": {"pkg/app", "pkg/app/function"},

	"pkg/app/internal/admin":    nil,
	"pkg/app/internal/progress": nil,
	"pkg/metric/prommetric":     {"pkg/metric"},

	"pkg/spatetest": slices.Concat(values, pure, contracts, protocols,
		[]string{"pkg/object/memobject", "pkg/feed/memfeed", "pkg/ledger/memledger", "pkg/sink/capturesink"}),

	"tests/arch":       nil,
	"tests/clickhouse": {"pkg/report"},
	"tests/crash":      nil,
	"tests/faults":     nil,
	"tests/aws":        {"pkg/failure", "pkg/ledger", "pkg/ledger/dynamoledger", "pkg/report", "pkg/unit"},
	"tests/clikit":     {"pkg/report"},
	"tests/lambdakit":  {"pkg/awsconfig", "pkg/feed/sqsfeed", "pkg/ledger", "pkg/ledger/dynamoledger"},
	"tests/bench":      {"pkg/sample"},
	"tests/docs":       {"pkg/app"},
	"tests/e2e":        {anything},
	"tests/live":       nil,
	"tests/sim":        nil,
	"tests/template":   {"pkg/ledger/dynamoledger"},

	"examples/clickhouse/typed": {"pkg/app", "pkg/chain", "pkg/clickhouse", "pkg/decode", "pkg/decode/jsondecode"},

	"examples/extending":         {"pkg/app", "pkg/failure", "pkg/frame", "pkg/record", "pkg/sink", "pkg/unit"},
	"tests/bench/clickhouse":     {"pkg/app", "pkg/chain", "pkg/chain/exprchain", "pkg/clickhouse", "pkg/decode", "pkg/decode/jsondecode"},
	"tests/bench/clickhouseload": nil,
	"tests/bench/functions":      {"tests/lambdakit"},
	"tests/bench/latency":        {"tests/lambdakit"},
	"tests/bench/publish":        {"pkg/awsconfig", "pkg/feed/sqsfeed", "pkg/ledger", "pkg/ledger/dynamoledger", "pkg/lister", "pkg/object", "pkg/unit", "tests/lambdakit"},
	"tests/crash/custom":         {"pkg/app", "pkg/app/function", "pkg/chain", "pkg/decode", "pkg/frame", "pkg/record"},
	"tests/bench/typed":          {"pkg/app", "pkg/chain", "pkg/decode", "pkg/decode/jsondecode"},
}

// libraries says which packages may import which external module; a package
// stands for those below it too. A library that is not listed may not be
// imported.
var libraries = map[string][]string{
	"github.com/aws/":                {"pkg/control/awscontrol", "pkg/failure/awsfailure", "pkg/awsconfig", "pkg/object/s3object", "pkg/sink/s3sink", "pkg/feed/sqsfeed", "pkg/ledger/dynamoledger", "pkg/app", "tests/lambdakit", "tests/bench/functions", "tests/bench/latency", "tests/bench/publish", "tests/template"},
	"github.com/bmatcuk/doublestar/": {"pkg/plan"},
	"github.com/cespare/xxhash/":     {"pkg/segment", "pkg/pipe", "pkg/sink"},
	"github.com/dustin/go-humanize":  {"pkg/report", "pkg/app"},
	"github.com/expr-lang/expr":      {"pkg/chain"},
	"github.com/go-faster/city":      {"pkg/sink/clickhousesink"},
	"github.com/goccy/go-json":       {"pkg/decode", "pkg/chain"},
	"github.com/google/go-cmp/":      {suites},
	"github.com/klauspost/compress/": {"pkg/codec", "pkg/ledger/dynamoledger", "pkg/sink/clickhousesink", "pkg/sink/s3sink", "pkg/sample", "tests/bench"},
	"github.com/mattn/go-isatty":     {"pkg/app"},
	"github.com/pierrec/lz4/":        {"pkg/sink/clickhousesink"},
	"github.com/segmentio/encoding/": {"pkg/decode", "pkg/chain"},
	"github.com/spf13/cobra":         {"pkg/app"},
	"github.com/vbauerster/mpb/":     {"pkg/app"},
	"go.etcd.io/bbolt":               {"pkg/ledger/boltledger"},
	"go.yaml.in/yaml/":               {"pkg/config"},
	"golang.org/x/sync/":             {"pkg", "tests/lambdakit", "tests/bench/latency", "tests/bench/clickhouseload", "tests/bench/publish"},
	"golang.org/x/sys/":              {"pkg/object/dirobject", "pkg/sink/filesink", "tests/bench"},
}

// above is the row of a package over the values and the pure packages that
// also imports more.
func above(more ...string) []string { return slices.Concat(values, pure, more) }
