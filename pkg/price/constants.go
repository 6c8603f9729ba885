package price

// Prices in dollars, on demand, in us-east-1, without free tiers.
const (
	GBSecond     = 0.0000133334 // Lambda, arm64
	Invocation   = 0.20         // Lambda, per million
	QueueRequest = 0.50         // SQS standard queue with message groups, per million
	WriteUnit    = 0.625        // DynamoDB on demand, per million
	ReadUnit     = 0.125        // DynamoDB on demand, per million
	Get          = 0.40         // S3 Standard, per million
	List         = 5.00         // S3 Standard, per million
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

// What a unit that succeeds at once needs, and the requests for each minute
// that it takes.
const (
	QueueRequestsPerUnit   = 3.1
	QueueRequestsPerMinute = 1
	WriteUnitsPerUnit      = 4
	ReadUnitsPerUnit       = 2
	WindowBytes            = 8 << 20
	KeysPerPage            = 1000
)

// Defaults.
const (
	DefaultMemoryMB    = 1769
	DefaultConcurrency = 1000
)

// Constant is one of the numbers with its source, for the docs.
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
		{"Lambda, arm64", GBSecond, "$ per GB-second", "price list, us-east-1", "2026-09"},
		{"Lambda, requests", Invocation, "$ per million", "price list, us-east-1", "2026-09"},
		{"SQS, standard queue with message groups", QueueRequest, "$ per million requests", "published tables: 0.40, and 0.10 for fair queues", "2026-03"},
		{"DynamoDB, writes on demand", WriteUnit, "$ per million units", "price list, us-east-1", "2026-09"},
		{"DynamoDB, reads on demand", ReadUnit, "$ per million units", "published tables", "2026-11"},
		{"S3, GET", Get, "$ per million", "published tables, S3 Standard", "2026-09"},
		{"S3, LIST", List, "$ per million", "published tables, S3 Standard", "2026-09"},
		{"network rate of an invocation", NetworkBytesPerSecond, "bytes/s", "Lambda quotas (625 Mbps at any memory), measured in arXiv 2501.07771", "2026-11"},
		{"object bytes that a whole CPU reads", CPUBytesPerSecond, "bytes/s", "assumed: gzip of JSON, decoded and filtered; plain text is faster", "2026-11"},
		{"memory with a whole CPU", MemoryPerCPU, "MB", "Lambda quotas", "2026-11"},
		{"overhead of a unit", UnitSeconds, "s", "assumed: ledger, queue and start", "2026-11"},
		{"first byte of a GET", GetSeconds, "s", "median measured in arXiv 2501.07771", "2024"},
		{"GETs in flight in an invocation", GetsInFlight, "", "this project", "2026-11"},
		{"a listing page", PageSeconds, "s", "assumed: 100 to 200 ms", "2026-11"},
		{"concurrent invocations at the start", FirstConcurrency, "", "Lambda guide, SQS scaling", "2026-11"},
		{"added per minute", RampPerMinute, "", "Lambda guide, SQS scaling", "2026-11"},
		{"maximum", MaxConcurrency, "", "Lambda guide, SQS scaling; the quota of a new account is lower", "2026-11"},
		{"SQS requests per unit", QueueRequestsPerUnit, "", "a tenth of a send; receive, hold, delete", "2026-11"},
		{"and per minute of its duration", QueueRequestsPerMinute, "", "hold", "2026-11"},
		{"DynamoDB write units per unit", WriteUnitsPerUnit, "", "lister: planned; reader: started, done, counted", "2026-11"},
		{"DynamoDB read units per unit", ReadUnitsPerUnit, "", "reader: job and unit, strongly consistent", "2026-11"},
		{"a GET's window", WindowBytes, "bytes", "this project", "2026-11"},
		{"keys per listing page", KeysPerPage, "", "S3 API", "2026-11"},
		{"default memory", DefaultMemoryMB, "MB", "a whole CPU", "2026-11"},
		{"default concurrency", DefaultConcurrency, "", "Lambda quotas, an account's default", "2026-11"},
	}
}
