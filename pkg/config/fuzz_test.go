package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/config"
)

// Whatever the file: an answer, in time, and no secret in it.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(before))
	files, _ := filepath.Glob("testdata/errors/*.yaml")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(text) < 4<<10 { // a long seed would be all that a short run minimises
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		began := time.Now()
		all := func(string) (string, bool) { return secret, true }
		for _, env := range []func(string) (string, bool){env, all} {
			_, err := load("f.yaml", text, env)
			if err != nil && strings.Contains(err.Error(), "hunter2") && !strings.Contains(string(text), "hunter2") {
				t.Errorf("the error shows a secret: %v", err)
			}
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%d bytes took %s", len(text), took)
		}
	})
}

func FuzzSet(f *testing.F) {
	f.Add("chain[0].filter", "a == b")
	f.Add(`map["a.b"]`, "{a: [b]}")
	f.Add("list[3]", "null")
	f.Fuzz(func(t *testing.T, path, value string) {
		doc, err := config.Parse("f.yaml", []byte(before), nil)
		if err != nil {
			t.Fatal(err)
		}
		if doc.Set(path, value) != nil {
			return
		}
		var got tree
		_ = doc.Decode(&got)
		if err := doc.Set(path, value); err != nil {
			t.Errorf("what was set cannot be set again: %v", err)
		}
	})
}

func FuzzSize(f *testing.F) {
	for _, s := range []string{"64MiB", "1.5KiB", "0", "9999999999GB", "1e9", "."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var n, back config.Size
		if n.UnmarshalText([]byte(s)) != nil {
			return
		}
		err := back.UnmarshalText([]byte(n.String()))
		if err != nil || back != n || n < 0 {
			t.Errorf("%q is %d, which prints %q, which is %d (%v)", s, int64(n), n, int64(back), err)
		}
	})
}
