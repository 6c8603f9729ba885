package clickhousesink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// client speaks the server's HTTP interface.
type client struct {
	http           *http.Client
	user, password string
}

// idle is how long an idle connection is kept: less than servers keep theirs,
// the older ones for 3 s, so that few requests meet one that is gone.
const idle = 2500 * time.Millisecond

func newClient(o *Options) (*client, error) {
	c := &client{user: o.User, password: o.Password}
	transport := o.Transport
	if transport == nil {
		pool, err := roots(o.CAFile)
		if err != nil {
			return nil, err
		}
		transport = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: o.DialTimeout, KeepAlive: 15 * time.Second}).DialContext,
			TLSClientConfig:     &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: o.DialTimeout,
			MaxIdleConnsPerHost: 16,
			IdleConnTimeout:     idle,
			DisableCompression:  true,
			WriteBufferSize:     256 << 10,
		}
	}
	c.http = &http.Client{
		Transport: transport,
		// Rows must not follow a redirect to a server that was never checked.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// statement is one request.
type statement struct {
	sql        string
	parameters url.Values // nil: none
	body       *body      // nil: none
	encoding   string     // of the body; "": none
}

// answer is what came back, whole.
type answer struct {
	status int
	header http.Header
	text   []byte // bounded
	long   bool   // text is but its beginning
}

// maxAnswer bounds how much of a response is kept: those of inserts are empty,
// and tables have no more than some thousand columns.
const maxAnswer = 8 << 20

// do makes a request and returns its response once the last byte of it has
// arrived. A truncated response is an error.
func (c *client) do(ctx context.Context, base string, s statement) (*answer, error) {
	v := url.Values{}
	for name, values := range s.parameters {
		v[name] = values
	}
	v.Set("query", s.sql)
	var content io.Reader
	if s.body != nil {
		content = s.body.open()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/?"+v.Encode(), content)
	if err != nil {
		return nil, bare(err)
	}
	if s.body != nil {
		req.ContentLength = s.body.length()
		// A connection that was closed while idle is noticed before a byte is
		// written to it, and the request is sent on another.
		req.GetBody = func() (io.ReadCloser, error) { return s.body.open(), nil }
	}
	c.head(req.Header, s.encoding)
	res, err := c.http.Do(req)
	if err != nil {
		return nil, bare(err)
	}
	return read(res)
}

func (c *client) head(h http.Header, encoding string) {
	h.Set("User-Agent", "spate")
	h.Set("Content-Type", "application/octet-stream")
	if encoding != "" {
		h.Set("Content-Encoding", encoding)
	}
	if c.user != "" {
		h.Set("X-ClickHouse-User", c.user)
	}
	if c.password != "" {
		h.Set("X-ClickHouse-Key", c.password)
	}
}

func read(res *http.Response) (*answer, error) {
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	var rest int64
	if err == nil {
		rest, err = io.Copy(io.Discard, res.Body)
	}
	if err != nil {
		return nil, fmt.Errorf("the answer is cut: %w", err)
	}
	a := &answer{status: res.StatusCode, header: res.Header, text: text, long: rest > 0}
	for name, values := range res.Trailer { // there by now
		a.header[name] = values
	}
	return a, nil
}

// bare is an error of the client without the URL that it names, which holds the
// whole statement and its settings.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// hide takes the password out of a text that the server wrote.
func (c *client) hide(text string) string {
	if len(c.password) < 4 {
		return text // too short to tell from a word
	}
	return strings.ReplaceAll(text, c.password, "***")
}
