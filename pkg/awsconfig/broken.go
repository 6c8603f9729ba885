package awsconfig

import (
	"errors"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// mending is a client whose broken answers the SDK asks for again. It does so by
// itself where a connection is reset, and not where one just ends in the midst of
// a body, though both are the same accident.
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

// ConnectionError is what the SDK asks an error, to know whether to try again.
func (cutError) ConnectionError() bool { return true }
