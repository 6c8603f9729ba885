package lambdakit

import "net/http"

// Ending is how a truncated body ends.
type Ending int

// The endings.
const (
	Reset Ending = iota // the connection breaks
	Short               // cleanly, as if that were all
	Stall               // no more bytes, until the caller gives up
)

// cut ends a body after so many bytes.
type cut struct {
	http.ResponseWriter
	left int64
	ends Ending
	gone <-chan struct{} // closed when the caller gave up
}

// WriteHeader keeps quiet about how long a body is that will be shorter.
func (c *cut) WriteHeader(status int) {
	if c.ends == Short {
		c.Header().Del("Content-Length")
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *cut) Write(b []byte) (int, error) {
	if int64(len(b)) < c.left {
		c.left -= int64(len(b))
		return c.ResponseWriter.Write(b)
	}
	_, _ = c.ResponseWriter.Write(b[:c.left])
	c.left = 0
	if f, ok := c.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
	switch c.ends {
	case Short:
		return len(b), nil
	case Stall:
		<-c.gone
	case Reset:
	}
	panic(http.ErrAbortHandler)
}
