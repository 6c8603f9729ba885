package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/config"
)

func TestATypeIsDescribedAsItIsRead(t *testing.T) {
	type body struct {
		Path string `yaml:"path,required" example:"out/"`
	}
	type spec struct {
		Name   string           `yaml:"name" oneof:"a|b"`
		N      int64            `yaml:"n"`
		On     *bool            `yaml:"on"`
		Size   config.Size      `yaml:"size"`
		Wait   time.Duration    `yaml:"wait"`
		At     *config.Time     `yaml:"at"`
		Pairs  config.Pairs     `yaml:"pairs"`
		Body   *body            `yaml:"body"`
		List   []string         `yaml:"list"`
		Bodies map[string]*body `yaml:"bodies"`
		Ours   int
		Gone   int `yaml:"-"`
	}
	text := config.Type{Kind: config.String}
	section := config.Type{Kind: config.Section, Name: "body", Keys: []config.Key{{Name: "path", Type: text, Required: true, Example: "out/"}}}
	want := config.Type{Kind: config.Section, Name: "spec", Keys: []config.Key{
		{Name: "name", Type: text, OneOf: []string{"a", "b"}},
		{Name: "n", Type: config.Type{Kind: config.Integer}},
		{Name: "on", Type: config.Type{Kind: config.Boolean}},
		{Name: "size", Type: config.Type{Kind: config.Bytes}},
		{Name: "wait", Type: config.Type{Kind: config.Interval}},
		{Name: "at", Type: config.Type{Kind: config.Moment}},
		{Name: "pairs", Type: config.Type{Kind: config.Named, Elem: &text}},
		{Name: "body", Type: section},
		{Name: "list", Type: config.Type{Kind: config.List, Elem: &text}},
		{Name: "bodies", Type: config.Type{Kind: config.Named, Elem: &section}},
	}}
	got, err := config.Describe(&spec{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

type knot struct {
	Inner []knot `yaml:"inner"`
}

func TestWhatCannotBeReadIsNotDescribed(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
	}{
		{struct {
			F float64 `yaml:"f"`
		}{}, "f: describe configuration: nothing is read into a Go float64"},
		{struct {
			M map[int]string `yaml:"m"`
		}{}, "m: "},
		{knot{}, "holds itself"},
	} {
		if _, err := config.Describe(c.v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v", c.v, err)
		}
	}
}
