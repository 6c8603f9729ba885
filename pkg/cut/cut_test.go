package cut_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/spate-go/spate/pkg/cut"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/unit"
)

const mib = 1 << 20

var lf = &plan.Cut{Delimiter: '\n'}

func TestOnlyWhatCouldBeCutIsACandidate(t *testing.T) {
	o := unit.Object{Key: "k", Size: mib + 1, ETag: `"e"`}
	exact, tagless := o, o
	exact.Size, tagless.ETag = mib, ""
	for says, c := range map[string]struct {
		opts cut.Options
		o    unit.Object
		want bool
	}{
		"over the target":          {cut.Options{Target: mib, Cut: lf}, o, true},
		"of the target itself":     {cut.Options{Target: mib, Cut: lf}, exact, false},
		"under the usual target":   {cut.Options{Cut: lf}, o, false},
		"where nothing is cut":     {cut.Options{Target: mib}, o, false},
		"of no version to pin":     {cut.Options{Target: mib, Cut: lf}, tagless, false},
		"under the least target":   {cut.Options{Target: 1, Cut: lf}, exact, false},
		"over the least target":    {cut.Options{Target: 1, Cut: lf}, o, true},
		"over the usual target":    {cut.Options{Cut: lf}, unit.Object{Key: "k", Size: plan.DefaultTarget + 1, ETag: "e"}, true},
		"of a size nobody told of": {cut.Options{Cut: lf}, unit.Object{Key: "k", Size: -1, ETag: "e"}, false},
	} {
		if got := cut.New(&memobject.Bucket{}, c.opts).Candidate(c.o); got != c.want {
			t.Errorf("%s: %v", says, got)
		}
	}
}

func TestContentDecides(t *testing.T) {
	for says, c := range map[string]struct {
		content string
		opts    cut.Options
		reads   int64
		want    bool
	}{
		"text is cut":                   {strings.Repeat("line\n", 99), cut.Options{}, 16, true},
		"compressed it is not":          {strings.Repeat("\x1f\x8b\x08\x00", 99), cut.Options{}, 16, false},
		"unless somebody knows better":  {strings.Repeat("\x1f\x8b\x08\x00", 99), cut.Options{Cuttable: func([]byte) bool { return true }}, 16, true},
		"somebody sees what they asked": {strings.Repeat("x", 99), cut.Options{Head: 50, Cuttable: func(h []byte) bool { return len(h) == 50 }}, 50, true},
		"and of a short object all":     {strings.Repeat("x", 30), cut.Options{Head: 50, Cuttable: func(h []byte) bool { return len(h) == 30 }}, 30, true},
	} {
		t.Run(says, func(t *testing.T) {
			var b memobject.Bucket
			o := b.Put("k", []byte(c.content))
			c.opts.Cut = lf
			got, err := cut.New(&b, c.opts).Look(t.Context(), o)
			if err != nil || (got == lf) != c.want {
				t.Errorf("%v, %v", got, err)
			}
			if r := b.Requests(); len(r) != 1 || r[0].Off != 0 || r[0].N != c.reads || b.OpenBodies() != 0 {
				t.Errorf("requests %+v, %d bodies open", r, b.OpenBodies())
			}
		})
	}
}

func TestAFaultThatMayPassDecidesNothing(t *testing.T) {
	for says, c := range map[string]struct {
		err  error
		fail bool
		is   error
	}{
		"gone":            {failure.Errorf(failure.Member, failure.NotFound, "gone"), false, nil},
		"overwritten":     {failure.Errorf(failure.Member, failure.ETagDrift, "other"), false, nil},
		"odd":             {errors.New("odd"), false, nil},
		"denied":          {failure.Errorf(failure.Job, failure.Denied, "no"), true, nil},
		"no answer comes": {failure.Errorf(failure.Transient, failure.RetriesExhausted, "lost"), true, object.ErrNoAnswer},
	} {
		t.Run(says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := memobject.Bucket{Hook: func(memobject.Op, string, int64) error { return c.err }}
				o := b.Put("k", []byte("line\n"))
				got, err := cut.New(&b, cut.Options{Cut: lf}).Look(t.Context(), o)
				if got != nil || (err != nil) != c.fail || c.is != nil && !errors.Is(err, c.is) {
					t.Errorf("%v, %v", got, err)
				}
			})
		})
	}
}
