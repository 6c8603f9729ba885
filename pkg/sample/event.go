package sample

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// An event has 17 fields, nested ones included, and about 480 bytes: text with
// escapes and accents, numbers of both kinds, an array, an object that is often
// null. Real logs have long runs that compress and ids that do not.
var (
	services  = []string{"basket", "billing", "catalogue", "delivery", "gateway", "login", "mailer", "pricing", "stock", "suggest"}
	levels    = []string{"info", "info", "info", "info", "info", "debug", "warn", "error"}
	methods   = []string{"GET", "GET", "GET", "GET", "POST", "PUT", "DELETE"}
	routes    = []string{"/v1/basket/%d/lines", "/v1/products/%d", "/v1/search?page=%d", "/v2/customers/%d/address", "/v2/orders/%d", "/v2/payments/%d/capture"}
	statuses  = []int{200, 200, 200, 200, 200, 201, 204, 304, 400, 404, 429, 500, 503}
	agents    = []string{"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:131.0) Gecko/20100101 Firefox/131.0", "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_6) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.6 Safari/605.1.15", "curl/8.9.1", "shop-android/7.2.0 (Pixel 8)", "health-probe/1.0"}
	messages  = []string{"request served", "upstream answered late, served from the replica", `could not parse "quantity": want a number`, "voucher accepted", "session renewed for a customer in Zürich", "rate limit reached, asked the caller to wait", `wrote C:\exports\daily.csv`, "payment captured after one retry"}
	zones     = []string{"eu-west-1a", "eu-west-1b", "us-east-1c", "ap-south-1a"}
	errorKind = []string{"timeout", "conflict", "unavailable"}
)

// stack is the trace of every error.
const stack = "shop/store.(*Client).Do\n\tstore/client.go:118\nshop/api.(*Server).handle\n\tapi/server.go:64"

// Event is one record.
type Event struct {
	At         time.Time
	Level      string
	Service    string
	Host       string
	TraceID    string
	Seq        int64
	UserID     int64
	Message    string
	Method     string
	Path       string
	Status     int
	Bytes      int
	DurationMS float64
	UserAgent  string
	Tags       [2]string
	ErrorKind  string // "": it went well
}

// Events are made one after another.
type Events struct {
	r    *rand.Rand
	next Event // of which At and Seq go on
	seq  int64
}

// NewEvents returns the events of a seed, from a moment on.
func NewEvents(seed uint64, from time.Time) *Events {
	return &Events{r: rand.New(rand.NewPCG(seed, 480)), next: Event{At: from}}
}

// Next makes an event, which is valid until the next call. The draws stand in
// the order that makes the records what they are.
func (s *Events) Next() *Event {
	r, e := s.r, &s.next
	e.At = e.At.Add(time.Duration(r.IntN(50)) * time.Millisecond)
	e.Level = pick(r, levels)
	e.Service = pick(r, services)
	e.Host = fmt.Sprintf("node-%03d.%s.internal", r.IntN(240), pick(r, zones))
	e.TraceID = fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64())
	e.Seq = s.seq
	e.UserID = r.Int64N(3_000_000)
	e.Message = pick(r, messages)
	e.Method = pick(r, methods)
	e.Path = fmt.Sprintf(pick(r, routes), r.IntN(200_000))
	e.Status = pick(r, statuses)
	e.Bytes = r.IntN(120_000)
	e.DurationMS = r.ExpFloat64() * 40
	e.UserAgent = pick(r, agents)
	e.Tags[0] = pick(r, zones)
	e.Tags[1] = "build-" + strconv.Itoa(r.IntN(9))
	e.ErrorKind = ""
	if r.IntN(4) == 0 {
		e.ErrorKind = pick(r, errorKind)
	}
	s.seq++
	return e
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }
