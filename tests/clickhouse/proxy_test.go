package clickhouse_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// fate is what a proxy does with an insert.
type fate int

const (
	pass   fate = iota
	refuse      // break the connection: nothing of it happens
	lose        // let it happen, then break the connection
	late        // let it happen once the client has given up
	busy        // answer that there are too many parts, which is to be tried again
	down        // answer as a balancer does behind which no server is
)

// proxy stands before an engine and decides on each insert; what is asked beside
// them passes, but for a server that is away.
type proxy struct {
	engine  engine
	decide  func(insert int64) fate // from 1
	away    func() bool             // nil: never
	inserts atomic.Int64
	struck  atomic.Int64 // inserts that did not pass
}

// before returns the engine as it looks through a proxy.
func (e engine) before(t *testing.T, decide func(insert int64) fate) (engine, *proxy) {
	t.Helper()
	p := &proxy{engine: e, decide: decide}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	return engine{s.URL, e.database}, p
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || p.away != nil && p.away() {
		panic(http.ErrAbortHandler)
	}
	what := pass
	if strings.HasPrefix(r.URL.Query().Get("query"), "INSERT") {
		what = p.decide(p.inserts.Add(1))
	}
	if what != pass {
		p.struck.Add(1)
	}
	switch what {
	case refuse:
		panic(http.ErrAbortHandler)
	case busy:
		w.Header().Set("X-ClickHouse-Exception-Code", "252")
		http.Error(w, "Code: 252. DB::Exception: Too many parts (300). Merges are processing significantly slower than inserts. (TOO_MANY_PARTS)", http.StatusInternalServerError)
		return
	case down:
		http.Error(w, "no healthy upstream", http.StatusServiceUnavailable)
		return
	case late:
		<-r.Context().Done()
	case pass, lose:
	}
	res, err := p.forward(r, body)
	if err != nil || what == lose || what == late {
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	for name, values := range res.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(res.StatusCode)
	_, _ = io.Copy(w, res.Body)
}

func (p *proxy) forward(r *http.Request, body []byte) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), time.Minute)
	context.AfterFunc(ctx, cancel)
	req, err := http.NewRequestWithContext(ctx, r.Method, p.engine.url+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		cancel()
		return nil, err
	}
	req.Header = r.Header.Clone()
	return http.DefaultTransport.RoundTrip(req)
}
