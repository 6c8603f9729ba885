// Package objecttest is the suite that every driver of package object passes.
//
// It tests the contract, not a store: what a store cannot do is said in the
// Harness, as data, and then the suite checks what the driver says instead.
package objecttest

import (
	"testing"

	"github.com/spate-go/spate/pkg/object"
)

// Store is one empty bucket and the way to fill it. The functions end the test
// when they fail.
type Store struct {
	Bucket object.Bucket
	Prefix string // that Bucket lists under; the suite puts it before its keys
	Put    func(key string, data []byte)
	Delete func(key string)
	// Held is the number of things that reading holds: bodies, descriptors. Nil:
	// it cannot be told.
	Held func() int
}

// Harness makes stores and says what they are like.
type Harness struct {
	New func(t *testing.T) Store // a bucket of its own for each test

	PageSize int // the most objects that the driver's pages hold

	// Paths: keys are paths of files. A key like "a//b" or "../a" names nothing,
	// and no key is the directory of another.
	Paths bool
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	t.Run("listing", func(t *testing.T) { listing(t, h) })
	t.Run("keys", func(t *testing.T) { keys(t, h) })
	t.Run("reading", func(t *testing.T) { reading(t, h) })
	t.Run("pinning", func(t *testing.T) { pinning(t, h) })
}
