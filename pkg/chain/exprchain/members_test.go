package exprchain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/chain/exprchain"
)

func TestMembersAreKnownAsLongAsTheStepsSay(t *testing.T) {
	selected := exprchain.Step{Select: []string{"a", "c: b.x"}}
	for _, c := range []struct {
		name  string
		steps []exprchain.Step
		want  string // "?": they are not known
	}{
		{"of none", nil, "?"},
		{"behind a filter", []exprchain.Step{{Filter: "a > 1"}}, "?"},
		{"behind a select", []exprchain.Step{selected}, "a c"},
		{"and a filter", []exprchain.Step{selected, {Filter: "a > 1"}}, "a c"},
		{"what is set comes to it", []exprchain.Step{selected, {Set: []exprchain.Pair{{Name: "d.e", Value: "1"}}}}, "a c d"},
		{"what is dropped or renamed goes", []exprchain.Step{selected, {Drop: []string{"a"}}, {Rename: []exprchain.Pair{{Name: "c", Value: "d"}}}}, "d"},
		{"a last select counts", []exprchain.Step{selected, {Set: []exprchain.Pair{{Name: "d", Value: "1"}}}, {Select: []string{"d"}}}, "d"},
		{"before a select nothing is", []exprchain.Step{{Drop: []string{"a"}}}, "?"},
		{"behind a flatten nothing is", []exprchain.Step{selected, {Flatten: &exprchain.Flatten{}}}, "?"},
		{"of steps that do not compile", []exprchain.Step{selected, {Filter: "b > 1"}}, "?"},
		{"behind a route", []exprchain.Step{selected, {Route: []exprchain.Route{{To: "default"}}}}, "a c"},
	} {
		names, known := exprchain.Members(c.steps, exprchain.Options{})
		got := strings.Join(names, " ")
		if !known {
			got = "?"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestPathsOfColumnsAreChecked(t *testing.T) {
	selected := []exprchain.Step{{Select: []string{"status", "http"}}}
	for _, c := range []struct {
		steps []exprchain.Step
		path  string
		want  string // "": it is one
	}{
		{nil, "anything.below", ""},
		{nil, `["odd key"]`, ""},
		{nil, "object.key", ""},
		{nil, "record.index", ""},
		{nil, "this.object", ""},
		{nil, "odd key", "want keys"},
		{nil, "object.kye", "did you mean object.key?"},
		{nil, "object", "object alone is not a value"},
		{selected, "status", ""},
		{selected, "http.method", ""},
		{selected, "this.http", ""},
		{selected, "statu", "the steps before leave no statu: did you mean status?"},
		{selected, "this.statu.x", "the steps before leave no statu: did you mean status?"},
		{[]exprchain.Step{{Filter: "("}}, "(", ""}, // said of the step
	} {
		err := exprchain.CheckPaths(c.steps, exprchain.Options{})(c.path)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.path, err, c.want)
		}
	}
	if names, _ := exprchain.Members(selected, exprchain.Options{}); !slices.Equal(names, []string{"status", "http"}) {
		t.Error(names)
	}
}
