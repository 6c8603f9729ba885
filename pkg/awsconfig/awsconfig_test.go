package awsconfig_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spate-go/spate/pkg/awsconfig"
)

func TestAPauseCostsNoConnection(t *testing.T) {
	const atOnce = 32
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "us-east-1")
	var opened atomic.Int64
	arrived := make(chan struct{}, atOnce)
	var together sync.WaitGroup // so that each has a connection of its own
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		together.Wait()
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	cfg, err := awsconfig.Load(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		together.Add(1)
		var calls sync.WaitGroup
		for range atOnce {
			calls.Go(func() {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, nil)
				if err != nil {
					t.Error(err)
					return
				}
				answer, err := cfg.HTTPClient.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				answer.Body.Close()
			})
		}
		for range atOnce {
			<-arrived
		}
		together.Done()
		calls.Wait()
	}
	if n := opened.Load(); n != atOnce {
		t.Errorf("%d connections for %d calls at once", n, atOnce)
	}
}
