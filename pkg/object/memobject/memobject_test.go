package memobject_test

import (
	"testing"

	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/object/objecttest"
)

func TestConformance(t *testing.T) {
	objecttest.Run(t, objecttest.Harness{
		PageSize: 4,
		New: func(*testing.T) objecttest.Store {
			b := &memobject.Bucket{PageSize: 4}
			return objecttest.Store{
				Bucket: b,
				Put:    func(key string, data []byte) { b.Put(key, data) },
				Delete: b.Delete,
				Held:   b.OpenBodies,
			}
		},
	})
}
