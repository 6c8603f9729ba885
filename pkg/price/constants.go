package price

// Prices in dollars, on demand, us-east-1, free tiers left out.
const (
	GBSecond     = 0.0000133334 // Lambda, arm64
	Invocation   = 0.20         // Lambda, a million
	QueueRequest = 0.50         // SQS standard queue with message groups, a million
	WriteUnit    = 0.625        // DynamoDB on demand, a million
	ReadUnit     = 0.125        // DynamoDB on demand, a million
	Get          = 0.40         // S3 Standard, a million
	List         = 5.00         // S3 Standard, a million
)

// Speeds.
const (
	NetworkBytesPerSecond = 75 << 20
	CPUBytesPerSecond     = 100e6
	MemoryPerCPU          = 1769 // MB
	UnitSeconds           = 0.1
	GetSeconds            = 0.027
	GetsInFlight          = 8
	PageSeconds           = 0.15
	FirstConcurrency      = 5
	RampPerMinute         = 300
	MaxConcurrency        = 1250
)

// What a unit that goes well needs, and more of what outlasts a minute.
const (
	QueueRequestsPerUnit   = 3.1
	QueueRequestsPerMinute = 1
	WriteUnitsPerUnit      = 4
	ReadUnitsPerUnit       = 2
	WindowBytes            = 8 << 20
	KeysPerPage            = 1000
)

// Where nothing else is said.
const (
	DefaultMemoryMB    = 1769
	DefaultConcurrency = 1000
)

// Constant is one of the numbers with where it comes from, for docs.
type Constant struct {
	Name   string
	Value  float64
	Unit   string
	Source string
	Date   string // when the source was read
}

// Constants lists them all.
func Constants() []Constant {
	return []Constant{
		{"Lambda, arm64", GBSecond, "$ a GB-second", "price list, us-east-1", "2026-09"},
		{"Lambda, requests", Invocation, "$ a million", "price list, us-east-1", "2026-09"},
		{"SQS, standard queue with message groups", QueueRequest, "$ a million requests", "published tables: 0.40, and 0.10 for fair queues", "2026-03"},
		{"DynamoDB, writes on demand", WriteUnit, "$ a million units", "price list, us-east-1", "2026-09"},
		{"DynamoDB, reads on demand", ReadUnit, "$ a million units", "published tables", "2026-11"},
		{"S3, GET", Get, "$ a million", "published tables, S3 Standard", "2026-09"},
		{"S3, LIST", List, "$ a million", "published tables, S3 Standard", "2026-09"},
		{"network of an invocation", NetworkBytesPerSecond, "bytes/s", "Lambda quotas (625 Mbps at any memory), measured in arXiv 2501.07771", "2026-11"},
		{"objects' bytes that a whole CPU reads", CPUBytesPerSecond, "bytes/s", "assumed: gzip of JSON, decoded and filtered; plain text is faster", "2026-11"},
		{"memory with a whole CPU", MemoryPerCPU, "MB", "Lambda quotas", "2026-11"},
		{"a unit besides its bytes", UnitSeconds, "s", "assumed: ledger, queue and start", "2026-11"},
		{"first byte of a GET", GetSeconds, "s", "median measured in arXiv 2501.07771", "2024"},
		{"GETs in flight in an invocation", GetsInFlight, "", "this project", "2026-11"},
		{"a page of a listing", PageSeconds, "s", "assumed: 100 to 200 ms", "2026-11"},
		{"invocations at once, at first", FirstConcurrency, "", "Lambda guide, SQS scaling", "2026-11"},
		{"and more a minute", RampPerMinute, "", "Lambda guide, SQS scaling", "2026-11"},
		{"and at most", MaxConcurrency, "", "Lambda guide, SQS scaling; the quota of a new account is lower", "2026-11"},
		{"SQS requests of a unit", QueueRequestsPerUnit, "", "a tenth of a send; receive, hold, delete", "2026-11"},
		{"and for each minute that it takes", QueueRequestsPerMinute, "", "hold", "2026-11"},
		{"DynamoDB write units of a unit", WriteUnitsPerUnit, "", "lister: planned; reader: begun, done, counted", "2026-11"},
		{"DynamoDB read units of a unit", ReadUnitsPerUnit, "", "reader: job and unit, strongly consistent", "2026-11"},
		{"a GET's window", WindowBytes, "bytes", "this project", "2026-11"},
		{"keys of a listing's page", KeysPerPage, "", "S3 API", "2026-11"},
		{"memory, where nothing is said", DefaultMemoryMB, "MB", "a whole CPU", "2026-11"},
		{"concurrency, where nothing is said", DefaultConcurrency, "", "Lambda quotas, an account's default", "2026-11"},
	}
}
