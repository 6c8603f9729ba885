package clickhousesink_test

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink/clickhousesink"
)

func TestServerCodesAreClassifiedByMeaning(t *testing.T) {
	type want struct {
		scope  failure.Scope
		reason failure.Reason
		says   string
	}
	var (
		again  = want{failure.Transient, failure.RetriesExhausted, ""}
		schema = want{failure.Job, failure.Schema, "then resume the job"}
		absent = want{failure.Job, failure.Schema, "make it (spate inspect --ddl"}
		denied = want{failure.Job, failure.Denied, "user, password and grants"}
		config = want{failure.Job, failure.Config, "then resume the job"}
		row    = want{failure.Unit, failure.SinkRejected, "rejected: skip"}
	)
	for code, w := range map[int]want{
		6: row, 26: row, 27: row, 33: row, 38: row, 41: row, 69: row, 70: row, 72: row, 117: row, 321: row, 349: row,
		376: row, 395: row, 407: row, 469: row, 675: row, 676: row, 691: row,
		16: schema, 20: schema, 44: schema, 47: schema, 53: schema, 60: absent, 81: absent,
		164: denied, 192: denied, 193: denied, 194: denied, 497: denied, 516: denied,
		62: config, 73: config, 89: config, 115: config, 452: config,
		252: again, 241: again, 242: again, 159: again, 160: again, 202: again, 209: again, 210: again, 216: again, 285: again,
		319: again, 999: again, 1000: again, 9999: again,
	} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			s := newServer(t, wide()...)
			s.script = func(int, *http.Request) step {
				return step{before: refusing(code, "the server's own words (51432d31-f7fb-4e52-aa78-2b19a09c65a6)")}
			}
			o := options(s)
			o.Rejected = clickhousesink.RejectFail
			err := open(t, o).Write(t.Context(), block(0, 0, 4))
			expect(t, err, w.scope, w.reason, w.says, fmt.Sprintf("code %d: the server's own words", code), "db.events", "ch:8123")
			if strings.Contains(err.Error(), "version 26") || strings.Contains(err.Error(), "SOME_NAME") || strings.Contains(err.Error(), "51432d31") {
				t.Errorf("%v repeats itself", err)
			}
		})
	}
	t.Run("an exception that was thrown again says it once", func(t *testing.T) {
		for text, want := range map[string]string{
			"Code: 241. DB::Exception: Code: 241. DB::Exception: it is full: (at row 1)\n: While executing File. (MEMORY) (version 26.9.2.1). (MEMORY)\n": "it is full: (at row 1) : While executing File",
			"Code: 241. DB::Exception: full. (MEMORY) (version 26.9.2.1 (official build)). (MEMORY) (version 26.9.2.1 (official build))":                  "full",
			"Code: 241. DB::NetException: none is left: Code: 210. DB::NetException: refused. (NETWORK) (version 26.9.2.1)\n. (MEMORY)":                   "DB::NetException: none is left: Code: 210. DB::NetException: refused. (NETWORK)",
			"Code: 241, e.displayText() = DB::Exception: full (version 20.3.1.1 (official build)), e.what() = DB::Exception":                              "full",
			"Code: 241. DB::Exception: Values: a = '(version 2)', b = (A). (MEMORY) (version 26.9.2.1)":                                                   "Values: a = '(version 2)', b = (A)",
		} {
			s := newServer(t, wide()...)
			s.script = func(int, *http.Request) step {
				return step{before: func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(500)
					_, _ = io.WriteString(w, text)
				}}
			}
			err := open(t, options(s)).Write(t.Context(), block(0, 0, 4))
			if err == nil || !strings.HasSuffix(err.Error(), "code 241: "+want) {
				t.Errorf("of %q: %v", text, err)
			}
		}
	})
	t.Run("too many partitions in one block", func(t *testing.T) {
		s := newServer(t, wide()...)
		s.script = func(int, *http.Request) step {
			return step{before: refusing(252, "Too many partitions for single INSERT block (more than 100)")}
		}
		expect(t, open(t, options(s)).Write(t.Context(), block(0, 0, 4)), failure.Job, failure.Config, "max_partitions_per_insert_block")
	})
	t.Run("a long message is bounded", func(t *testing.T) {
		s := newServer(t, wide()...)
		s.script = func(int, *http.Request) step { return step{before: refusing(241, strings.Repeat("ü", 100_000))} }
		if err := open(t, options(s)).Write(t.Context(), block(0, 0, 4)); len(err.Error()) > 800 {
			t.Errorf("it has %d bytes", len(err.Error()))
		}
	})
}

