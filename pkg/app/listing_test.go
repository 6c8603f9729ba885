package app_test

import (
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/object/memobject"
)

func TestAStackListsBucketsOnly(t *testing.T) {
	c, err := load(t, onStack("sink: {blackhole: {}}"))
	if err != nil {
		t.Fatal(err)
	}
	p := app.Pipeline{Source: new(memobject.Bucket)}
	if _, err := app.OpenListing(t.Context(), c, p, control.Selection{}); err != nil {
		t.Error(err)
	}
	_, err = app.OpenListing(t.Context(), c, p, control.Selection{URL: "file:///tmp/"})
	if err == nil || !strings.Contains(err.Error(), `source.s3.url: "file:///tmp/" is a directory`) {
		t.Errorf("error %v", err)
	}
}

func TestWhatAJobListsMayNotHoldItsReport(t *testing.T) {
	c, err := load(t, onStack("sink: {blackhole: {}}"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := app.OpenListing(t.Context(), c, app.Pipeline{Source: new(memobject.Bucket)}, control.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	for url, refused := range map[string]bool{
		"s3://bucket/in/reports/": true, "s3://bucket/in": true, "s3://bucket/reports/": false, "s3://other/in/": false, "in": true,
	} {
		if err := l.Outside(url); (err != nil) != refused {
			t.Errorf("%s: error %v", url, err)
		}
	}
}
