package clickhousesink

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spate-go/spate/pkg/failure"
)

// mark is what an error means, and what the person who reads it can do.
type mark struct {
	scope  failure.Scope
	reason failure.Reason
	advice string // "": none
}

// call is what an error is about.
type call struct{ verb, table, replica string }

func (c call) String() string { return fmt.Sprintf("%s %s at %s", c.verb, c.table, c.replica) }

// classify says what an error of a request means for the job. It is the only
// place that does. parent is the caller's context, without the timeout of the
// request.
func (c call) classify(parent context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ended := parent.Err(); ended != nil {
		return fmt.Errorf("%s: %w", c, ended)
	}
	if failure.Marked(err) { // of the rows, which could not be read
		return fmt.Errorf("%s: %w", c, err)
	}
	m := verdict(err)
	if m.advice != "" {
		return failure.Errorf(m.scope, m.reason, "%s: %w: %s", c, err, m.advice)
	}
	return failure.Errorf(m.scope, m.reason, "%s: %w", c, err)
}

func verdict(err error) mark {
	if e, ok := errors.AsType[*exception](err); ok {
		return e.mark()
	}
	if trusted(err) {
		return meanings[again]
	}
	return mark{failure.Job, failure.Config, "check the URL's scheme and port, and the certificate or ca_file, then resume the job"}
}

// trusted is false of an error that says that the other end is not who it should
// be, or speaks otherwise: no repeat mends that.
func trusted(err error) bool {
	if errors.Is(err, http.ErrSchemeMismatch) {
		return false
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return false
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return false
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok {
		return false
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return false
	}
	_, ok := errors.AsType[x509.UnknownAuthorityError](err)
	return !ok
}

// meaning is what the server's codes come down to.
type meaning int

const (
	again meaning = iota // it may pass by itself
	schema
	absent // the table, or its database
	denied
	config
	// values concern some of the rows; which ones, the caller finds out. Its mark is
	// never seen outside of the package.
	values
)

const repair = "make table and columns agree, then resume the job"

var meanings = map[meaning]mark{
	again:  {failure.Transient, failure.RetriesExhausted, ""},
	schema: {failure.Job, failure.Schema, repair},
	absent: {failure.Job, failure.Schema, "make it (spate inspect --ddl suggests a table), or correct table and database, then resume the job"},
	denied: {failure.Job, failure.Denied, "check user, password and grants (INSERT on the table, SELECT on what its views read), then resume the job"},
	config: {failure.Job, failure.Config, "correct the sink's section, then resume the job"},
	values: {failure.Record, failure.SinkRejected, ""},
}

// codes are the server's, by what they mean. All others may pass by themselves:
// too many parts (252), memory (241), a table that is read-only
// (242), replicas that lag, and what later versions will think of.
var codes = map[int]meaning{
	6: values, 26: values, 27: values, 28: values, 33: values, 34: values, 38: values, 41: values, 69: values,
	70: values, 72: values, 117: values, 128: values, 130: values, 131: values, 153: values, 190: values,
	321: values, 349: values, 376: values, 395: values, 407: values, 441: values, 467: values, 469: values,
	675: values, 676: values, 691: values,

	8: schema, 10: schema, 16: schema, 20: schema, 44: schema, 47: schema, 50: schema, 53: schema, 122: schema,

	60: absent, 81: absent,

	164: denied, 192: denied, 193: denied, 194: denied, 195: denied, 291: denied, 497: denied, 516: denied,

	48: config, 62: config, 73: config, 89: config, 115: config, 452: config,
}

const tooManyParts = 252

func (e *exception) mark() mark {
	if e.code == tooManyParts && strings.Contains(e.text, "single INSERT block") {
		// The one code for two things: this one is of the rows, and of every block.
		return mark{failure.Job, failure.Config,
			"set max_partitions_per_insert_block in settings, or partition the table less finely, then resume the job"}
	}
	if e.code != 0 {
		return meanings[codes[e.code]]
	}
	switch {
	case e.status == http.StatusUnauthorized, e.status == http.StatusForbidden:
		return meanings[denied]
	case e.status == http.StatusRequestEntityTooLarge:
		return mark{failure.Job, failure.Config, "a proxy in front of the server refuses a body of this size: raise its limit or lower max_bytes, then resume the job"}
	case e.status == http.StatusRequestURITooLong, e.status == http.StatusRequestHeaderFieldsTooLarge:
		return mark{failure.Job, failure.Config, "a proxy in front of the server refuses a URL of this length, and an insert's names all columns: raise its limit or fill fewer columns, then resume the job"}
	case e.status == http.StatusRequestTimeout, e.status == http.StatusTooEarly, e.status == http.StatusTooManyRequests,
		e.status >= 500, e.status < 300:
		return meanings[again]
	}
	return mark{failure.Job, failure.Config, "check the URL: what answers there is not ClickHouse; then resume the job"}
}
