package awsconfig

import (
	"errors"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// mending is a client that makes the SDK retry truncated responses. By itself
// it does so when a connection is reset, but not when one just ends in the
// middle of a body, though both are the same accident.
type mending struct{ aws.HTTPClient }

func (m mending) Do(r *http.Request) (*http.Response, error) {
	answer, err := m.HTTPClient.Do(r)
	if err == nil {
		answer.Body = body{answer.Body}
	}
	return answer, err
}

type body struct{ io.ReadCloser }

func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = cutError{err}
	}
	return n, err
}

// cutError is about a body that ended too early.
type cutError struct{ error }

func (e cutError) Unwrap() error { return e.error }

// ConnectionError tells the SDK that the call may be retried.
func (cutError) ConnectionError() bool { return true }
