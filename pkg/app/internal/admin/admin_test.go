package admin_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spate-go/spate/pkg/app/internal/admin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAnAddressWithoutAHostIsTheLoopback(t *testing.T) {
	for listen, want := range map[string]string{
		"9090":            "127.0.0.1:9090",
		":9090":           "127.0.0.1:9090",
		"127.0.0.1:9090":  "127.0.0.1:9090",
		"0.0.0.0:9090":    "0.0.0.0:9090",
		"[::]:9090":       "[::]:9090",
		"[::1]:0":         "[::1]:0",
		"localhost:80":    "localhost:80",
		"":                "",
		"localhost":       "",
		":http":           "",
		"1.2.3.4:65536":   "",
		"1.2.3.4:-1":      "",
		"::1":             "",
		"http://x:9090/":  "",
		"127.0.0.1:9090 ": "",
	} {
		got, err := admin.Address(listen)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", listen, got, err, want)
		}
	}
}

// serve answers until the test ends and returns the URL.
func serve(t *testing.T, o admin.Options) string {
	t.Helper()
	l, err := admin.Listen(t.Context(), "0")
	if err != nil {
		t.Fatal(err)
	}
	s := admin.Serve(t.Context(), l, o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return s.URL()
}

func request(t *testing.T, method, url string) (code int, body string, header http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header
}

func TestWhatIsAnswered(t *testing.T) {
	bad := func(context.Context) error { return errors.New("the job is halted: denied") }
	good := func(context.Context) error { return nil }
	metrics := func(w io.Writer) error { _, err := io.WriteString(w, "m 1\n"); return err }
	for name, c := range map[string]struct {
		o            admin.Options
		method, path string
		code         int
		body         string
	}{
		"alive":                           {admin.Options{Alive: good}, "GET", "/healthz", 200, "alive\n"},
		"not alive, and why":              {admin.Options{Alive: bad}, "GET", "/healthz", 503, "the job is halted: denied\n"},
		"ready":                           {admin.Options{Ready: good, Alive: bad}, "GET", "/readyz", 200, "ready\n"},
		"not ready, and why":              {admin.Options{Ready: bad, Alive: good}, "GET", "/readyz", 503, "the job is halted: denied\n"},
		"always ready without a function": {admin.Options{}, "GET", "/readyz", 200, "ready\n"},
		"metrics":                         {admin.Options{Metrics: metrics}, "GET", "/metrics", 200, "m 1\n"},
		"no metrics":                      {admin.Options{}, "GET", "/metrics", 404, "404 page not found\n"},
		"nothing else":                    {admin.Options{Metrics: metrics}, "GET", "/", 404, "404 page not found\n"},
		"a profile that is not there":     {admin.Options{}, "GET", "/debug/pprof/", 404, "404 page not found\n"},
		"a POST is refused":               {admin.Options{Metrics: metrics}, "POST", "/metrics", 405, "Method Not Allowed\n"},
		"a DELETE is refused":             {admin.Options{}, "DELETE", "/healthz", 405, "Method Not Allowed\n"},
		"a PUT is refused":                {admin.Options{}, "PUT", "/readyz", 405, "Method Not Allowed\n"},
		"a HEAD has no body":              {admin.Options{}, "HEAD", "/healthz", 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.ContentType = "text/x-metrics"
			code, body, header := request(t, c.method, serve(t, c.o)+c.path)
			if code != c.code || body != c.body {
				t.Errorf("%d %q, want %d %q", code, body, c.code, c.body)
			}
			if got := header.Get("Content-Type"); c.code == 200 && c.path == "/metrics" && got != "text/x-metrics" {
				t.Errorf("content type %q", got)
			}
		})
	}
}

func TestABarePortIsOfTheLoopbackInterface(t *testing.T) {
	url := serve(t, admin.Options{})
	if !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Errorf("it answers at %s", url)
	}
}

func TestAPortInUseIsSaidAtOnceAndNamed(t *testing.T) {
	url := serve(t, admin.Options{})
	address := strings.TrimPrefix(url, "http://")
	_, err := admin.Listen(t.Context(), address)
	if err == nil || !strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), "in use") || !strings.Contains(err.Error(), "another port") {
		t.Errorf("got %v", err)
	}
	if _, err := admin.Listen(t.Context(), "no address"); err == nil || !strings.Contains(err.Error(), "no address") {
		t.Errorf("got %v", err)
	}
}

func TestAListenerThatIsClosedGivesItsAddressBack(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	for range 2 {
		l, err := admin.Listen(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	l, err := admin.Listen(t.Context(), "0")
	if err != nil {
		t.Fatal(err)
	}
	var answered atomic.Bool
	s := admin.Serve(t.Context(), l, admin.Options{Ready: func(context.Context) error {
		close(began)
		<-end
		answered.Store(true)
		return nil
	}})
	// One that is idle, one that never says what it wants, one that waits for its answer.
	address := strings.TrimPrefix(s.URL(), "http://")
	var all []net.Conn
	for _, text := range []string{"", "GET /hea", "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = fmt.Fprint(c, text)
		all = append(all, c)
	}
	<-began
	start := time.Now()
	time.AfterFunc(50*time.Millisecond, func() { close(end) })
	_ = s.Close()
	if !answered.Load() {
		t.Error("it did not wait for the answer under way")
	}
	if d := time.Since(start); d > 4*time.Second {
		t.Errorf("closing took %v", d)
	}
	line, err := bufio.NewReader(all[2]).ReadString('\n')
	if err != nil || !strings.Contains(line, "200") {
		t.Errorf("the one that waited got %q, %v", line, err)
	}
	if c, err := net.Dial("tcp", address); err == nil {
		_ = c.Close()
		t.Error("it still answers")
	}
}