func TestStatusesWithoutACodeAreClassified(t *testing.T) {
	for status, reason := range map[int]failure.Reason{
		301: failure.Config, 302: failure.Config, 307: failure.Config, 400: failure.Config, 401: failure.Denied, 403: failure.Denied,
		404: failure.Config, 413: failure.Config,
	} {
		s := newServer(t, wide()...)
		s.script = func(int, *http.Request) step {
			return step{before: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://elsewhere/")
				w.WriteHeader(status)
			}}
		}
		expect(t, open(t, options(s)).Write(t.Context(), block(0, 0, 4)), failure.Job, reason, fmt.Sprint(status))
	}
	for _, status := range []int{414, 431} { // the statement is in the URL
		s := newServer(t, wide()...)
		s.script = func(int, *http.Request) step {
			return step{before: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }}
		}
		expect(t, open(t, options(s)).Write(t.Context(), block(0, 0, 4)), failure.Job, failure.Config, "names all columns")
	}
	for _, status := range []int{408, 429, 500, 502, 503, 504} {
		s := newServer(t, wide()...)
		s.script = func(int, *http.Request) step {
			return step{before: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }}
		}
		expect(t, open(t, options(s)).Write(t.Context(), block(0, 0, 4)), failure.Transient, failure.RetriesExhausted, fmt.Sprint(status))
	}
}

func TestTLSIsTrustedByFileAndItsFaultsHalt(t *testing.T) {
	s := newServer(t, wide()...)
	h := httptest.NewUnstartedServer(s)
	h.Config.ErrorLog = log.New(io.Discard, "", 0)
	h.StartTLS()
	defer h.Close()
	plain := httptest.NewServer(s)
	defer plain.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options(s)
	o.Transport, o.Shards = nil, []clickhousesink.Shard{{Replicas: []string{h.URL}}}
	_, err := clickhousesink.New(t.Context(), o)
	expect(t, err, failure.Job, failure.Config, "certificate")
	o.CAFile = file
	write(t, open(t, o), block(0, 0, 10))
	_, port, _ := net.SplitHostPort(h.Listener.Addr().String())
	o.Shards[0].Replicas[0] = "https://localhost:" + port // whose certificate is not for that name
	if h.Certificate().VerifyHostname("localhost") != nil {
		_, err = clickhousesink.New(t.Context(), o)
		expect(t, err, failure.Job, failure.Config, "certificate")
	}
	o.Shards[0].Replicas[0] = "https" + strings.TrimPrefix(plain.URL, "http")
	_, err = clickhousesink.New(t.Context(), o)
	expect(t, err, failure.Job, failure.Config, "scheme and port")
	o.CAFile = os.DevNull
	_, err = clickhousesink.New(t.Context(), o)
	expect(t, err, failure.Job, failure.Config, "certificates")
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		t.Error("it was asked")
	}
}

func TestThePasswordIsInNoError(t *testing.T) {
	const password = "open-sesame"
	s := newServer(t, wide()...)
	s.password = password + "-or-not" // the server's answer repeats what it got
	o := options(s)
	o.User, o.Password = "writer", password
	check := func(err error) {
		t.Helper()
		if err == nil || strings.Contains(err.Error(), "query=") || strings.Contains(err.Error(), password) || strings.Contains(fmt.Sprintf("%+v", err), password) {
			t.Errorf("got %v", err)
		}
	}
	_, err := clickhousesink.New(t.Context(), o)
	check(err)
	expect(t, err, failure.Job, failure.Denied)
	s.password = password
	opened := open(t, o)
	for _, do := range []func(http.ResponseWriter, *http.Request){lost, refusing(516, "wrong: "+password), refusing(999, password)} {
		s.script = func(int, *http.Request) step { return step{before: do} }
		check(opened.Write(t.Context(), block(0, 0, 4)))
	}
	o.Shards[0].Replicas[0] = "http://writer:" + password + "@ch:8123"
	_, err = clickhousesink.New(t.Context(), o)
	check(err)
	o.Shards[0].Replicas[0] = "http://ch:8123/?password=" + password
	_, err = clickhousesink.New(t.Context(), o)
	check(err)
	o.Shards[0].Replicas[0] = "http://writer:" + password + "@ch:81\n23"
	_, err = clickhousesink.New(t.Context(), o)
	check(err)
}
