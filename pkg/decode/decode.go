// Package decode is the contract of decoders: one framed record to one value.
//
// It frames nothing and drops nothing: the chain decides what happens to a
// record that does not decode.
//
// The law: a value depends on its record alone, never on what the decoder saw
// before (INV-3).
package decode

// Decoder turns a record's bytes into a T.
type Decoder[T any] interface {
	// Decode sets *v from b. The value may refer to b and to the decoder's own
	// memory, and is valid until the next call; *v may hold an earlier value,
	// none of which may remain. An error is failure.Record with undecodable,
	// gives the place in b and quotes little of it; it does not affect the next
	// record. b is not written to. A Decoder is used by one goroutine at a
	// time, and shares nothing with others.
	Decode(b []byte, v *T) error
}
