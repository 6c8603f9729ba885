package s3object_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spate-go/spate/pkg/awsconfig/awstest"
	"github.com/spate-go/spate/pkg/object/s3object"
	"github.com/spate-go/spate/pkg/unit"
)

// A GET goes through the SDK or past it, and nobody should be able to tell.
const (
	sdk    = "through the SDK"
	direct = "past it"
)

// ways make a bucket behind handle.
var ways = map[string]func(*testing.T, s3object.Options, http.HandlerFunc) *s3object.Bucket{sdk: bySDK, direct: past}

func bySDK(t *testing.T, opt s3object.Options, handle http.HandlerFunc) *s3object.Bucket {
	t.Helper()
	return s3object.New(wrapped{connect(t, handle)}, "bucket", "logs/", opt)
}

// wrapped is not a *s3.Client.
type wrapped struct{ *s3.Client }

// past has made the GET that the others are modelled on.
func past(t *testing.T, opt s3object.Options, handle http.HandlerFunc) *s3object.Bucket {
	t.Helper()
	model := make(chan struct{})
	b := s3object.New(connect(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/model") {
			_, _ = fmt.Fprint(w, "m")
			return
		}
		select {
		case <-model:
		default:
			close(model)
			if ofSDK(r) {
				t.Errorf("%s came through the SDK", r.URL)
			}
		}
		handle(w, r)
	}), "bucket", "logs/", opt)
	get(t, b, unit.Object{Key: "model", Size: 1})
	return b
}

// ofSDK reports whether the SDK made r.
func ofSDK(r *http.Request) bool { return r.Header.Get("Amz-Sdk-Invocation-Id") != "" }

func connect(t *testing.T, handle http.HandlerFunc) *s3.Client {
	t.Helper()
	awstest.Credentials(t)
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	c, err := s3object.NewClient(t.Context(), s3object.ClientOptions{Endpoint: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// get reads all of o, which has to be there.
func get(t *testing.T, b *s3object.Bucket, o unit.Object) {
	t.Helper()
	if err := try(t, b, o); err != nil {
		t.Fatal(err)
	}
}

func try(t *testing.T, b *s3object.Bucket, o unit.Object) error {
	t.Helper()
	body, err := b.Pin(o).ReadRange(t.Context(), 0, o.Size)
	if err != nil {
		return err
	}
	defer body.Close()
	got := make([]byte, o.Size)
	_, err = io.ReadFull(body, got)
	return err
}
