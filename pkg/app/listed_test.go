package app

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/object/memobject"
)

func TestALongListingSaysHowFarItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &memobject.Bucket{PageSize: 2}
		for _, key := range []string{"a", "b", "c"} {
			b.Put(key, []byte("{}"))
		}
		var out bytes.Buffer
		l := watch(b)
		stop := l.tell(&out, 10*time.Second)
		for _, after := range []string{"", "b"} {
			if _, err := l.List(t.Context(), after); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10*time.Second + 1)
		}
		stop()
		time.Sleep(time.Minute)
		if want := "listed 2 objects in 10s\nlisted 3 objects in 20s\n"; out.String() != want {
			t.Errorf("said %q, want %q", out.String(), want)
		}
	})
}
