// Package decode is the contract of decoders: one framed record to one value.
package decode

// Decoder turns a record's bytes into a T.
type Decoder[T any] interface {
	// Decode sets *v from b. The value may refer to b and to the decoder's own
	// memory, and is valid until the next call; *v may hold an earlier value,
	// of which nothing must show. An error is failure.Record with undecodable
	// and says where in b. A Decoder is used by one goroutine at a time.
	Decode(b []byte, v *T) error
}
