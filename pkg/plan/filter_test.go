package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/unit"
)

func TestAFilterChoosesByKeyAndTimeAndState(t *testing.T) {
	noon := time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)
	globs := plan.Filter{Prefix: "logs/", Include: []string{"**/*.json.gz", "top.json"}, Exclude: []string{"tmp/**", "**/_*"}}
	times := plan.Filter{After: noon, Before: noon.Add(time.Hour)}
	file := func(key string) unit.Object { return unit.Object{Key: key, Size: 1} }
	at := func(when time.Time) unit.Object { return unit.Object{Key: "k", Size: 1, LastModified: when} }
	for _, c := range []struct {
		says     string
		f        plan.Filter
		o        unit.Object
		archived bool
		want     plan.Verdict
	}{
		{"no filter takes an object", plan.Filter{}, file("a"), false, plan.Take},
		{"a folder is none", plan.Filter{}, unit.Object{Key: "a/"}, false, plan.Directory},
		{"a key that ends like one and has bytes is an object", plan.Filter{}, file("a/"), false, plan.Take},
		{"an object without bytes is empty", plan.Filter{}, unit.Object{Key: "a"}, false, plan.Empty},
		{"another system's folder marker is but an empty object", plan.Filter{}, unit.Object{Key: "a_$folder$"}, false, plan.Empty},
		{"what is archived is taken where the job may fail", plan.Filter{}, file("a"), true, plan.Take},
		{"and left where it is skipped", plan.Filter{SkipArchived: true}, file("a"), true, plan.Archived},
		{"what is restored is taken", plan.Filter{SkipArchived: true}, file("a"), false, plan.Take},

		{"** stands for no folder too", globs, file("logs/a.json.gz"), false, plan.Take},
		{"and for several", globs, file("logs/x/y/a.json.gz"), false, plan.Take},
		{"a glob is matched below the prefix", globs, file("logs/top.json"), false, plan.Take},
		{"and as a whole", globs, file("logs/x/top.json"), false, plan.Excluded},
		{"what no include matches is excluded", globs, file("logs/a.csv"), false, plan.Excluded},
		{"exclude wins", globs, file("logs/tmp/a.json.gz"), false, plan.Excluded},
		{"at any depth", globs, file("logs/x/_a.json.gz"), false, plan.Excluded},
		{"a folder is one whatever the globs say", globs, unit.Object{Key: "logs/x/"}, false, plan.Directory},
		{"an empty object that was not asked for is excluded", globs, unit.Object{Key: "logs/a.csv"}, false, plan.Excluded},
		{"an archived one as well", plan.Filter{SkipArchived: true, Include: []string{"x"}}, file("a"), true, plan.Excluded},
		{"an empty archived one is empty", plan.Filter{SkipArchived: true}, unit.Object{Key: "a"}, true, plan.Empty},
		{"a prefix may end within a folder's name", plan.Filter{Prefix: "logs/2026", Include: []string{"-01/*"}}, file("logs/2026-01/a"), false, plan.Take},
		{"or before its slash", plan.Filter{Prefix: "logs", Include: []string{"*"}}, file("logs/a"), false, plan.Take},
		{"exclude needs no include", plan.Filter{Exclude: []string{"a"}}, file("b"), false, plan.Take},
		{"a key that is not UTF-8 has a name too", plan.Filter{Include: []string{"*.x"}}, file("\xff\xfe.x"), false, plan.Take},

		{"the first moment is within", times, at(noon), false, plan.Take},
		{"the moment before is not", times, at(noon.Add(-1)), false, plan.Excluded},
		{"the last moment is within", times, at(noon.Add(time.Hour - 1)), false, plan.Take},
		{"the bound itself is not", times, at(noon.Add(time.Hour)), false, plan.Excluded},
		{"an unknown time is within", times, at(time.Time{}), false, plan.Take},
		{"before alone", plan.Filter{Before: noon}, at(noon), false, plan.Excluded},
		{"after alone", plan.Filter{After: noon}, at(noon.Add(9e9)), false, plan.Take},
	} {
		t.Run(c.says, func(t *testing.T) {
			if got := c.f.Select(c.o, c.archived); got != c.want {
				t.Errorf("%q: %q, want %q", c.o.Key, got, c.want)
			}
		})
	}
}

func TestAFilterThatCannotWorkIsRefusedByName(t *testing.T) {
	noon := time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)
	for want, f := range map[string]plan.Filter{
		"include[1]": {Include: []string{"ok", "[a"}},
		"exclude[0]": {Exclude: []string{"{a,"}},
		"modified":   {After: noon, Before: noon},
	} {
		if err := f.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error that names %s", err, want)
		}
	}
	ok := plan.Filter{Include: []string{"**/*.{json,csv}"}, Exclude: []string{"[!a]*"}, After: noon, Before: noon.Add(1)}
	if err := ok.Validate(); err != nil {
		t.Error(err)
	}
}
