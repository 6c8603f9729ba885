// Package object is the contract of an object store as a source, and the pinned
// reader that all its drivers share.
//
// A driver lists and opens byte ranges; it holds no bytes and retries nothing.
// Windows, reading ahead, resuming at the exact byte and retries live here,
// once, in Reader.
//
// The law: a listing that succeeds names every object that existed when it
// began, in key order, and the bytes read of an object are all of the pinned
// version (INV-2), or the read fails.
package object

import (
	"context"
	"io"

	"github.com/spate-go/spate/pkg/unit"
)

// Lister lists the objects under the prefix that it was made for.
type Lister interface {
	// List returns the objects whose keys come after the key after ("" for the
	// first page), in ascending order of key bytes. A page may be empty and yet
	// not the last. The same arguments give the same page while the store does
	// not change. Listing is strongly consistent: an object whose write was
	// acknowledged before the call is in the listing.
	//
	// Errors: failure.Job when the listing is denied or the bucket does not
	// exist, failure.Transient when a retry may help.
	List(ctx context.Context, after string) (Page, error)
}

// Page is a part of a listing.
type Page struct {
	Objects []Listed
	// Last is the key to continue after; it may be later than that of the last
	// object. More is false on the last page.
	Last string
	More bool
}

// Listed is an object and whether it can be read now.
type Listed struct {
	unit.Object
	// Archived: the object must be restored before it can be read.
	Archived bool
}

// Opener pins objects.
type Opener interface {
	// Pin makes no call. The Pinned reads that very version of the object or
	// fails.
	Pin(o unit.Object) Pinned
}

// Pinned is one object at one version.
type Pinned interface {
	// ReadRange opens the n bytes at off; the caller closes the body and never
	// asks for bytes past the object's size. Calls may overlap. The request is
	// sent before ReadRange returns and the body is not buffered, so that a
	// caller can have the next range under way while it reads this one.
	//
	// The bytes are of the pinned version (INV-2). Errors: failure.Member with
	// etag_drift if it was replaced, not_found if it is gone, archived if it
	// must be restored first; failure.Job if access is denied or the bucket
	// does not exist; failure.Transient if a retry may help. A body that is cut
	// short may end with io.EOF, so the caller counts. Errors name the object.
	// The call and the body's reads end soon after ctx does.
	ReadRange(ctx context.Context, off, n int64) (io.ReadCloser, error)
	// Close is called once no ReadRange is in progress and all bodies are
	// closed. It releases what reading held. A driver that can only tell
	// afterwards whether the object changed since the first ReadRange checks it
	// here, and fails with etag_drift.
	Close() error
}

// Stater looks at objects as they are now.
type Stater interface {
	// Stat returns the current version of the object at key: its size, ETag,
	// time, and version id where the store keeps versions. It is strongly
	// consistent. Errors are those of Pinned.ReadRange: failure.Member with
	// not_found where there is none; failure.Job; failure.Transient.
	Stat(ctx context.Context, key string) (unit.Object, error)
}

// Bucket is what a listed job reads: it needs no Stater.
type Bucket interface {
	Lister
	Opener
}
