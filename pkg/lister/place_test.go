package lister_test

import (
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/lister"
	"github.com/spate-go/spate/pkg/unit"
)

const placeMark = "\x00\U0010FFFF"

var placeKeys = []string{"", "a", "a/b", "a\x00", "ä\uffff", "\xff", "a" + placeMark, "a" + placeMark + "~", placeMark, "a" + placeMark + `00000007 1 2 3 "" ""`}

func placesWithin(key string) []lister.Place {
	var all []lister.Place
	for _, o := range []unit.Object{
		{Size: 5 << 40, ETag: `"9b2cf5-2"`, LastModified: time.Date(2026, 11, 2, 3, 4, 5, 678e6, time.UTC)},
		{Size: 1, ETag: "a b\n\x00\xff%q", Version: `3/L4kq"tJ`},
		{ETag: placeMark, LastModified: time.Date(12000, 1, 1, 0, 0, 0, 1, time.UTC)},
	} {
		o.Key = key
		for _, n := range []int{1, 1024, 99_999_999} {
			all = append(all, lister.Place{Key: key, Object: &o, Units: n})
		}
	}
	return all
}

func TestEveryPlaceIsFoundByItsName(t *testing.T) {
	names := map[string]lister.Place{}
	for _, key := range placeKeys {
		for _, p := range append(placesWithin(key), lister.Place{Key: key}) {
			name := p.Name()
			if other, ok := names[name]; ok {
				t.Errorf("%+v and %+v are both named %q", p, other, name)
			}
			names[name] = p
			got, err := lister.ParsePlace(name)
			if err != nil {
				t.Fatalf("%q: %v", name, err)
			}
			if d := cmp.Diff(p, got); d != "" {
				t.Errorf("%q (-want +got):\n%s", name, d)
			}
			if p.Object == nil && utf8.ValidString(key) != utf8.ValidString(name) {
				t.Errorf("%q is not UTF-8, and its key is", name)
			}
		}
	}
}

func TestThePlacesOfAListingRise(t *testing.T) {
	for _, key := range placeKeys {
		last := key[:len(key)/2]
		for _, p := range placesWithin(key)[:3] {
			name := p.Name()
			if name <= last {
				t.Errorf("%q comes after %q", name, last)
			}
			last = name
		}
		for range 3 { // as when listers die between the last page and the end marker
			name := lister.Place{Key: key}.After(last)
			p, err := lister.ParsePlace(name)
			if name <= last || err != nil || p.Key != key || p.Object != nil {
				t.Errorf("%q comes after %q: %+v, %v", name, last, p, err)
			}
			last = name
		}
	}
	if name := (lister.Place{Key: "b"}).After("a"); name != "b" {
		t.Errorf("the place after %q is %q", "a", name)
	}
	if a := (lister.Place{Key: "a"}); a.After("a") <= "a" {
		t.Error("a page that says nothing ends where it begins")
	}
}

func TestAPlaceThatNoListerNamedIsRefused(t *testing.T) {
	for _, rest := range []string{"", "x", "~x", "1", `1 2 3 4 "e"`, `1 2 3 4 "e" "v`, `-`} {
		if p, err := lister.ParsePlace("key" + placeMark + rest); !failure.Is(err, failure.Job) {
			t.Errorf("%q: %+v, %v", rest, p, err)
		}
	}
}

func FuzzPlace(f *testing.F) {
	for _, key := range placeKeys {
		f.Add(key)
		for _, p := range placesWithin(key) {
			f.Add(p.Name())
		}
	}
	f.Fuzz(func(t *testing.T, name string) {
		if p, err := lister.ParsePlace(name); err == nil && p.Object != nil {
			again, err := lister.ParsePlace(p.Name())
			if d := cmp.Diff(p, again); err != nil || d != "" {
				t.Errorf("%q is named %q: %v\n%s", name, p.Name(), err, d)
			}
		}
		p := lister.Place{Key: name}
		if got, err := lister.ParsePlace(p.Name()); err != nil || got.Key != name || got.Object != nil {
			t.Errorf("the key %q is read as %+v, %v", name, got, err)
		}
	})
}
