package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// insert is a request as it was made.
type insert struct {
	uri    string
	header http.Header
	body   []byte
	chunks bool // it came in chunks
}

// keeper is a proxy that keeps the inserts that pass it.
type keeper struct {
	engine  string
	server  *httptest.Server
	mu      sync.Mutex
	inserts []insert // guarded by mu
}

func newKeeper(engine string) *keeper {
	k := &keeper{engine: engine}
	k.server = httptest.NewServer(k)
	return k
}

func (k *keeper) close() { k.server.Close() }

func (k *keeper) bytes() int {
	n := 0
	for _, i := range k.inserts {
		n += len(i.body)
	}
	return n
}

func (k *keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	i := insert{r.URL.RequestURI(), r.Header.Clone(), body, r.ContentLength < 0}
	if strings.HasPrefix(r.URL.Query().Get("query"), "INSERT") {
		k.mu.Lock()
		k.inserts = append(k.inserts, i)
		k.mu.Unlock()
	}
	res, err := k.forward(r.Context(), i)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = res.Body.Close() }()
	for name, values := range res.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(res.StatusCode)
	_, _ = io.Copy(w, res.Body)
}

func (k *keeper) forward(ctx context.Context, i insert) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, k.engine+i.uri, bytes.NewReader(i.body))
	if err != nil {
		return nil, err
	}
	if i.chunks {
		req.ContentLength = -1
	}
	req.Header = i.header.Clone()
	return http.DefaultTransport.RoundTrip(req)
}

// replay sends the inserts again, so many at a time.
func (k *keeper) replay(ctx context.Context, at int) error {
	var g errgroup.Group
	g.SetLimit(at)
	for _, i := range k.inserts {
		g.Go(func() error {
			res, err := k.forward(ctx, i)
			if err != nil {
				return err
			}
			defer func() { _ = res.Body.Close() }()
			text, err := io.ReadAll(res.Body)
			if err == nil && res.StatusCode != http.StatusOK {
				err = fmt.Errorf("insert: %s", text)
			}
			return err
		})
	}
	return g.Wait()
}

// ask runs a statement and returns its answer.
func ask(ctx context.Context, url, sql string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(sql))
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", sql, text)
	}
	return strings.TrimSpace(string(text)), err
}
