// Package decode is the contract of decoders: one framed record to one value.
//
// It frames nothing and drops nothing: what becomes of a record that does not
// decode is for the chain to say.
//
// The law: a value depends on its record alone, never on what the decoder saw
// before (INV-3).
package decode

// Decoder turns a record's bytes into a T.
type Decoder[T any] interface {
	// Decode sets *v from b. The value may refer to b and to the decoder's own
	// memory, and is valid until the next call; *v may hold an earlier value,
	// of which nothing must show. An error is failure.Record with undecodable,
	// says where in b and shows little of it; the next record may be decoded as
	// if there had been none. b is not written to. A Decoder is used by one
	// goroutine at a time, and shares nothing with others.
	Decode(b []byte, v *T) error
}
