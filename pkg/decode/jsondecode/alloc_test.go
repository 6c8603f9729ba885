//go:build !race

package jsondecode_test

import (
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

func TestABorrowedStructTakesNoAllocation(t *testing.T) {
	d := jsondecode.Typed[struct {
		TS   time.Time `json:"ts"`
		ID   string    `json:"id"`
		HTTP request   `json:"http"`
		Tags []string
		N    float64
	}](jsondecode.Options{Borrow: true})
	var v struct {
		TS   time.Time `json:"ts"`
		ID   string    `json:"id"`
		HTTP request   `json:"http"`
		Tags []string
		N    float64
	}
	b := []byte(`{"ts":"2026-11-28T12:34:56.789Z","id":"a\tb","http":{"status":200,"method":"GET","referer":null},"Tags":["a","b"],"N":1.5,"other":[{}]}`)
	if n := testing.AllocsPerRun(1000, func() {
		if err := d.Decode(b, &v); err != nil || v.ID != "a\tb" || v.HTTP.Status != 200 || v.Tags[1] != "b" {
			t.Fatal(v, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
