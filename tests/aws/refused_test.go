package aws_test

import (
	"strings"
	"testing"
)

func TestCommandsThatCannotBeDoneSayWhy(t *testing.T) {
	s := onStack(t)
	t.Parallel()
	for name, c := range map[string]struct {
		code int
		args []string
		says string
	}{
		"no such job":                     {1, []string{"status", "nobody"}, "no such job: nobody"},
		"no such job to watch":            {1, []string{"watch", "nobody"}, "no such job: nobody"},
		"no such job to report on":        {1, []string{"report", "nobody"}, "no such job: nobody"},
		"no such job to redrive":          {1, []string{"redrive", "nobody"}, "no such job: nobody"},
		"no such job to resume":           {1, []string{"resume", "nobody"}, "no such job: nobody"},
		"no such job to cancel":           {1, []string{"cancel", "nobody"}, "no such job: nobody"},
		"no such flag":                    {2, []string{"status", "nobody", "--loud"}, "loud"},
		"no job is named":                 {2, []string{"cancel"}, "takes one argument"},
		"a name that is none":             {2, []string{"start", "a/b"}, "a name has"},
		"a directory as the source":       {2, []string{"start", "elsewhere", "--url", "file:///tmp/"}, "is not a bucket"},
		"a source that holds the output":  {1, []string{"start", "elsewhere", "--url", s.outputs["OutputUrl"]}, "would be read again"},
		"a source that holds the reports": {1, []string{"start", "elsewhere", "--url", s.outputs["ReportUrl"]}, "would be read again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r := s.want(t, c.code, c.args...); !strings.Contains(r.stderr, c.says) || r.stdout != "" {
				t.Errorf("says %q and %q", r.stderr, r.stdout)
			}
		})
	}
	t.Run("no such stack", func(t *testing.T) {
		other := *s
		other.name += "-other"
		if r := other.want(t, 1, "list"); !strings.Contains(r.stderr, "no such stack") {
			t.Errorf("says %q", r.stderr)
		}
	})
}
